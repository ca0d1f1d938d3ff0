package graph

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// Info describes a checkpoint of a thread.
type Info struct {
	Thread string
	// ID names the checkpoint; Parent is the one it follows, empty for the
	// first. Both are empty for a run without a thread.
	ID, Parent string
	// Step counts supersteps since the thread began, inputs and updates too.
	Step int
	// Source says what made the checkpoint.
	Source checkpoint.Source
	// Run is the id of the run that wrote it, Version that of its graph.
	Run, Version string
	// Time is when the store accepted it.
	Time time.Time
	// Metadata is what [RunOptions] gave the run.
	Metadata map[string]string
	// Next names the nodes of the tasks that are due, in order; a node once
	// for each task.
	Next []string
}

// A Snapshot is the state of a thread at one moment, read through channels:
// Messages.Get(snapshot). It never changes.
type Snapshot struct {
	Info
	state.View
	// Tasks are those of the superstep that is due, in order.
	Tasks []Task
	// Pauses are what the thread waits for.
	Pauses []Pause
}

// Done reports whether nothing is due: the run reached its end.
func (s *Snapshot) Done() bool { return len(s.Next) == 0 }

// A Task is one of the superstep that is due.
type Task struct {
	ID, Node string
	// Finished says that its result is kept; it will not run again.
	Finished bool
	// Err is the text of its last failure.
	Err string
	// Namespace is where a subgraph keeps its checkpoints, if it did.
	Namespace string
}

// A Pause is something that a thread waits for.
type Pause struct {
	Kind PauseKind `json:"kind"`
	// ID names a question; its answer is given with it.
	ID string `json:"id,omitempty"`
	// Node is the node of the thread's graph that waits; around a question of
	// a subgraph, the node of the subgraph.
	Node string `json:"node"`
	// Path is the tasks down to the one that waits, outermost first, joined by
	// "/".
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
	Question    PauseKind = "question" // a node asked
	PauseBefore PauseKind = "before"   // at a node of [Options.PauseBefore]
	PauseAfter  PauseKind = "after"    // at a node of [Options.PauseAfter]
)

func (p Pause) clone() Pause {
	p.Prompt = slices.Clone(p.Prompt)
	return p
}

// look builds the snapshot of a thread from its checkpoint.
func (r *run) look(c *checkpoint.Checkpoint) (*Snapshot, error) {
	tasks, err := r.tasks()
	if err != nil {
		return nil, err
	}
	for i := range tasks {
		if k := tasks[i].seldom().saved; k != nil && !k.done && k.asked {
			tasks[i].own().pauses = k.unanswered(r.pending.answers)
		}
	}
	info, err := infoOf(c)
	if err != nil {
		return nil, err
	}
	if !r.pending.tried() {
		r.pauses = r.pending.stops
	}
	s := r.shot(info, tasks)
	s.Next = append(s.Next, r.front.aside().missing...)
	return s, nil
}

// unanswered returns the pauses of a task that no answer was given to.
func (k *kept) unanswered(answers map[string]json.RawMessage) []Pause {
	return slices.DeleteFunc(slices.Clone(k.pauses), func(p Pause) bool {
		_, ok := answers[p.ID]
		return ok && p.Kind == Question
	})
}

// end builds the snapshot that the run returns.
func (r *run) end() *Snapshot {
	info := Info{
		Thread: r.root.thread, ID: r.cur, Step: r.step, Run: r.root.id, Version: r.root.version,
		Time: time.Now(), Metadata: r.root.metadata, Source: r.source, Parent: r.before,
	}
	tasks := r.stuck
	if tasks == nil && !r.front.aside().left {
		var err error
		if tasks, err = r.tasks(); err != nil {
			tasks = nil
		}
	}
	return r.shot(info, tasks)
}

// shot shows the tasks of the superstep that is due, the finished ones applied.
func (r *run) shot(info Info, tasks []task) *Snapshot {
	s := &Snapshot{Info: info, Pauses: r.pauses}
	s.View, _, _ = r.partly(tasks)
	s.Next = nil
	fresh := s.Pauses == nil
	for i := range tasks {
		t := &tasks[i]
		s.Tasks = append(s.Tasks, t.describe())
		if !t.finished() {
			s.Next = append(s.Next, t.node.name)
		}
		if fresh {
			s.Pauses = append(s.Pauses, t.seldom().pauses...)
		}
	}
	return s
}

func (t *task) describe() Task {
	x, out := t.seldom(), Task{ID: t.id(), Node: t.node.name, Finished: t.finished()}
	switch {
	case x.err != nil:
		out.Err = x.err.Error()
	case x.saved != nil && !t.finished():
		out.Err = x.saved.failure
	}
	if t.node.sub != nil && t.run.cur != "" {
		out.Namespace = t.namespace()
	}
	return out
}
