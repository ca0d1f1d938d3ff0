package engine

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// A signal is a write that steers the engine and changes no channel.
type (
	// Goto schedules a node.
	Goto struct{ Node string }
	// Send schedules a task of a node.
	// The task sees a state that consists of these writes alone.
	// If Over is set, it sees the whole state with these writes applied to it.
	Send struct {
		Node   string
		Writes []state.Write
		Over   bool
	}
	// ToParent passes a write from a subgraph to its parent graph.
	ToParent struct{ Write state.Write }
	// Answer answers the question with the given id.
	Answer struct {
		Interrupt, ID string
		Value         json.RawMessage
		Err           error // the error if the answer could not be encoded
	}
	// Turn says whether a run begins a new turn or continues the current one.
	Turn struct{ Begin bool }
)

// Signal describes the Goto in words.
func (s Goto) Signal() string { return "goto " + s.Node }

// Signal describes the Send in words.
func (s *Send) Signal() string { return "send to " + s.Node }

// Signal describes the write to the parent in words.
func (s ToParent) Signal() string { return "to parent: " + s.Write.String() }

// Signal describes the answer in words.
func (s Answer) Signal() string { return fmt.Sprintf("answer to %s %s", s.Interrupt, s.ID) }

// Signal returns "begin" or "continue".
func (s Turn) Signal() string {
	if s.Begin {
		return "begin"
	}
	return "continue"
}

// signalWrite wraps a signal in a write.
func signalWrite(s statecore.Signal) state.Write { return state.Write{Write: statecore.SignalWrite(s)} }

// AnswerWrite returns an answer whose value is JSON already.
func AnswerWrite(interrupt, id string, value json.RawMessage) state.Write {
	return signalWrite(Answer{Interrupt: interrupt, ID: id, Value: value})
}
