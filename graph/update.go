package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// A NodeUpdate is an edit of a thread on behalf of a node.
type NodeUpdate struct {
	// Node is the one that the edit stands for: what follows it is due
	// afterwards. [Start] makes the graph's entry due, [End] nothing.
	Node string
	// Update is what it writes; [Goto] and [Send] in it count as the node's.
	Update state.Update
}

// Update edits the state of a thread as if a node had run and returned the
// writes: a checkpoint is added, and what follows that node is due instead of
// what was. Results of an unfinished superstep's finished tasks are applied
// first. An empty node means the one that ran last, or was updated: of an
// unfinished superstep the one that has finished, if it was not sent, and else
// the one that made the checkpoint. If there were several that is an
// [ErrAmbiguous]. On a handle from [Thread.At] it edits that checkpoint, on a
// branch of its own.
func (t *Thread) Update(ctx context.Context, node string, writes ...state.Write) (*Snapshot, error) {
	return t.UpdateNodes(ctx, NodeUpdate{Node: node, Update: writes})
}

// UpdateNodes is [Thread.Update] for several nodes at once, as one superstep
// that they ran in, in the order given.
func (t *Thread) UpdateNodes(ctx context.Context, updates ...NodeUpdate) (snap *Snapshot, err error) {
	defer func() { err = t.fail(err) }()
	store, err := t.store()
	if err != nil {
		return nil, err
	}
	held, err := t.g.hold(ctx, store, t.id)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.release(ctx)) }()
	r := t.editor(ctx, held.Store)
	if _, err = r.find(t, &input{}); err != nil {
		return nil, err
	}
	if err := r.update(updates); err != nil {
		return nil, err
	}
	if err := r.journal.close(ctx); err != nil {
		return nil, err
	}
	return r.end(), nil
}

// update applies the edits as one superstep and stores it.
func (r *run) update(updates []NodeUpdate) error {
	base, ran, err := r.finishedSoFar()
	if err != nil {
		return err
	}
	if len(ran) == 0 {
		ran = r.front.by
	}
	tasks := make([]task, len(updates))
	for i, u := range updates {
		if err := r.editTask(&tasks[i], u, len(updates) == 1, ran); err != nil {
			return err
		}
	}
	tx := r.g.schema.Begin(base)
	for i := range tasks {
		if err := tx.Apply(i, tasks[i].writes...); err != nil {
			return err
		}
	}
	view, err := tx.Finish(true)
	if err != nil {
		return err
	}
	var before frontier
	before.put(aside{arrived: r.front.aside().arrived})
	p := r.g.plan(&before)
	var by []string
	for i := range tasks {
		t := &tasks[i]
		if err := t.route(r.g.schema.Overlay(base, t.writes)); err != nil {
			return t.fail(err)
		}
		p.follow(t.node, t.routes())
		by = append(by, t.node.name)
	}
	front := p.frontier()
	front.by = by
	front.remember(r.front.aside().memory)
	r.step++
	if err := r.commit(tx, view, tasks, &front, checkpoint.Edited); err != nil {
		return err
	}
	r.view, r.front, r.pending = view, front, nil
	return nil
}

// finishedSoFar applies what the finished tasks of an unfinished superstep
// wrote, and keeps its stored form for the commit. It returns the names of those that are not sent, too.
func (r *run) finishedSoFar() (view state.View, ran []string, err error) {
	if r.pending == nil || len(r.pending.tasks) == 0 {
		return r.view, nil, nil
	}
	tasks, err := r.tasks()
	if err != nil {
		return nil, nil, err
	}
	tx := r.g.schema.Begin(r.view)
	for i := range tasks {
		if !tasks[i].finished() {
			continue
		}
		r.front.remember(withMemory(r.front.aside().memory, tasks[i].seldom().memory))
		if err := tx.Apply(i, tasks[i].writes...); err != nil {
			return nil, nil, err
		}
		if tasks[i].place() == 0 {
			ran = append(ran, tasks[i].node.name)
		}
	}
	if view, err = tx.Finish(false); err != nil {
		return nil, nil, err
	}
	r.edits, err = changesOf(tx, r.edits)
	return view, ran, err
}

// editTask makes the task that an edit stands for: if it does not say, for the one that ran last.
func (r *run) editTask(t *task, u NodeUpdate, alone bool, ran []string) error {
	name := u.Node
	if name == "" {
		if !alone {
			return fmt.Errorf("an update of several nodes: %w", ErrAmbiguous)
		}
		var err error
		if name, err = r.madeBy(ran); err != nil {
			return err
		}
	}
	n := r.g.byName[name]
	switch {
	case name == Start:
		n = r.g.start
	case name == End:
		n = &node{name: End}
	case n == nil:
		return fmt.Errorf("update as %q: %w", name, ErrUnknownNode)
	}
	t.run, t.node = r, n
	t.finish()
	writes, err := t.sort(u.Update, n.routes)
	t.writes = writes
	return err
}

// madeBy returns the one node that ran last.
func (r *run) madeBy(ran []string) (string, error) {
	if len(ran) == 1 {
		return ran[0], nil
	}
	if r.cur == "" {
		return Start, nil
	}
	return "", fmt.Errorf("the last to run or to be updated were %q: %w", ran, ErrAmbiguous)
}
