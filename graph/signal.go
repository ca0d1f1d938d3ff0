package graph

import (
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

func signal(s statecore.Signal) state.Write { return state.Write{Write: statecore.SignalWrite(s)} }

// Goto schedules a node for the next superstep, beside the targets of the edges.
// The node that returns it must have declared the target with
// [Builder.Destinations]; [End] is allowed and adds nothing. Given to a run by its
// caller, it makes the run resume where the thread is, at that node too; on a new
// thread it takes the place of the entry.
func Goto(node string) state.Write { return signal(engine.Goto{Node: node}) }

// Send runs a node in the next superstep as a task of its own, which sees what is
// sent and no other state. Each Send is one task. The writes of these tasks apply
// after those of plain tasks, in the order of the sends. The node that returns it
// must have declared the target with [Builder.Destinations].
func Send(node string, writes ...state.Write) state.Write {
	return signal(&engine.Send{Node: node, Writes: writes})
}

// ToParent passes a write on to the graph around a subgraph, as if the node of the
// subgraph had returned it. A [Goto] or [Send] to the parent also ends the
// subgraph after this superstep.
func ToParent(w state.Write) state.Write { return signal(engine.ToParent{Write: w}) }

// Begin makes a run begin a new turn at the entry of the graph even without other
// input. Writes to channels alone imply it.
func Begin() state.Write { return signal(engine.Turn{Begin: true}) }

// Continue makes the writes of a run an edit of the thread's current checkpoint,
// from which the run resumes, instead of input for a new turn. The next checkpoint
// has them. [Goto], [Send] and answers imply Continue; on a new thread, which has
// nothing to resume, it begins a turn.
func Continue() state.Write { return signal(engine.Turn{}) }
