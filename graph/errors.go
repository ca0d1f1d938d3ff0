package graph

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/weft-go/weft/internal/engine"
)

// The sentinel errors that runs and Compile return. Test for them with [errors.Is].
var (
	// ErrNoInput is returned when a run has no input and the thread has no checkpoint
	// to resume.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrnoinput.
	ErrNoInput = engine.ErrNoInput
	// ErrMaxSteps is returned when a run needs more supersteps than MaxSteps allows.
	// The state is stored, and the next run resumes.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrmaxsteps.
	ErrMaxSteps = engine.ErrMaxSteps
	// ErrDrained is returned by a run that the caller stopped at the end of a
	// superstep. To stop a run in this way, cancel its context with ErrDrained as the
	// cause; see [context.WithCancelCause]. The next run resumes. Nodes are not interrupted, even if a
	// parent of the context is cancelled later.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrdrained.
	ErrDrained = engine.ErrDrained
	// ErrRolledBack is returned by a run that the caller undid. To undo a run, cancel its
	// context with ErrRolledBack as the cause: the thread returns to its state before the
	// run, even if the run reached its end meanwhile. The store must be a [checkpoint.RunDeleter].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrrolledback.
	ErrRolledBack = engine.ErrRolledBack
	// ErrSuperseded is returned by a run that another run cancelled: see
	// [ConflictPolicy].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrsuperseded.
	ErrSuperseded = engine.ErrSuperseded
	// ErrNoStore is returned when a call needs a stored thread and there is none.
	// Compile the graph with [Options.Checkpoints], and run it on a [Thread].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrnostore.
	ErrNoStore = engine.ErrNoStore
	// ErrNoQuestion is returned when an answer is for a question that is not open.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrnoquestion.
	ErrNoQuestion = engine.ErrNoQuestion
	// ErrDuplicateKey is returned when a node uses one key for two questions of an
	// interrupt, when a question gets two answers, or when a call of [Once] is nested
	// in a call with the same key.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrduplicatekey.
	ErrDuplicateKey = engine.ErrDuplicateKey
	// ErrAmbiguous is returned by [Thread.Update] without a node when several nodes ran
	// or were updated last. Name the node.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrambiguous.
	ErrAmbiguous = engine.ErrAmbiguous
	// ErrUnknownNode is returned when the graph has no node with the given name.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrunknownnode.
	ErrUnknownNode = engine.ErrUnknownNode
	// ErrRoute is returned when a node or branch chooses a target that is not declared.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrroute.
	ErrRoute = engine.ErrRoute
	// ErrTimeout is the error of a node that exceeded its timeout.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrtimeout.
	ErrTimeout = engine.ErrTimeout
	// ErrMissed is returned to a reader of a broadcast.Broadcast whose next event is no longer
	// kept, or that asks for a number which the run has not reached.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrmissed.
	ErrMissed = errors.New("events were missed")
	// ErrNotInNode is returned by a function that needs the context of a running node.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrnotinnode.
	ErrNotInNode = errors.New("the context does not belong to a running node")
	// ErrSignal is returned for a write that is not allowed where it is used, such as
	// an answer that a node returns.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrsignal.
	ErrSignal = engine.ErrSignal
	// ErrPersistentBusy is returned when two tasks of one superstep run the same
	// persistent subgraph.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#grapherrpersistentbusy.
	ErrPersistentBusy = engine.ErrPersistentBusy
)

// A NodeError is the failure of one task.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#graphnodeerror.
type NodeError struct {
	// Path has the ids of the tasks that run the subgraphs around the node, outermost
	// first, joined by "/". It is empty in the root graph.
	Path string
	// Node is the name of the node. Task is the id of its task in the superstep.
	Node, Task string
	// Attempt counts the runs of the task under node.Retry, from 1.
	Attempt int
	// Err is the cause; a [PanicError] if the node panicked.
	Err error
}

// Error returns the node and the cause. It adds the task if its id differs from the
// node's name, and the attempt after the first.
func (e *NodeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "node %q", e.Node)
	if e.Task != e.Node {
		fmt.Fprintf(&b, " (task %s)", e.Task)
	}
	if e.Attempt > 1 {
		fmt.Fprintf(&b, ", attempt %d", e.Attempt)
	}
	return fmt.Sprintf("%s: %v", b.String(), e.Err)
}

// Unwrap returns the cause.
func (e *NodeError) Unwrap() error { return e.Err }

// newNodeError returns the error of a task. An error that already names the same
// node is returned unchanged.
func newNodeError(f engine.TaskFailure) error {
	err, attempt := f.Err, 1
	if ne, ok := err.(*NodeError); ok && ne.Node == f.Node && ne.Path == f.Path { //nolint:errorlint // only the outermost error counts
		return err
	}
	if ae, ok := err.(*engine.AttemptError); ok { //nolint:errorlint // only the outermost error counts
		attempt, err = ae.Attempt, ae.Err
	}
	return &NodeError{Path: f.Path, Node: f.Node, Task: f.Task, Attempt: attempt, Err: err}
}

// A PanicError is a panic of a node, a branch or an executor.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#graphpanicerror.
type PanicError struct {
	// Value is the argument of panic.
	Value any
	// Location is the file and line of the code outside Weft that panicked, or that called the
	// function of Weft that panicked. If only Weft's code runs, it is Weft's own line.
	Location string
	// Stack is the stack of the goroutine that panicked.
	Stack []byte
}

// Error returns the value and the location of the panic.
func (e *PanicError) Error() string {
	if e.Location == "" {
		return fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("panic: %v (%s)", e.Value, e.Location)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// recoverPanic stores a panic in *err. Call it with defer.
func recoverPanic(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Location: panicLocation(), Stack: debug.Stack()}
	}
}

// panicLocation returns the file and line of the panic that a deferred call of
// recoverPanic handles. It searches the frames between the panic and the engine, innermost
// first, and returns the first frame that is not in Weft's code. If all are in Weft's code, it
// returns the innermost.
func panicLocation() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	panicking, first := false, ""
	for {
		frame, more := frames.Next()
		switch {
		case strings.HasPrefix(frame.Function, "runtime."):
			panicking = true
		case panicking:
			at := fmt.Sprintf("%s:%d", frame.File, frame.Line)
			if !ownFrame(frame) {
				return at
			}
			if first == "" {
				first = at
			}
			more = more && !strings.HasPrefix(frame.Function, module+"internal/engine.") // above are the callers of the run
		}
		if !more {
			return first
		}
	}
}

// module begins the names of the functions of Weft.
const module = "github.com/weft-go/weft/"

// ownFrame reports whether a frame is one of Weft's packages, and not of its tests or examples.
func ownFrame(f runtime.Frame) bool {
	rest, own := strings.CutPrefix(f.Function, module)
	return own && !strings.HasPrefix(rest, "examples/") && !strings.HasSuffix(f.File, "_test.go")
}

// A BuildError is one mistake in a graph, found by [Builder.Compile].
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#graphbuilderror.
type BuildError struct {
	// Graph and Node name the place of the mistake. Node is empty if the mistake
	// concerns the whole graph.
	Graph, Node string
	// Err is the mistake.
	Err error
}

// Error returns the place and the mistake.
func (e *BuildError) Error() string {
	if e.Node == "" {
		return fmt.Sprintf("graph %q: %v", e.Graph, e.Err)
	}
	return fmt.Sprintf("graph %q: node %q: %v", e.Graph, e.Node, e.Err)
}

// Unwrap returns the mistake.
func (e *BuildError) Unwrap() error { return e.Err }

// A RunError is the error of a run or of another call on a thread. It wraps a
// [NodeError] for each failed task.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#graphrunerror.
type RunError struct {
	// Graph is the name of the graph. Thread is the id of the thread, or "" for a run
	// without a thread.
	Graph, Thread string
	// Err is the cause. Several failures are joined.
	Err error
}

// Error returns the graph, the thread and the cause.
func (e *RunError) Error() string {
	if e.Thread == "" {
		return fmt.Sprintf("graph %q: %v", e.Graph, e.Err)
	}
	return fmt.Sprintf("graph %q: thread %q: %v", e.Graph, e.Thread, e.Err)
}

// Unwrap returns the cause.
func (e *RunError) Unwrap() error { return e.Err }

// A pauseError is returned by [Interrupt.Wait] while there is no answer that the node can read.
// The engine has already recorded that the question is open; the error only ends the node.
type pauseError struct{ error }

// Unwrap returns the cause.
func (e *pauseError) Unwrap() error { return e.error }

// Pause marks the error for packages that do not import package graph.
func (e *pauseError) Pause() bool { return true }

// IsPause reports whether err comes from a node that waits for an answer. Code that
// handles the errors of a node must return such an error unchanged.
func IsPause(err error) bool { return engine.IsPause(err) }
