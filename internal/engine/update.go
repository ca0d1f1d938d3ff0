package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// ErrAmbiguous reports that an update must name its node.
var ErrAmbiguous = errors.New("the node of the update is ambiguous; name it")

// A NodeUpdate is an update that a caller makes in place of a node.
type NodeUpdate struct {
	Node   string
	Update state.Update
}

// Update edits a thread as if the nodes had run in one superstep.
// It stores the result as a checkpoint.
// The argument tasks names a subgraph or the outermost graph; see [Plan.Snapshot].
func (p *Plan) Update(ctx context.Context, o *Options, tasks []string, updates []NodeUpdate) (*Snapshot, error) {
	return p.edit(ctx, o, tasks, func(r *run) error { return r.update(updates) })
}

// ForkSubgraph makes the checkpoint o.At the newest one of its subgraph.
// The next run resumes the subgraph from there.
// The argument tasks names the subgraph; see [Plan.Snapshot].
func (p *Plan) ForkSubgraph(ctx context.Context, o *Options, tasks []string) (*Snapshot, error) {
	return p.edit(ctx, o, tasks, (*run).fork)
}

// edit acquires the thread, restores the graph or subgraph, and calls change.
// The function change commits its result.
func (p *Plan) edit(ctx context.Context, o *Options, tasks []string, change func(*run) error) (snap *Snapshot, err error) {
	r := newRun(p, o)
	sync := *o
	sync.Durability = Sync
	r.Options = &sync
	r.identify()
	r.makeContexts(ctx)
	defer r.ctx.close()
	_, _ = r.ctx.finish() // an edit is short, so no other run may supersede it
	lease, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lease.release(ctx)) }()
	if len(tasks) == 0 {
		if _, err = r.findCheckpoint(&input{}); err != nil {
			return nil, err
		}
		err = change(r)
	} else {
		r, err = r.editSubgraph(tasks, change)
	}
	if err != nil {
		return nil, err
	}
	return r.snapshotOfRun(), nil
}

// editSubgraph calls change for the subgraph to which the tasks lead.
// It withdraws the open questions of the tasks, which ask again when they run.
func (r *run) editSubgraph(tasks []string, change func(*run) error) (*run, error) {
	at := r.At
	c, err := r.log.store.Get(&r.ctx, checkpoint.Key{Thread: r.thread})
	if err != nil {
		return nil, err
	}
	if err := r.load(&c); err != nil {
		return nil, err
	}
	outer := []*run{r}
	inner := r
	for i, id := range tasks {
		read := ""
		if i == len(tasks)-1 {
			read = at
		}
		if inner, err = inner.restoreSubgraph(&r.ctx, r.log.store, id, read); err != nil {
			return nil, err
		}
		outer = append(outer, inner)
	}
	head, err := r.log.store.Get(&r.ctx, checkpoint.Key{Thread: r.thread, Namespace: inner.ns})
	if err != nil {
		return nil, err
	}
	inner.head = head.ID
	// The step follows the newest step of the namespace, even if the edit starts earlier.
	// So the tasks of two branches of a subgraph have different idempotency keys.
	inner.step = max(inner.step, head.Step)
	if err := change(inner); err != nil {
		return nil, err
	}
	for i, id := range tasks {
		if err := outer[i].withdrawQuestions(id); err != nil {
			return nil, err
		}
	}
	return inner, nil
}

// withdrawQuestions stores that a task has no open question.
func (r *run) withdrawQuestions(task string) error {
	if saved := r.pending.tasks[task]; saved == nil || !saved.asked {
		return nil
	}
	w, err := encodeMark(task, mark.Ask, indexAsk, []Pause{})
	if err != nil {
		return err
	}
	return r.log.write(r.storeCtx, r.key(), []checkpoint.Write{w})
}

// update applies the updates as one superstep and commits it.
func (r *run) update(updates []NodeUpdate) error {
	base, ran, err := r.applyUnfinished()
	if err != nil {
		return err
	}
	if len(ran) == 0 {
		ran = r.front.by
	}
	tasks := make([]Task, len(updates))
	for i, u := range updates {
		if err := r.updateTask(&tasks[i], u, len(updates) == 1, ran); err != nil {
			return err
		}
	}
	r.view = base
	tx := r.plan.Schema.Begin(base)
	for i := range tasks {
		if err := statecore.Apply(tx, i, tasks[i].writes); err != nil {
			return err
		}
	}
	view, err := tx.Finish(true)
	if err != nil {
		return err
	}
	before := frontier{arrived: r.front.arrived, persistent: r.front.persistent, call: r.front.call}
	var (
		done []routed
		by   []string
	)
	for i := range tasks {
		t := &tasks[i]
		if err := t.branch(statecore.Overlay(r.plan.Schema, base, t.writes)); err != nil {
			return t.fail(err)
		}
		done, by = append(done, t.routed()), append(by, t.node.Name)
	}
	front := nextFrontier(r.plan, &before, done)
	front.by = by // with duplicates, so that after two updates as one node the next Update must name its node
	if r.parent == nil {
		r.newOrigin()
	}
	for i := range tasks {
		front.left = front.left || slices.ContainsFunc(tasks[i].extrasOrNone().toParent, leavesSubgraph)
	}
	r.step++
	if err := r.commit(tx, view, tasks, &front, checkpoint.Edited); err != nil {
		return err
	}
	r.view, r.front, r.pending = view, front, nil
	return nil
}

// applyUnfinished applies the writes of finished tasks of an uncommitted superstep.
// It returns the resulting state and the nodes of the finished plain tasks.
// It appends the changes to r.editChanges, so that the next commit stores them.
func (r *run) applyUnfinished() (view state.View, ran []string, err error) {
	if r.pending == nil || len(r.pending.tasks) == 0 {
		return r.view, nil, nil
	}
	tasks := r.tasks()
	tx := r.plan.Schema.Begin(r.view)
	for i := range tasks {
		t := &tasks[i]
		if !t.finished {
			continue
		}
		r.front.persistent = remember(r.front.persistent, t.extrasOrNone().persistent)
		if err := statecore.Apply(tx, i, t.writes); err != nil {
			return nil, nil, err
		}
		if t.sent == 0 {
			ran = append(ran, t.node.Name)
		}
	}
	if view, err = tx.Finish(false); err != nil {
		return nil, nil, err
	}
	if r.editChanges, err = appendChanges(r.editChanges, tx); err != nil || r.parent == nil {
		return view, ran, err
	}
	for i := range tasks {
		if !tasks[i].finished {
			continue
		}
		if r.editChanges, err = r.appendParentWrites(r.editChanges, &tasks[i]); err != nil {
			return nil, nil, err
		}
	}
	return view, ran, nil
}

// updateTask initializes t as the task of an update.
// If u names no node, t is a task of the node that ran or was updated last.
// The argument only is true if u is the only update of the caller.
// The argument ran lists the nodes that ran or were updated last.
func (r *run) updateTask(t *Task, u NodeUpdate, only bool, ran []string) error {
	name := u.Node
	if name == "" {
		switch {
		case !only:
			return fmt.Errorf("an update of several nodes: %w", ErrAmbiguous)
		case len(ran) == 1:
			name = ran[0]
		case r.checkpoint == "":
			name = Start
		default:
			return fmt.Errorf("the last superstep or update was of the nodes %q: %w", ran, ErrAmbiguous)
		}
	}
	n := r.plan.byName[name]
	switch {
	case name == Start:
		n = r.plan.Start
	case name == End:
		n = &Node{Name: End, names: []string{End}}
	case n == nil:
		return fmt.Errorf("update of node %q: %w%s", name, ErrUnknownNode, suggestNode(r.plan, name))
	}
	t.scope, t.node, t.finished = &r.scope, n, true
	writes, err := t.splitUpdate(u.Update, n.Destinations)
	t.writes = writes
	return err
}

// DeleteThread removes a thread. o.Conflict applies if a run holds the thread.
func DeleteThread(ctx context.Context, o *Options) error {
	return WithThread(ctx, o, func(store checkpoint.Store) error { return store.DeleteThread(ctx, o.Thread) })
}

// WithThread calls f while it holds the thread. If a run holds the thread, o.Conflict applies first.
// If the store has leases, f gets a store with the lease of the thread.
func WithThread(ctx context.Context, o *Options, f func(checkpoint.Store) error) error {
	rc := &runContext{}
	rc.begin(ctx, true)
	defer rc.close()
	_, _ = rc.finish() // no other run may supersede f
	lease, err := acquireThread(ctx, o, rc)
	if err != nil {
		return err
	}
	return errors.Join(f(lease.store), lease.release(ctx))
}
