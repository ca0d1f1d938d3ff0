package tools

import (
	"errors"
	"fmt"
)

// Errors that a call can wrap; see also [ErrUnbound], [ErrBoundText] and [ErrPattern].
var (
	// ErrTimeout is wrapped when a tool fails after its time limit.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#toolserrtimeout.
	ErrTimeout = errors.New("timed out")
	// ErrWrites is returned when a tool returns writes outside of a graph, or with
	// [Options].Once, which cannot store them. Use a [CallNode] for such a tool.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#toolserrwrites.
	ErrWrites = errors.New("the tool returned writes, which this call cannot apply or store; use a CallNode")
	// ErrNoApprover is returned when a call needs approval and there is no function to ask.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#toolserrnoapprover.
	ErrNoApprover = errors.New("the call needs approval, and there is no Ask function")
	// ErrCallID is returned when a call has no id, or when two calls that run together
	// have the same id.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#toolserrcallid.
	ErrCallID = errors.New("the call id is empty or used twice")
)

// A PanicError is the error of a tool that panicked.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#toolspanicerror.
type PanicError struct {
	// Value is the value of the panic as text.
	Value string
	// Stack is the stack trace of the panic.
	Stack []byte

	cause error // the value of the panic if it was an error
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %s", e.Value) }

// Unwrap returns the value of the panic if it was an error, or nil.
func (e *PanicError) Unwrap() error { return e.cause }

// errNotInvoked is returned by invoke_tool if it runs without a tool to invoke.
var errNotInvoked = errors.New("invoke_tool ran without a tool to invoke")

// errExit is the error of a call whose function ended its goroutine.
var errExit = errors.New("the tool ended its goroutine")

// pauses reports whether a tool waits for a person. Code that handles errors of tools must
// return such an error unchanged.
func pauses(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Pause() bool
	}](err)
	return ok && p.Pause()
}
