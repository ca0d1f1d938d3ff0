package graph

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// Info describes a checkpoint of a thread.
type Info struct {
	Thread string `json:"thread,omitempty"`
	// ID is the id of the checkpoint, and Parent the id of the checkpoint before it;
	// the first one has no parent. Both are empty for a run without a thread.
	ID     string `json:"id,omitempty"`
	Parent string `json:"parent,omitempty"`
	// Step counts the supersteps, inputs and updates since the thread began.
	Step int `json:"step"`
	// Source says why the checkpoint was made.
	Source checkpoint.Source `json:"source,omitempty"`
	// Run is the id of the run that wrote the checkpoint. Version is the [Options.Version] of the graph
	// of that run.
	Run     string `json:"run,omitempty"`
	Version string `json:"version,omitempty"`
	// Time is the time at which the checkpoint was stored.
	Time time.Time `json:"time"`
	// Metadata is the metadata of [RunOptions].
	Metadata map[string]string `json:"metadata,omitempty"`
	// Next has the node of each due task, in task order. A node with several due tasks
	// occurs several times.
	Next []string `json:"next,omitempty"`
}

// A Snapshot is the state of a thread at one moment. Channels read it:
// Messages.Get(snapshot). It never changes, and shares no memory with the thread.
type Snapshot struct {
	Info
	state.View
	// Tasks are the tasks of the due superstep, in order.
	Tasks []Task
	// Pauses are the questions and static pauses at which the thread waits.
	Pauses []Pause
	// Waiting are the joins of which some, but not all, sources have completed. If a
	// thread is done and a join still waits, its target has not run: perhaps a branch
	// bypassed a source. Tasks of the due superstep do not count as completed.
	Waiting []WaitingJoin

	due state.View
}

// Due returns the state that the tasks of the due superstep see: the state of the snapshot without
// the writes of the finished tasks. On a snapshot of [Graph.ReadSnapshot], the returned state has these
// writes too.
func (s *Snapshot) Due() state.View {
	if s.due == nil {
		return s.View
	}
	return s.due
}

// Done reports whether the thread has reached its end: no task is due. A thread whose
// tasks have all finished is not done until their superstep is stored. A run without
// input stores it and continues.
func (s *Snapshot) Done() bool { return len(s.Next) == 0 && len(s.Tasks) == 0 }

// A Task is a task of the due superstep.
type Task struct {
	ID   string `json:"id"`
	Node string `json:"node"`
	// Finished says that the result of the task is stored, so the task does not run again.
	Finished bool `json:"finished,omitempty"`
	// Err is the text of the last failure of the task.
	Err string `json:"error,omitempty"`
	// Namespace is the namespace of the checkpoints of the task's subgraph, if any.
	Namespace string `json:"namespace,omitempty"`
}

// A WaitingJoin is a join that waits for some of its sources.
type WaitingJoin struct {
	// Target is the node that the join schedules.
	Target string `json:"target"`
	// Arrived has the sources that have completed since the join last fired, and
	// Awaiting has the others. Both are sorted by name.
	Arrived  []string `json:"arrived"`
	Awaiting []string `json:"awaiting"`
}

// A Pause is a question or a static pause at which a thread waits.
type Pause struct {
	Kind string `json:"kind"`
	// ID is the id of a question. [Interrupt.Answer] takes it.
	ID string `json:"id,omitempty"`
	// Node is the node of the thread's graph that waits. For a question of a subgraph
	// it is the node that runs the subgraph.
	Node string `json:"node"`
	// Path has the ids of the waiting task and of the tasks around it, outermost first,
	// joined by "/".
	Path string `json:"path"`
	// Interrupt and Key are the name and the key of the question: see [NewInterrupt]
	// and [Interrupt.WaitKey].
	Interrupt string `json:"interrupt,omitempty"`
	Key       string `json:"key,omitempty"`
	// Prompt is the prompt of the question, as JSON.
	Prompt json.RawMessage `json:"prompt,omitempty"`
	// Asked is the time at which the question was asked first, or at which the run stopped at a static
	// pause, by the clock of the process that ran the node. If the node runs again and asks again, Asked
	// does not change, unless an edit of its subgraph withdrew the question. A question that an older version of Weft
	// stored has no such time. For it, [Thread.Snapshot] returns the time of the newest checkpoint of the thread and
	// its subgraphs, and a run returns zero, until the node asks again and sets the time.
	Asked time.Time `json:"asked,omitzero"`
}

// The kinds of pause.
const (
	Question    = engine.Question    // a node asked a question
	PauseBefore = engine.PauseBefore // at a node of [Options.PauseBefore]
	PauseAfter  = engine.PauseAfter  // at a node of [Options.PauseAfter]
)

// newSnapshot converts a snapshot of the engine. It returns nil for nil.
func newSnapshot(s *engine.Snapshot) *Snapshot {
	if s == nil {
		return nil
	}
	out := &Snapshot{Info: newInfo(s.Info), View: s.View, Pauses: newPauses(s.Pauses), due: s.Due}
	for _, t := range s.Tasks {
		out.Tasks = append(out.Tasks, Task{ID: t.ID, Node: t.Node, Finished: t.Finished, Err: t.Err, Namespace: t.Namespace})
	}
	for _, w := range s.Waiting {
		out.Waiting = append(out.Waiting, WaitingJoin(w))
	}
	return out
}

func newInfo(i engine.Info) Info {
	return Info{
		Thread: i.Thread, ID: i.ID, Parent: i.Parent, Step: i.Step, Source: i.Source, Run: i.Run,
		Version: i.Version, Time: i.Time, Metadata: i.Metadata, Next: i.Next,
	}
}

func newPauses(pauses []engine.Pause) []Pause {
	if len(pauses) == 0 {
		return nil
	}
	out := make([]Pause, len(pauses))
	for i, p := range pauses {
		out[i] = Pause{
			Kind: p.Kind, ID: p.ID, Node: p.Node, Path: p.Path,
			Interrupt: p.Interrupt, Key: p.Key, Prompt: slices.Clone(p.Prompt), Asked: p.Asked,
		}
	}
	return out
}
