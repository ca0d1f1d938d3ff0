package engine

import (
	"time"

	"github.com/weft-go/weft/state"
)

// An EventKind is the kind of an [Event].
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

// An Event reports something that happened in a run.
// The comment of a field names the kinds of event that set it.
type Event struct {
	// These fields are set for every kind.
	Kind     EventKind
	Time     time.Time
	Step     int
	Location *Location

	State   state.View   // RunStarted, StateChanged
	Value   any          // Emitted
	Update  state.Update // TaskFinished
	Err     error        // TaskFinished
	Resumed bool         // RunStarted
	Saved   bool         // TaskFinished: an earlier run stored the result
	Asked   bool         // TaskFinished: the task has an open question
	// Detail is set for StepStarted, Checkpointed, Paused and RunEnded, and nil for other kinds.
	Detail *EventDetail
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
