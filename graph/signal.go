package graph

import (
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

func signal(s statecore.Signal) state.Write { return state.Write{Write: statecore.SignalWrite(s)} }

// Goto schedules a node for the next superstep, in addition to the targets of edges. A
// node that returns Goto must declare the target with [Builder.Destinations]. [End]
// schedules nothing, and is declared only to be drawn. As input of a run, Goto makes the
// thread resume where it is, and also schedules the node. On a new thread, the node runs
// instead of the entry.
func Goto(node string) state.Write { return signal(engine.Goto{Node: node}) }

// Send schedules a separate task of a node for the next superstep. The task sees only
// the writes of the Send, and no other state. The writes that sent tasks return are
// applied after the writes of plain tasks, in the order of the sends. A node that
// returns Send must declare the target with [Builder.Destinations].
func Send(node string, writes ...state.Write) state.Write {
	return signal(&engine.Send{Node: node, Writes: writes})
}

// SendOver is [Send] for a task that sees the whole state, with the writes of the
// SendOver applied to it. Only the writes are stored with the task. As for Send, the writes are
// checked on an empty state when a node returns the SendOver.
func SendOver(node string, writes ...state.Write) state.Write {
	return signal(&engine.Send{Node: node, Writes: writes, Over: true})
}

// ToParent passes a write to the parent of a subgraph, as if the parent's node had
// returned it. A [Goto] or [Send] to the parent also ends the subgraph after this
// superstep.
func ToParent(w state.Write) state.Write { return signal(engine.ToParent{Write: w}) }

// Begin makes a run begin a new turn at the entry of the graph, even without other
// input. Input that only writes to channels implies Begin.
func Begin() state.Write { return signal(engine.Turn{Begin: true}) }

// Continue makes the run resume the current turn. Writes to channels in the same input
// then edit the current state, instead of beginning a new turn. [Goto], [Send] and
// answers imply Continue. On a new thread, which has nothing to resume, Continue begins
// a turn. Due tasks that a [Send] made keep their own writes, and do not see the edit: tool
// calls of an agent are such tasks. To make them again from an edited state, use
// [Thread.Update] with the node "", and then run the thread.
func Continue() state.Write { return signal(engine.Turn{}) }
