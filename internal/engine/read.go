package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
)

// Snapshot reads the state of a thread, or of a subgraph of the thread.
// The argument tasks holds the ids of the tasks that lead to the subgraph, outermost first.
// It is empty for the outermost graph.
func (p *Plan) Snapshot(ctx context.Context, o *Options, tasks []string) (*Snapshot, error) {
	r := newRun(p, o)
	at := o.At
	if len(tasks) > 0 {
		at = "" // o.At names a checkpoint of the subgraph
	}
	c, err := o.Store.Get(ctx, checkpoint.Key{Thread: o.Thread, ID: at})
	if err != nil {
		return nil, err
	}
	if at != "" {
		c.Writes = nil
	}
	if err := r.load(&c); err != nil {
		return nil, err
	}
	for i, id := range tasks {
		read := ""
		if i == len(tasks)-1 {
			read = o.At
		}
		if r, err = r.restoreSubgraph(ctx, o.Store, id, read); err != nil {
			return nil, err
		}
	}
	s := r.snapshotOfCheckpoint()
	r.warnMissing()
	return s, s.dateOldPauses(ctx, o)
}

// dateOldPauses sets the time of pauses that an older version stored without a time. It uses the time of the newest
// checkpoint of the thread in any namespace. The pause may be older.
func (s *Snapshot) dateOldPauses(ctx context.Context, o *Options) error {
	undated := func(p Pause) bool { return p.Asked.IsZero() }
	if !slices.ContainsFunc(s.Pauses, undated) {
		return nil
	}
	for c, err := range o.Store.List(ctx, checkpoint.Query{Thread: o.Thread, AllNamespaces: true, Limit: 1}) {
		if err != nil {
			return err
		}
		for i := range s.Pauses {
			if undated(s.Pauses[i]) {
				s.Pauses[i].Asked = c.Time.UTC()
			}
		}
	}
	return nil
}

// Namespace returns the namespace of a subgraph. For the argument tasks, see [Plan.Snapshot].
func (p *Plan) Namespace(ctx context.Context, o *Options, tasks []string) (string, error) {
	r := newRun(p, o)
	c, err := o.Store.Get(ctx, checkpoint.Key{Thread: o.Thread})
	if err == nil {
		err = r.load(&c)
	}
	for _, id := range tasks {
		if err != nil {
			break
		}
		r, err = r.restoreSubgraph(ctx, o.Store, id, "")
	}
	if err != nil {
		return "", err
	}
	return r.ns, nil
}

// restoreSubgraph restores the subgraph that the task with the given id runs.
// It restores the checkpoint with the id checkpointID.
// If checkpointID is empty, it restores the newest checkpoint of the call.
func (r *run) restoreSubgraph(ctx context.Context, store checkpoint.Store, id, checkpointID string) (*run, error) {
	task, err := r.callingTask(id)
	if err != nil {
		return nil, err
	}
	in := task.subgraphRun(ctx)
	for _, name := range task.allIDs() {
		in.ns = task.namespaceAs(name)
		c, err := store.Get(ctx, checkpoint.Key{Thread: r.thread, Namespace: in.ns, ID: checkpointID})
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the subgraph of task %q: %w", id, err)
		}
		if checkpointID != "" {
			c.Writes = nil
		}
		if err := in.restore(&c); err != nil {
			return nil, err
		}
		if in.front.call == task.callID(name) {
			return in, nil
		}
	}
	if checkpointID != "" {
		return nil, fmt.Errorf("checkpoint %s of the subgraph of task %q: %w; a checkpoint of an earlier call cannot be used", checkpointID, id, checkpoint.ErrNotFound)
	}
	return nil, fmt.Errorf("the subgraph of task %q has not begun: %w", id, checkpoint.ErrNotFound)
}

// callingTask returns the task with the given id.
// The task must be unfinished and must run a subgraph.
func (r *run) callingTask(id string) (*Task, error) {
	tasks := r.tasks()
	var callers []string
	for i := range tasks {
		t := &tasks[i]
		switch {
		case t.node.Subgraph == nil:
			if t.ID() == id {
				return nil, fmt.Errorf("task %q runs no subgraph: %w", id, checkpoint.ErrNotFound)
			}
		case t.ID() == id && t.finished:
			return nil, fmt.Errorf("task %q has finished, and so has its subgraph: %w", id, checkpoint.ErrNotFound)
		case t.ID() == id:
			return t, nil
		default:
			callers = append(callers, t.ID())
		}
	}
	return nil, fmt.Errorf("graph %q has no due task %q; the due tasks that run subgraphs are %q: %w", r.plan.Name, id, callers, checkpoint.ErrNotFound)
}

// WaitsAt reports whether a checkpoint has work left for the given node.
// That is a due task without a result, or the node itself if it is deferred and waits.
func (p *Plan) WaitsAt(c *checkpoint.Checkpoint, node string) (bool, error) {
	ctl, err := readControl(c.Control)
	if err != nil {
		return false, fmt.Errorf("checkpoint %s: %w: %w", c.ID, checkpoint.ErrCorrupt, err)
	}
	void := pendingDecoder{plan: p, out: &pendingWrites{}}
	for _, w := range c.Writes {
		err := ctl.addCallerTarget(w)
		if w.Channel == mark.Void {
			err = void.decodeVoid(w.Data)
		}
		if err != nil {
			return false, fmt.Errorf("checkpoint %s: %w: %w", c.ID, checkpoint.ErrCorrupt, err)
		}
	}
	is := func(stored string) bool { return p.current(stored) == p.current(node) }
	done := func(id string) bool {
		return slices.ContainsFunc(c.Writes, func(w checkpoint.Write) bool {
			return endsResult(&w) && p.currentTask(w.Task) == id && w.Index >= void.out.void[id]
		})
	}
	if slices.ContainsFunc(ctl.Waiting, is) || slices.ContainsFunc(ctl.Next, is) && !done(p.current(node)) {
		return true, nil
	}
	for i, s := range ctl.Sends {
		if is(s.Node) && !done(taskID(p.current(node), i+1, "")) {
			return true, nil
		}
	}
	return false, nil
}

// addCallerTarget adds the target of a pending write to c.
// It ignores a write that is not from the caller of a run or names no target.
func (c *control) addCallerTarget(w checkpoint.Write) error {
	switch {
	case w.Task == "" && w.Channel == mark.Goto:
		c.Next = append(c.Next, string(w.Data))
	case w.Task == "" && w.Channel == mark.Send:
		var s storedSend
		if err := json.Unmarshal(w.Data, &s); err != nil {
			return err
		}
		c.Sends = append(c.Sends, s)
	}
	return nil
}
