package engine

import (
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// An EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of event.
const (
	RunStarted EventKind = iota
	StepStarted
	TaskStarted
	TaskFinished
	StateChanged
	Checkpointed
	Paused
	RunEnded
)

// An Event reports a change in a run. It does not report a value that a node emits:
// [Task.Emit] makes the event of such a value, in the form that users see.
// The comment of a field names the kinds of event that set it.
type Event struct {
	// These fields are set for every kind.
	Kind EventKind
	Place

	State   state.View   // RunStarted, StateChanged
	Update  state.Update // TaskFinished
	Err     error        // TaskFinished
	Resumed bool         // RunStarted
	Saved   bool         // TaskFinished: an earlier run, or an earlier attempt of an inner task, stored the result
	Asked   bool         // TaskFinished: the task has an open question, or its subgraph has a static pause
	// Detail is set for StepStarted, Checkpointed, Paused and RunEnded, and nil for other kinds.
	Detail *EventDetail
}

// A Place is the time and place of an event.
type Place struct {
	Time     time.Time
	Step     int
	Location *Location
}

// An EventDetail holds the fields that only the rarer kinds of event set.
// It is a separate struct to keep [Event] small.
type EventDetail struct {
	Tasks      []string     // StepStarted
	Views      []state.View // StepStarted: the state of each task that runs; nil for other tasks
	ID, Parent string       // Checkpointed
	Pauses     []Pause      // Paused
	Snapshot   *Snapshot    // RunEnded, except of a subgraph
}

// A Location names a task of a run, or the run itself.
// Many events share one Location, so it must not be changed.
type Location struct {
	Run  string // the id of the run
	Path string // the ids of the enclosing tasks, outermost first, joined by "/"
	// Node and Task are empty for the run itself.
	Node, Task string
}

// An Info describes a checkpoint.
type Info struct {
	Thread, Namespace, ID, Parent string
	Step                          int
	Source                        checkpoint.Source
	Run, Version                  string
	Time                          time.Time
	Metadata                      map[string]string
	Next                          []string
}
