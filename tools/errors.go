package tools

import (
	"errors"
	"fmt"
)

// Conditions that errors wrap. [ErrUnbound] is one as well.
var (
	// ErrTimeout says that a tool failed after its time was up.
	ErrTimeout = errors.New("timed out")
	// ErrWrites says that a tool returned writes where they have nowhere to go,
	// or could not be remembered.
	ErrWrites = errors.New("the tool returned writes, which have no place here")
	// ErrNoApprover says that a call needs approval and there is nobody to ask.
	ErrNoApprover = errors.New("the call needs approval, and there is nobody to ask")
	// ErrCallID says that a call has no id, or that of another call beside it.
	ErrCallID = errors.New("a call needs an id of its own")
)

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

// errNotInvoked is what invoke_tool fails with when it is run as itself.
var errNotInvoked = errors.New("the tool to invoke is not known")

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
