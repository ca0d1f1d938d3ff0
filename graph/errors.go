package graph

import (
	"errors"
	"fmt"
	"strings"
)

// Conditions that a run's error wraps. Use [errors.Is].
var (
	// ErrNoInput says that a thread was to go on that never began.
	ErrNoInput = errors.New("there is nothing to go on with: the thread has no checkpoint and the run no input")
	// ErrMaxSteps says that more supersteps are due than a run may take. The
	// state is kept; the next run goes on.
	ErrMaxSteps = errors.New("the run reached its limit of supersteps")
	// ErrDrained says that a run stopped at the end of a superstep because it
	// was asked to. It is the cause to cancel a run's context with for that:
	// see [context.WithCancelCause]. The next run goes on.
	ErrDrained = errors.New("the run was drained")
	// ErrNoStore says that something needs a thread that is kept: a graph
	// compiled with a store, and a run on a [Thread].
	ErrNoStore = errors.New("this needs a thread and a checkpoint store")
	// ErrNoQuestion says that an answer is for a question that is not open.
	ErrNoQuestion = errors.New("no open question has this id")
	// ErrDuplicateKey says that a node used one key twice: for two questions of
	// one interrupt, which [Interrupt.Key] tells apart. Or one question was given
	// two answers.
	ErrDuplicateKey = errors.New("the key was used before in this task")
	// ErrAmbiguous says that an update must name the node it stands for.
	ErrAmbiguous = errors.New("more than one node could be meant; name one")
	// ErrUnknownNode says that the graph has no node of this name.
	ErrUnknownNode = errors.New("the graph has no such node")
	// ErrRoute says that a node went where its routes do not allow.
	ErrRoute = errors.New("not among the targets that were declared")
	// ErrTimeout says that a node took longer than [Timeout] allows.
	ErrTimeout = errors.New("timed out")
	// ErrNotInNode says that a function was called with a context that is not
	// that of a running node.
	ErrNotInNode = errors.New("the context is not that of a running node")
	// ErrSignal says that a write which steers the engine stands where it has
	// no meaning, such as an answer returned by a node.
	ErrSignal = errors.New("this write has no meaning here")
	// ErrBusyMemory says that two tasks of one superstep ran the same
	// persistent subgraph.
	ErrBusyMemory = errors.New("the persistent subgraph is in use by another task of the superstep")
)

// A NodeError is the failure of one task.
type NodeError struct {
	// Path is the tasks of the subgraphs around the node, outermost first,
	// joined by "/"; empty in the graph that was started.
	Path string
	// Node is the name of the node, Task the id of its task in the superstep.
	Node, Task string
	// Attempt counts the runs of the task under [Retry], from 1.
	Attempt int
	// Err is the cause; a [PanicError] if the node panicked.
	Err error
}

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

// A PanicError is a panic of a node or branch, as an error.
type PanicError struct {
	// Value is what was passed to panic.
	Value any
	// Stack is that of the goroutine which panicked.
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A BuildError is one mistake in a graph, found by [Builder.Compile].
type BuildError struct {
	// Graph and Node name the place; Node is empty when it is the whole graph.
	Graph, Node string
	// Err is the mistake.
	Err error
}

func (e *BuildError) Error() string {
	if e.Node == "" {
		return fmt.Sprintf("graph %q: %v", e.Graph, e.Err)
	}
	return fmt.Sprintf("graph %q: node %q: %v", e.Graph, e.Node, e.Err)
}

// Unwrap returns the mistake.
func (e *BuildError) Unwrap() error { return e.Err }

// A RunError says what went wrong with a run, or with another use of a thread.
// It wraps a [NodeError] for each task that failed.
type RunError struct {
	// Graph is the name of the graph, Thread the id of the thread; it is empty
	// for a run without one.
	Graph, Thread string
	// Err is the cause. Several failures are joined.
	Err error
}

func (e *RunError) Error() string {
	if e.Thread == "" {
		return fmt.Sprintf("graph %q: %v", e.Graph, e.Err)
	}
	return fmt.Sprintf("graph %q: thread %q: %v", e.Graph, e.Thread, e.Err)
}

// Unwrap returns the cause.
func (e *RunError) Unwrap() error { return e.Err }

// pauseError is what [Interrupt.Wait] returns while there is no answer. It
// ends the node; the engine has noted the question already.
type pauseError struct{ question string }

func (e *pauseError) Error() string {
	return fmt.Sprintf("graph: waiting for an answer to %s; return this error from the node", e.question)
}

// Pause marks the error for packages that must let it through.
func (e *pauseError) Pause() bool { return true }

// IsPause reports whether err is that of a node which waits for an answer.
// Code that handles a node's errors must pass such an error on.
func IsPause(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Pause() bool
	}](err)
	return ok && p.Pause()
}
