package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// A Snapshot is the state of a thread at one moment, with its due tasks and pauses.
type Snapshot struct {
	Info
	View   state.View
	Due    state.View // without the writes of the due superstep
	Tasks  []TaskInfo
	Pauses []Pause
	// Waiting are the joins of which some, but not all, sources have completed.
	Waiting []WaitingJoin
}

// A TaskInfo describes a task of the due superstep.
type TaskInfo struct {
	ID, Node, Err, Namespace string
	Finished                 bool
}

// A WaitingJoin is a join that waits for some of its sources.
type WaitingJoin struct {
	Target   string
	Arrived  []string // the sources that have completed
	Awaiting []string // the other sources
}

// snapshotOfCheckpoint returns a snapshot of the restored checkpoint.
func (r *run) snapshotOfCheckpoint() *Snapshot {
	tasks := r.tasks()
	for i := range tasks {
		if saved := tasks[i].saved; saved != nil && !saved.done && saved.asked {
			tasks[i].ensureExtras().pauses = saved.unanswered(r.answers)
		}
	}
	if !r.pending.tried() {
		r.pauses = r.pending.stops
	}
	return r.snapshot(tasks)
}

// unanswered returns the pauses of a task without the answered questions.
func (t *savedTask) unanswered(answers map[string]json.RawMessage) []Pause {
	open := []Pause{} // not nil: the task has asked
	for _, p := range t.pauses {
		if _, ok := answers[p.ID]; !ok || p.Kind != Question {
			open = append(open, p)
		}
	}
	return open
}

// snapshotOfRun returns a snapshot of the thread at the end of the run.
func (r *run) snapshotOfRun() *Snapshot {
	tasks := r.uncommitted
	if tasks == nil && !r.front.left {
		tasks = r.tasks()
	}
	answers := r.answers
	if len(r.refused) > 0 {
		answers = maps.Clone(answers)
		for _, id := range r.refused {
			delete(answers, id)
		}
	}
	for i := range tasks {
		if t := &tasks[i]; t.err != nil && t.saved != nil && t.saved.asked {
			t.ensureExtras().pauses = t.saved.unanswered(answers)
		}
	}
	return r.snapshot(tasks)
}

// snapshot returns a snapshot of the current checkpoint with the due tasks.
// Its view includes the writes of finished tasks.
// It shares the prompts of its pauses with the run, which does not change them.
func (r *run) snapshot(tasks []Task) *Snapshot {
	out := &Snapshot{Info: r.info(), Due: r.view, Waiting: r.plan.waitingJoins(&r.front)}
	out.View, _, _ = r.applyFinished(tasks)
	out.Tasks = make([]TaskInfo, 0, len(tasks))
	for i := range tasks {
		t := &tasks[i]
		out.Tasks = append(out.Tasks, t.info())
		if !t.finished {
			out.Next = append(out.Next, t.node.Name)
		}
		if r.pauses == nil {
			out.Pauses = append(out.Pauses, t.extrasOrNone().pauses...)
		}
	}
	if r.front.missing != nil {
		out.Pauses = append(out.Pauses, r.lostPauses(tasks)...)
	}
	out.Next = append(out.Next, r.front.missing...)
	out.Pauses = append(out.Pauses, r.pauses...)
	return out
}

// lostPauses returns the open questions of tasks whose nodes the graph does not have, in the order of their ids.
func (r *run) lostPauses(tasks []Task) []Pause {
	if r.pending == nil || r.pauses != nil {
		return nil
	}
	known := make(map[string]bool, len(tasks))
	for i := range tasks {
		known[tasks[i].ID()] = true
	}
	var out []Pause
	for _, id := range slices.Sorted(maps.Keys(r.pending.tasks)) {
		if saved := r.pending.tasks[id]; !saved.done && !known[id] {
			out = append(out, saved.unanswered(r.answers)...)
		}
	}
	return out
}

// info describes the current checkpoint. Without a thread, it describes the run.
func (r *run) info() Info {
	info := r.stored
	if info.ID == "" {
		info = Info{Step: r.step, Run: r.id, Version: r.Version, Time: time.Now(), Metadata: r.Metadata}
	}
	info.Metadata = maps.Clone(info.Metadata)
	return info
}

func (t *Task) info() TaskInfo {
	out := TaskInfo{ID: t.ID(), Node: t.node.Name, Finished: t.finished}
	switch {
	case t.err != nil:
		out.Err = t.err.Error()
	case t.saved != nil && !t.finished:
		out.Err = t.saved.failure
	}
	if t.node.Subgraph != nil && t.scope.checkpoint != "" {
		out.Namespace = t.namespace()
	}
	return out
}

// namespace returns the namespace of the subgraph that the task runs.
func (t *Task) namespace() string { return t.namespaceAs(t.ID()) }

// namespaceAs returns the namespace for a present or former id of the task.
func (t *Task) namespaceAs(id string) string {
	if name := t.node.Subgraph.Persist; name != "" {
		return "~" + name
	}
	return joinPath(t.scope.ns, id+"@"+t.scope.checkpoint)
}

// waitingJoins returns the joins of which some, but not all, sources have completed.
func (p *Plan) waitingJoins(f *frontier) []WaitingJoin {
	var out []WaitingJoin
	for i, seen := range f.arrived {
		if seen == nil || complete(seen) { // a complete join waits for its deferred target
			continue
		}
		w := WaitingJoin{Target: p.Joins[i].Target}
		for at, source := range p.Joins[i].Sources {
			if seen[at] {
				w.Arrived = append(w.Arrived, source)
			} else {
				w.Awaiting = append(w.Awaiting, source)
			}
		}
		out = append(out, w)
	}
	return out
}

// warnWaiting logs each join that still waits for a source at the end of the run or of the call of a subgraph.
// The usual reasons are a branch that leaves a source out and a fan-out without targets.
func (r *run) warnWaiting() {
	if r.Logger == nil || r.front.left || !r.front.idle() {
		return
	}
	for _, w := range r.plan.waitingJoins(&r.front) {
		r.Logger.Warn("graph: the run ended, and a join still waits for some of its sources",
			"graph", r.plan.Name, "thread", r.thread, "join", w.Target, "arrived", w.Arrived, "awaiting", w.Awaiting)
	}
}

// InfoOf describes a stored checkpoint.
func (p *Plan) InfoOf(c *checkpoint.Checkpoint) (Info, error) {
	next, err := DueNodes(c.Control)
	if err != nil {
		return Info{}, fmt.Errorf("checkpoint %s: %w: %w", c.ID, checkpoint.ErrCorrupt, err)
	}
	for i, name := range next {
		next[i] = p.current(name)
	}
	return Info{
		Thread: c.Thread, Namespace: c.Namespace, ID: c.ID, Parent: c.Parent, Step: c.Step, Source: c.Source,
		Run: c.Run, Version: c.Version, Time: c.Time, Metadata: maps.Clone(c.Metadata), Next: next,
	}, nil
}
