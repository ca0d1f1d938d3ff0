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
	// ID names the checkpoint; Parent is the one that it follows, empty for the first.
	// Both are empty for a run without a thread.
	ID     string `json:"id,omitempty"`
	Parent string `json:"parent,omitempty"`
	// Step counts supersteps since the thread began, inputs and updates too.
	Step int `json:"step"`
	// Source says what made the checkpoint.
	Source checkpoint.Source `json:"source,omitempty"`
	// Run is the id of the run that wrote it, Version that of its graph.
	Run     string `json:"run,omitempty"`
	Version string `json:"version,omitempty"`
	// Time is when it was stored.
	Time time.Time `json:"time"`
	// Metadata is what [RunOptions] gave the run.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Next names the nodes of the tasks that have to run, in order; a node once for
	// each task.
	Next []string `json:"next,omitempty"`
}

// A Snapshot is the state of a thread at one moment, read through channels:
// Messages.Get(snapshot). It never changes, and nothing in it is shared.
type Snapshot struct {
	Info
	state.View
	// Tasks are those of the superstep that is due, in order.
	Tasks []Task
	// Pauses are what the thread waits for.
	Pauses []Pause
	// Waiting are the joins that some, but not all, of their sources have reached. A
	// thread that is done and has one has not run its target: a branch may have
	// passed by a source. Tasks of the superstep that is due do not count yet.
	Waiting []WaitingJoin
}

// Done reports whether the thread reached its end: no task is due. A thread whose
// tasks have all finished, but whose superstep is not stored, is not done: a run
// without input stores it and continues.
func (s *Snapshot) Done() bool { return len(s.Next) == 0 && len(s.Tasks) == 0 }

// A Task is one of the superstep that is due.
type Task struct {
	ID   string `json:"id"`
	Node string `json:"node"`
	// Finished says that its result is stored; it does not run again.
	Finished bool `json:"finished,omitempty"`
	// Err is the text of its last failure.
	Err string `json:"error,omitempty"`
	// Namespace is where a subgraph keeps its checkpoints, if the task runs one.
	Namespace string `json:"namespace,omitempty"`
}

// A WaitingJoin is a join that waits for some of its sources.
type WaitingJoin struct {
	// Target is the node that the join schedules.
	Target string `json:"target"`
	// Arrived and Awaiting are its sources, by name: those that have completed since the
	// join last fired, and the others.
	Arrived  []string `json:"arrived"`
	Awaiting []string `json:"awaiting"`
}

// A Pause is something that a thread waits for.
type Pause struct {
	Kind PauseKind `json:"kind"`
	// ID names a question; its answer is given with it.
	ID string `json:"id,omitempty"`
	// Node is the node of the thread's graph that waits; for a question of a
	// subgraph, the node that runs the subgraph.
	Node string `json:"node"`
	// Path is the tasks down to the one that waits, outermost first, joined by "/".
	Path string `json:"path"`
	// Interrupt and Key say which question it is; see [NewInterrupt].
	Interrupt string `json:"interrupt,omitempty"`
	Key       string `json:"key,omitempty"`
	// Prompt is what the question asks.
	Prompt json.RawMessage `json:"prompt,omitempty"`
}

// A PauseKind says why a thread waits.
type PauseKind string

// The kinds of pause.
const (
	Question    PauseKind = engine.Question    // a node asked
	PauseBefore PauseKind = engine.PauseBefore // at a node of [Options.PauseBefore]
	PauseAfter  PauseKind = engine.PauseAfter  // at a node of [Options.PauseAfter]
)

// newSnapshot returns the snapshot that users see; nil for nil.
func newSnapshot(s *engine.Snapshot) *Snapshot {
	if s == nil {
		return nil
	}
	out := &Snapshot{Info: newInfo(s.Info), View: s.View, Pauses: newPauses(s.Pauses)}
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
			Kind: PauseKind(p.Kind), ID: p.ID, Node: p.Node, Path: p.Path,
			Interrupt: p.Interrupt, Key: p.Key, Prompt: slices.Clone(p.Prompt),
		}
	}
	return out
}
