package graph

import (
	"context"
	"iter"

	"github.com/weft-go/weft/internal/engine"
)

// Running says where a node is running.
type Running struct {
	// Thread is the id of the thread; empty for a run without one.
	Thread string
	// Run is the id of the run.
	Run string
	// Graph and Node are names. Task is the id of the task in its superstep, and Path
	// the tasks of the subgraphs around it, as in [Place].
	Graph, Node, Task, Path string
	// Checkpoint is the id of the checkpoint that the superstep builds on.
	Checkpoint string
	// Step counts the thread's supersteps, inputs and updates.
	Step int
	// Attempt counts the runs of the node under node.Retry, from 1.
	Attempt int
}

// FromContext returns where the node of ctx is running. It reports false if ctx
// does not belong to a running node.
func FromContext(ctx context.Context) (Running, bool) {
	t := engine.TaskOf(ctx)
	if t == nil {
		return Running{}, false
	}
	r := t.Running()
	return Running{
		Thread: r.Thread, Run: r.Run, Graph: r.Graph, Node: r.Node, Task: r.Task, Path: r.Path,
		Checkpoint: r.Checkpoint, Step: r.Step, Attempt: engine.AttemptOf(ctx),
	}, true
}

// RemainingSteps returns how many supersteps the run may begin after the current
// one. In a subgraph it counts the subgraph's own. Outside a node it returns 0.
func RemainingSteps(ctx context.Context) int {
	t := engine.TaskOf(ctx)
	if t == nil {
		return 0
	}
	return t.RemainingSteps()
}

// IdempotencyKey returns a key for the side effects of the node. It is the same
// whenever this task runs again, after a failure, a pause or a crash, in every
// durability mode, and different for every other task. Without a thread it is the
// same within the run only. It returns "" outside a node.
//
// Under [Exit] and [Async] a crash may lose the input of a run. If the caller then
// begins another run from the same checkpoint, its tasks have the keys of the lost
// run, which is intended if the input is the same. [ConflictRollback] removes a run
// in the same way. Add the id of your own request to the key where the input may not
// be the same.
func IdempotencyKey(ctx context.Context) string {
	t := engine.TaskOf(ctx)
	if t == nil {
		return ""
	}
	return t.IdempotencyKey()
}

// Emit delivers a value to the reader of the run's events, as an [Emitted]. It
// returns when the reader has taken the value or takes it next, or when ctx has
// ended. So a slow reader slows the node. Any goroutine that the node waits for may
// call it. Without a reader, or outside a node, it does nothing.
func Emit(ctx context.Context, value any) {
	if t := engine.TaskOf(ctx); t != nil {
		t.Emit(ctx, value)
	}
}

// Tee emits each value of a stream as it passes, with [Emit], so that the reader of
// the run's events sees what the node sees, at the same time. An error passes
// without being emitted. Outside a node, Tee returns the values unchanged.
//
//	var reply llm.Message
//	for chunk, err := range graph.Tee(ctx, llm.Stream(ctx, model, request, &reply)) {
func Tee[T any](ctx context.Context, values iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for value, err := range values {
			if err == nil {
				Emit(ctx, value)
			}
			if !yield(value, err) {
				return
			}
		}
	}
}
