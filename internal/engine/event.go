package engine

import (
	"time"

	"github.com/weft-go/weft/state"
)

// An EventKind says what happened.
type EventKind uint8

// The kinds of event.
const (
	RunStarted EventKind = iota
	StepStarted
	TaskStarted
	Emitted
	TaskFinished
	StateChanged
	Checkpointed
	Paused
	RunEnded
)

// An Event is something that happened in a run. Which fields are set depends on
// its kind.
type Event struct {
	Kind EventKind
	Time time.Time
	Step int

	scope *scope
	task  *Task // nil for an event of the run

	State   state.View   // RunStarted, StateChanged
	Value   any          // Emitted
	Update  state.Update // TaskFinished
	Err     error        // TaskFinished
	Resumed bool         // RunStarted
	Saved   bool         // TaskFinished: the result is from an earlier run
	Asked   bool         // TaskFinished
	// Detail is of the rarer kinds; nil for the others.
	Detail *EventDetail
}

// An EventDetail is what an event of a rarer kind has.
type EventDetail struct {
	Tasks      []string  // StepStarted
	ID, Parent string    // Checkpointed
	Pauses     []Pause   // Paused
	Snapshot   *Snapshot // RunEnded, of the graph that was started
}

// Run returns the id of the run.
func (e *Event) Run() string { return e.scope.id }

// Path returns the tasks of the subgraphs around the event.
func (e *Event) Path() string { return e.scope.path }

// Task returns the node and the id of the task; both are empty for an event of the run.
func (e *Event) Task() (node, id string) {
	if e.task == nil {
		return "", ""
	}
	return e.task.node.Name, e.task.ID()
}
