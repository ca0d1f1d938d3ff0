package graph

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/state"
)

type (
	gotoSignal   struct{ node string }
	sendSignal   struct{ send *send }
	parentSignal struct{ write state.Write }
	answerSignal struct {
		interrupt, id string
		value         json.RawMessage
		err           error
	}
	turnSignal struct{ begin bool }
)

func (s gotoSignal) Signal() string   { return "goto " + s.node }
func (s sendSignal) Signal() string   { return "send to " + s.send.node }
func (s parentSignal) Signal() string { return "to parent: " + s.write.String() }
func (s answerSignal) Signal() string { return fmt.Sprintf("answer to %s %s", s.interrupt, s.id) }
func (s turnSignal) Signal() string {
	if s.begin {
		return "begin"
	}
	return "continue"
}

// send is a task that a node, a branch or a caller asked for.
type send struct {
	node   string
	writes []state.Write
}

// Goto makes a node due in the next superstep, beside what its own edges make
// due. The node that returns it must have declared the target with
// [Builder.Routes]; [End] is allowed and adds nothing. Given to a run by its
// caller, it makes the run go on from where the thread is, at that node too; on a
// new thread it takes the place of the entry.
func Goto(node string) state.Write { return state.NewSignal(gotoSignal{node}) }

// Send runs a node in the next superstep as a task of its own, which sees what
// is sent and nothing else of the state. Each Send is one task. The tasks' own
// writes go to the state as usual, after those of plain tasks and in the order
// of the sends. The node that returns it must have declared the target with
// [Builder.Routes].
func Send(node string, writes ...state.Write) state.Write {
	return state.NewSignal(sendSignal{&send{node, writes}})
}

// ToParent passes a write on to the graph that the current one is a subgraph
// of, as if the subgraph's node had returned it. A [Goto] or [Send] to the
// parent also ends the subgraph after this superstep.
func ToParent(w state.Write) state.Write { return state.NewSignal(parentSignal{w}) }

// Begin makes a run begin at the entry of the graph even if it has no other
// input. Writes to channels alone imply it.
func Begin() state.Write { return state.NewSignal(turnSignal{begin: true}) }

// Continue makes the writes of a run an edit of the thread's current
// checkpoint, from which the run goes on, instead of input for a new turn. They
// become part of the checkpoint that follows. [Goto], [Send] and answers imply
// Continue; on a new thread, which has nothing to go on with, it begins a turn.
func Continue() state.Write { return state.NewSignal(turnSignal{}) }
