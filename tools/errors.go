package tools

import (
	"errors"
	"fmt"
)

// ErrTimeout says that a tool failed after its time was up.
var ErrTimeout = errors.New("timed out")

// A PanicError is the panic of a tool.
type PanicError struct {
	// Value is what the tool panicked with, as text.
	Value string
	// Stack is where it did.
	Stack []byte

	cause error // the value, if it was an error
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %s", e.Value) }

// Unwrap returns the value of the panic if it was an error, or nil.
func (e *PanicError) Unwrap() error { return e.cause }

// errExit is the failure of a function that ended its goroutine.
var errExit = errors.New("the tool ended its goroutine")

// pauses reports whether an error is that of a tool which waits for a person.
// Whatever handles a tool's errors has to pass it on.
func pauses(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Pause() bool
	}](err)
	return ok && p.Pause()
}
