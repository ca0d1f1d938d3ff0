package graph

import (
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/state"
)

// An Event is something that happened in a run. It is one of [RunStarted],
// [StepStarted], [TaskStarted], [Emitted], [TaskFinished], [StateChanged],
// [Checkpointed], [Paused] and [RunEnded]:
//
//	for ev, err := range thread.Stream(ctx, input) {
//		if err != nil {
//			return err
//		}
//		switch ev := ev.(type) {
//		case graph.Emitted:
//			fmt.Print(ev.Value)
//		case graph.Paused:
//			fmt.Println(ev.Pauses)
//		}
//	}
type Event interface {
	// At says where and when it happened.
	At() Place
}

// A Place is where and when an event happened.
type Place struct {
	// Time is the engine's clock.
	Time time.Time
	// Step counts the thread's supersteps, inputs and updates.
	Step int
	// Origin is never nil in an event of the engine.
	*Origin
}

// An Origin is what an event is of. Events share one: it is not to be changed.
type Origin struct {
	// Run is the id of the run.
	Run string
	// Path is the tasks of the subgraphs around it, outermost first, joined by
	// "/"; empty in the graph that was started.
	Path string
	// Node and Task are empty for what is not of one task.
	Node, Task string
}

// At returns p, so that a type which embeds it is an [Event].
func (p Place) At() Place { return p }

// line describes an event of the place.
func (p Place) line(what string, args ...any) string {
	where := ""
	if p.Origin != nil {
		where = join2(p.Path, p.Task)
	}
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("step %d: %s%s", p.Step, where, fmt.Sprintf(what, args...))
}

// RunStarted opens the events of a run, and of each call of a subgraph.
type RunStarted struct {
	Place
	// State is what the run starts with, its input included.
	State state.View
	// Resumed says that the run goes on and did not begin a turn.
	Resumed bool
}

// String describes the event in one line, for logs and examples.
func (e RunStarted) String() string {
	if e.Resumed {
		return e.line("the run goes on")
	}
	return e.line("the run starts")
}

// StepStarted opens a superstep.
type StepStarted struct {
	Place
	// Tasks are the ids of its tasks in order, with those whose result is kept
	// from an earlier run.
	Tasks []string
}

// String describes the event in one line, for logs and examples.
func (e StepStarted) String() string { return e.line("runs %s", strings.Join(e.Tasks, ", ")) }

// TaskStarted says that a node begins.
type TaskStarted struct{ Place }

// String describes the event in one line, for logs and examples.
func (e TaskStarted) String() string { return e.line("starts") }

// Emitted is a value that a node gave to [Emit]: a token, a progress report.
type Emitted struct {
	Place
	Value any
}

// String describes the event in one line, for logs and examples.
func (e Emitted) String() string { return e.line("emits %v", e.Value) }

// TaskFinished says that a task ended: with an update, an error or a question.
type TaskFinished struct {
	Place
	// Update is what it wrote.
	Update state.Update
	// Kept says that the result is from an earlier run.
	Kept bool
	// Asked says that the task waits for an answer.
	Asked bool
	// Err is the task's failure, a [NodeError].
	Err error
}

// String describes the event in one line, for logs and examples.
func (e TaskFinished) String() string {
	switch {
	case e.Err != nil:
		return e.line("fails: %v", e.Err)
	case e.Asked:
		return e.line("waits for an answer")
	case e.Kept:
		return e.line("is finished since an earlier run, with %v", e.Update)
	}
	return e.line("is finished, with %v", e.Update)
}

// StateChanged says that a superstep ended and its writes were applied. It is
// also sent when a run pauses with some tasks of its superstep finished: State
// then has their writes applied, which [Thread.Snapshot] shows too.
type StateChanged struct {
	Place
	State state.View
}

// String describes the event in one line, for logs and examples.
func (e StateChanged) String() string { return e.line("the state changes") }

// Checkpointed says that a checkpoint was given to the store; under [Sync] it
// is stored. Under [Exit] there is one at the end of the run.
type Checkpointed struct {
	Place
	ID, Parent string
}

// String describes the event in one line, for logs and examples.
func (e Checkpointed) String() string { return e.line("checkpoint %s", e.ID) }

// Paused says that a run waits, for answers or at a node named in
// [Options.PauseBefore] or [Options.PauseAfter].
type Paused struct {
	Place
	Pauses []Pause
}

// String describes the event in one line, for logs and examples.
func (e Paused) String() string {
	on := make([]string, len(e.Pauses))
	for i, p := range e.Pauses {
		on[i] = string(p.Kind) + " " + join2(p.Path, p.Interrupt)
	}
	return e.line("pauses: %s", strings.Join(on, ", "))
}

// RunEnded closes the events of a run that did not fail, and of each call of a
// subgraph.
type RunEnded struct {
	Place
	// Snapshot is the thread at the end; nil for a subgraph.
	Snapshot *Snapshot
}

// String describes the event in one line, for logs and examples.
func (e RunEnded) String() string { return e.line("the run ends") }
