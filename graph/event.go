package graph

import (
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/internal/engine"
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
	// At returns the place and time of the event.
	At() Place
	// String describes the event in one line, for logs and examples.
	String() string

	event()
}

// A Place is the place and time of an event.
type Place struct {
	// Time is the time at which the event happened.
	Time time.Time
	// Step counts the supersteps, inputs and updates of the thread.
	Step int
	// Run is the id of the run.
	Run string
	// Path has the ids of the tasks that run the subgraphs around the event, outermost
	// first, joined by "/". It is empty in the root graph.
	Path string
	// Node and Task are empty for an event that does not belong to one task.
	Node, Task string
}

// where is the place of an event. All events of a task share its location, which may be nil.
type where struct{ place engine.Place }

// At returns the place and time of the event.
func (w where) At() Place {
	p := Place{Time: w.place.Time, Step: w.place.Step}
	if l := w.place.Location; l != nil {
		p.Run, p.Path, p.Node, p.Task = l.Run, l.Path, l.Node, l.Task
	}
	return p
}

// line returns the text of an event with its place.
func (w where) line(what string, args ...any) string {
	p := w.At()
	where := p.Path
	if p.Task != "" {
		where = joinPath(p.Path, p.Task)
	}
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("step %d: %s%s", p.Step, where, fmt.Sprintf(what, args...))
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// RunStarted opens the events of a run, and of each call of a subgraph.
type RunStarted struct {
	where
	// State is the state at the start of the run, including its input.
	State state.View
	// Resumed says that the run resumes the current turn instead of beginning one.
	Resumed bool
}

// String describes the event in one line.
func (e RunStarted) String() string {
	if e.Resumed {
		return e.line("the run resumes")
	}
	return e.line("the run starts")
}

// StepStarted opens a superstep.
type StepStarted struct {
	where
	// Tasks are the ids of its tasks in order, including tasks whose result was stored
	// by an earlier run.
	Tasks []string
	// States are the states that the tasks see, in the order of Tasks. A task that does not run,
	// because its result was stored or its question is still open, has nil.
	States []state.View
}

// String describes the event in one line.
func (e StepStarted) String() string { return e.line("runs %s", strings.Join(e.Tasks, ", ")) }

// TaskStarted says that a node begins.
type TaskStarted struct{ where }

// String describes the event in one line.
func (e TaskStarted) String() string { return e.line("starts") }

// Emitted is a value that a node gave to [Emit], such as a token.
type Emitted struct {
	where
	Value any
}

// String describes the event in one line.
func (e Emitted) String() string { return e.line("emits %v", e.Value) }

// TaskFinished says that a task ended: with an update, an error or a question.
type TaskFinished struct {
	where
	// Update has the writes of the task.
	Update state.Update
	// Saved says that the result was already stored: by an earlier run or, for a task of a
	// flow, by an earlier attempt.
	Saved bool
	// Asked says that the task waits for an answer.
	Asked bool
	// Err is the task's failure, a [NodeError].
	Err error
}

// String describes the event in one line.
func (e TaskFinished) String() string {
	switch {
	case e.Err != nil:
		return e.line("fails: %v", e.Err)
	case e.Asked:
		return e.line("waits for an answer")
	case e.Saved:
		return e.line("finished in an earlier run, with %v", e.Update)
	}
	return e.line("finishes with %v", e.Update)
}

// StateChanged says that a superstep ended and its writes were applied. It also
// occurs before a pause if some tasks of the superstep have finished: State then has
// their writes, like [Thread.Snapshot].
type StateChanged struct {
	where
	State state.View
}

// String describes the event in one line.
func (e StateChanged) String() string { return e.line("the state changes") }

// Checkpointed says that a checkpoint was passed to the store. Under [Sync] it is
// already stored. Under [Exit] the event occurs once, at the end of the run.
type Checkpointed struct {
	where
	ID, Parent string
}

// String describes the event in one line.
func (e Checkpointed) String() string { return e.line("checkpoint %s", e.ID) }

// Paused says that a run waits: for answers, or at a node of [Options.PauseBefore]
// or [Options.PauseAfter].
type Paused struct {
	where
	Pauses []Pause
}

// String describes the event in one line.
func (e Paused) String() string {
	on := make([]string, len(e.Pauses))
	for i, p := range e.Pauses {
		on[i] = string(p.Kind) + " " + p.Path
		if p.Interrupt != "" {
			on[i] = string(p.Kind) + " " + joinPath(p.Path, p.Interrupt)
		}
	}
	return e.line("pauses: %s", strings.Join(on, ", "))
}

// RunEnded closes the events of a run that did not fail, and of a call of a subgraph
// that has reached its end.
type RunEnded struct {
	where
	// Snapshot is the thread at the end; nil for a subgraph.
	Snapshot *Snapshot
}

// String describes the event in one line.
func (e RunEnded) String() string { return e.line("the run ends") }

func (RunStarted) event()   {}
func (StepStarted) event()  {}
func (TaskStarted) event()  {}
func (Emitted) event()      {}
func (TaskFinished) event() {}
func (StateChanged) event() {}
func (Checkpointed) event() {}
func (Paused) event()       {}
func (RunEnded) event()     {}

// newEmitted makes the event of a value that a node emitted.
func newEmitted(p engine.Place, value any) any { return Emitted{where: where{p}, Value: value} }

// newEvent converts an event of the engine to an [Event].
func newEvent(e *engine.Event) any {
	w := where{e.Place}
	switch e.Kind {
	case engine.RunStarted:
		return RunStarted{where: w, State: e.State, Resumed: e.Resumed}
	case engine.StepStarted:
		return StepStarted{where: w, Tasks: e.Detail.Tasks, States: e.Detail.Views}
	case engine.TaskStarted:
		return TaskStarted{w}
	case engine.TaskFinished:
		return TaskFinished{where: w, Update: e.Update, Saved: e.Saved, Asked: e.Asked, Err: e.Err}
	case engine.StateChanged:
		return StateChanged{where: w, State: e.State}
	case engine.Checkpointed:
		return Checkpointed{where: w, ID: e.Detail.ID, Parent: e.Detail.Parent}
	case engine.Paused:
		return Paused{where: w, Pauses: newPauses(e.Detail.Pauses)}
	case engine.RunEnded:
		return RunEnded{where: w, Snapshot: newSnapshot(e.Detail.Snapshot)}
	}
	panic(fmt.Sprintf("graph: unknown kind of event %d", e.Kind))
}
