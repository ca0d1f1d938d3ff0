package graph

import (
	"context"

	"github.com/weft-go/weft/internal/engine"
)

// Running identifies a running task: its thread, run, graph and node.
type Running struct {
	// Thread is the id of the thread, or "" for a run without a thread.
	Thread string
	// Run is the id of the run.
	Run string
	// Graph and Node are the names of the graph and of the node. Task is the id of the
	// task in its superstep. Path has the ids of the tasks that run the subgraphs around
	// the node: see [Place].
	Graph, Node, Task, Path string
	// Checkpoint is the id of the checkpoint that the superstep builds on.
	Checkpoint string
	// Step counts the supersteps, inputs and updates of the thread.
	Step int
	// Attempt counts the runs of the node under node.Retry, from 1. If one Retry is inside
	// another, Attempt is the number of the inner one.
	Attempt int
	// Resumed says that an earlier run stored a question, a failure or a result of Once of the
	// task.
	Resumed bool
}

// FromContext describes the running task that ctx belongs to. It reports false if
// ctx does not belong to a running node.
func FromContext(ctx context.Context) (Running, bool) {
	t := engine.TaskOf(ctx)
	if t == nil {
		return Running{}, false
	}
	running := t.Running()
	r := newRunning(&running)
	r.Attempt = engine.AttemptOf(ctx)
	return r, true
}

// newRunning converts an identity of the engine.
func newRunning(r *engine.Running) Running {
	return Running{
		Thread: r.Thread, Run: r.Run, Graph: r.Graph, Node: r.Node, Task: r.Task, Path: r.Path,
		Checkpoint: r.Checkpoint, Step: r.Step, Resumed: r.Resumed,
	}
}

// RemainingSteps returns the number of supersteps that the run may begin after the
// current one. In a subgraph it counts supersteps of the subgraph. Outside a node it
// returns 0.
func RemainingSteps(ctx context.Context) int {
	t := engine.TaskOf(ctx)
	if t == nil {
		return 0
	}
	return t.RemainingSteps()
}

// IdempotencyKey returns a key for the side effects of the node. It is the same
// whenever this task runs again, after a failure, a pause or a crash, in every
// durability mode. Every other task of the thread has a different key. Without a thread,
// the key is only stable within the run. Outside a node, IdempotencyKey returns "".
//
// The key begins with the id of the thread, and does not name the graph or the store. If
// two services share the system that gets the keys, put the name of the service before the
// key. A thread that is deleted and begun again has the keys of the deleted one, so give a
// new thread a new id.
//
// Under [Exit] and [Async] a crash may lose the input of a run, and [ConflictRollback]
// removes the input of the other run. The next run from the same checkpoint then has
// the keys of the lost run. This is intended if both have the same input. If the input
// may differ, add the id of your request to the key.
func IdempotencyKey(ctx context.Context) string {
	t := engine.TaskOf(ctx)
	if t == nil {
		return ""
	}
	return t.IdempotencyKey()
}

// Emit delivers a value to the reader of the run's events, as an [Emitted]. It
// returns when the reader has received the value, or when the value is the next event
// that the reader receives. So a slow reader slows the node. If ctx ends first, Emit
// returns at once and the value may be lost. Any goroutine that the node waits for may
// call Emit. Without a reader, or outside a node, Emit does nothing.
func Emit(ctx context.Context, value any) {
	if t := engine.TaskOf(ctx); t != nil {
		t.Emit(ctx, value, newEmitted)
	}
}
