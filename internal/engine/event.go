package engine

import (
	"time"

	"github.com/weft-go/weft/state"
)

// An EventKind is a kind of event.
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
	Kind     EventKind
	Time     time.Time
	Step     int
	Location *Location

	Tasks   []string     // StepStarted
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

// An EventDetail holds the fields of the rarer kinds of event.
type EventDetail struct {
	ID, Parent string    // Checkpointed
	Pauses     []Pause   // Paused
	Snapshot   *Snapshot // RunEnded, of the graph that was started
}

// A Location is a task of a run, or the run itself. Its events share it, and nobody
// changes it.
type Location struct {
	Run  string // its id
	Path string // the tasks of the subgraphs around it
	// Node and Task are empty for the run itself.
	Node, Task string
}
