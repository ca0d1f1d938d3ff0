package engine

import "context"

// Hooks are functions that a run calls when a part of it begins.
type Hooks struct {
	// Enter returns the context for the inside of the part, and a function for its end.
	Enter func(context.Context, Part, *Running) (context.Context, func(*Outcome))
	// Held is called when a run has taken its thread, before it reads or stores anything. Its error ends the run.
	Held func(context.Context, *Running) error
	// Retry is called when an attempt of a node has failed, before the wait for the next attempt.
	Retry func(ctx context.Context, attempt int, err error)
	// Stop is called at a static pause. The pause is stored with the text that it returns.
	Stop func(context.Context) string
}

// A Part is a part of a run that calls hooks.
type Part uint8

// The parts: a run or a call of a subgraph, a superstep, and a task with its middleware.
const (
	RunPart Part = iota
	StepPart
	TaskPart
)

// Running identifies a run, a superstep or a task. Node and Task are set for a task only.
type Running struct {
	Thread, Run, Graph, Node, Task, Path, Checkpoint string
	Step                                             int
	// Resumed is true if an earlier run has begun the task.
	Resumed bool
}

// An Outcome is the end of a part.
type Outcome struct {
	Err    error
	Paused bool    // a superstep or a task has paused
	Tasks  int     // the number of tasks of a superstep
	Steps  int     // the number of supersteps that a run has committed
	Pauses []Pause // of a run
	// Resumed is true if a run resumed a turn, or the call of a subgraph.
	Resumed bool
	// Previous is the id of the run that stored the checkpoint at which this run began.
	Previous string
	// Stopped is the text of [Hooks.Stop] of the static pause that the run resumed.
	Stopped string
}
