package graph

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/engine"
)

// An Executor passes the tasks of a superstep to other processes, through a queue. There,
// [Graph.RunTasks] runs them. The results travel through the checkpoint store, which all
// processes share. Set it in [Options]. Package executortest has a suite for implementations.
//
// The functions may be called concurrently. An Executor must not change after it was given to a graph.
type Executor struct {
	// Takes reports whether the executor runs the tasks of a node, in a superstep with this
	// number of due tasks. The run itself executes the tasks of the other nodes, at the same
	// time. Takes is called once a superstep for each node, and must not panic. Nil means that it takes every node.
	Takes func(node string, due int) bool
	// Execute passes the tasks to workers, and returns when RunTasks has returned nil for each of
	// them. The argument has one set for each node. Execute may split a set, and may pass a task on
	// more than once. If Execute is nil, Compile returns an error.
	//
	// The context ends when the run is cancelled. Execute then cancels the contexts of the calls of
	// RunTasks, waits for them, and returns an error. If Execute returns an error, the run fails
	// with it; the next run does not repeat tasks that have a result. If Execute returns nil, a
	// task without an outcome in the store fails. A panic of Execute becomes a [PanicError].
	Execute func(ctx context.Context, sets []TaskSet) error
}

// engineExecutor converts an executor for the engine.
func (e *Executor) engineExecutor() engine.Executor {
	takes := e.Takes
	if takes == nil {
		takes = func(string, int) bool { return true }
	}
	return engine.NewExecutor(takes, func(ctx context.Context, sets []engine.TaskSet) (err error) {
		defer recoverPanic(&err)
		out := make([]TaskSet, len(sets))
		for i, s := range sets {
			out[i] = TaskSet(s)
		}
		return e.Execute(ctx, out)
	})
}

// A TaskSet names tasks of one node, which are due after a stored checkpoint. It is small, and can
// be stored as JSON: the states of the tasks stay in the checkpoint store.
type TaskSet struct {
	// Graph is the name of the graph. Version is its [Options.Version] in the process of the run.
	Graph   string `json:"graph"`
	Version string `json:"version,omitempty"`
	// Thread and Checkpoint are the ids of the thread and of its newest checkpoint.
	Thread     string `json:"thread"`
	Checkpoint string `json:"checkpoint"`
	// Run is the id of the run that passes the tasks on.
	Run string `json:"run"`
	// Node is the name of the node. Tasks are the ids of the tasks, in order.
	Node  string   `json:"node"`
	Tasks []string `json:"tasks"`
	// RemainingSteps is what [RemainingSteps] returns in the tasks.
	RemainingSteps int `json:"remaining_steps"`
	// Metadata is the [RunOptions.Metadata] of the run. The checkpoints of subgraphs have the same
	// metadata.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// RunTasks runs tasks that the run of another process passed to its [Executor]. It stores the
// outcome of each task as pending writes of the checkpoint: a result, a question or a failure.
// The run reads them when its executor returns. RunTasks does not take the thread, which the
// run holds.
//
// The graph needs the same store as the graph of the run. It may be another build of the graph:
// nodes are found by their names, also by names of [Migrations]. [Options.MaxParallel],
// Middleware, and the task hooks of this graph apply. Values that a node gives to [Emit] are dropped.
//
// RunTasks skips a task that has a result or a failure, so a task may be passed on twice. If two
// processes run a task at the same time, both call its node, and one result counts. A side
// effect in [Once] may then happen twice: the receiver recognises it by its [IdempotencyKey].
//
// The error of a node is an outcome, and not an error of RunTasks. RunTasks returns an error
// when a task has no outcome:
//
//   - [checkpoint.ErrConflict]: the thread has another newest checkpoint. The tasks are no longer
//     due, and were not run. Do not repeat the call.
//   - [checkpoint.ErrConflict] in a [NodeError]: another process runs the same task, and stored a
//     checkpoint of the task's subgraph first. Repeat the call.
//   - [ErrUnknownNode]: this build of the graph does not have the node. No task was run. Repeat
//     the call in a process with another build.
//   - The error of the context, or of the store. Repeat the call.
//
// The error is a [RunError].
func (g *Graph) RunTasks(ctx context.Context, s TaskSet) error {
	if g == nil {
		return &RunError{Thread: s.Thread, Err: errNilGraph}
	}
	o, err := g.Thread(s.Thread).options()
	switch {
	case err != nil:
	case s.Graph != g.Name():
		err = fmt.Errorf("%w: the tasks belong to graph %q", checkpoint.ErrInvalid, s.Graph)
	case s.Checkpoint == "" || len(s.Tasks) == 0:
		err = fmt.Errorf("%w: the set names checkpoint %q and %d tasks; it needs both", checkpoint.ErrInvalid, s.Checkpoint, len(s.Tasks))
	default:
		o.Metadata, o.MaxSteps = s.Metadata, s.RemainingSteps+1
		set := engine.TaskSet(s)
		err = g.plan.RunTasks(ctx, o, &set)
	}
	return g.fail(s.Thread, err)
}
