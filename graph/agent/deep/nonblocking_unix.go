//go:build unix

package deep

import "syscall"

// nonBlocking is the flag with which the opening of a named pipe does not wait for a writer.
const nonBlocking = syscall.O_NONBLOCK
