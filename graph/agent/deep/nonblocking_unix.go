//go:build unix

package deep

import "syscall"

// nonBlocking makes the open of a named pipe return at once.
const nonBlocking = syscall.O_NONBLOCK
