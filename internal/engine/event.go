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
	Kind   EventKind
	Time   time.Time
	Step   int
	Origin *Origin

	State      state.View   // RunStarted, StateChanged
	Resumed    bool         // RunStarted
	Tasks      []string     // StepStarted
	Value      any          // Emitted
	Update     state.Update // TaskFinished
	Saved      bool         // TaskFinished: the result is from an earlier run
	Asked      bool         // TaskFinished
	Err        error        // TaskFinished
	ID, Parent string       // Checkpointed
	Pauses     []Pause      // Paused
	Snapshot   *Snapshot    // RunEnded, of the graph that was started
}

// An Origin is the place of an event. Events of one task share it.
type Origin struct {
	Run, Path, Node, Task string
}
