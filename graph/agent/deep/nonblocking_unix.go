//go:build unix

package deep

import "syscall"

// nonBlocking makes opening a named pipe return at once.
const nonBlocking = syscall.O_NONBLOCK
