package engine

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// The signals are writes that steer the engine and change no channel.
type (
	// Goto schedules a node.
	Goto struct{ Node string }
	// Send schedules a task of a node that sees these writes and no other state.
	Send struct {
		Node   string
		Writes []state.Write
	}
	// ToParent passes a write on to the graph around a subgraph.
	ToParent struct{ Write state.Write }
	// Answer answers the question with this id.
	Answer struct {
		Interrupt, ID string
		Value         json.RawMessage
		Err           error // the answer could not be encoded
	}
	// Turn says whether a run begins a new turn or continues the current one.
	Turn struct{ Begin bool }
)

// Signal describes the signal.
func (s Goto) Signal() string { return "goto " + s.Node }

// Signal describes the signal.
func (s *Send) Signal() string { return "send to " + s.Node }

// Signal describes the signal.
func (s ToParent) Signal() string { return "to parent: " + s.Write.String() }

// Signal describes the signal.
func (s Answer) Signal() string { return fmt.Sprintf("answer to %s %s", s.Interrupt, s.ID) }

// Signal describes the signal.
func (s Turn) Signal() string {
	if s.Begin {
		return "begin"
	}
	return "continue"
}

// signalWrite returns the write that carries a signal.
func signalWrite(s statecore.Signal) state.Write { return state.Write{Write: statecore.SignalWrite(s)} }
