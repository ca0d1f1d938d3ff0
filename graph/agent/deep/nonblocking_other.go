//go:build !unix

package deep

const nonBlocking = 0
