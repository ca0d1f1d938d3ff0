package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// commitStep applies the writes of a superstep to the state, in task order.
// It then computes the next frontier, and stores it with the changes in a checkpoint.
func (r *run) commitStep(tasks []Task) error {
	tx := r.transaction()
	for i := range tasks {
		if err := statecore.Apply(tx, i, tasks[i].writes); err != nil {
			return r.refuse(tasks, i, err)
		}
	}
	view, err := tx.Finish(true)
	if err != nil {
		return r.refuse(tasks, 0, err)
	}
	if r.branchesReadCommit() && !tasks[0].restored() {
		if err := tasks[0].branch(view); err != nil {
			return tasks[0].fail(err)
		}
	}
	before := r.front
	r.route(tasks)
	if err := r.commit(tx, view, tasks, &r.front, checkpoint.Loop); err != nil {
		r.front = before
		return err
	}
	r.view = view
	return nil
}

// refuse returns the error of a superstep whose writes cannot be applied.
// The error names the task with the refused write.
// With a thread, refuse also voids the stored results of several tasks,
// so that the next run does not use them.
func (r *run) refuse(tasks []Task, at int, err error) error {
	t := &tasks[at]
	if errors.Is(err, statecore.ErrConcurrentWrite) {
		channel := channelOf(err)
		for j := range at {
			if other := &tasks[j]; other.wrote(channel) {
				err = fmt.Errorf("%w (the other is %q); use a channel that merges, or LastWins", err, other.ID())
				break
			}
		}
	}
	err = t.fail(err)
	if r.log != nil && !r.single {
		err = errors.Join(err, r.void(tasks))
	}
	return err
}

// void stores that the results of a superstep do not count, because its writes were refused.
func (r *run) void(tasks []Task) error {
	below := map[string]int{}
	for i := range tasks {
		t := &tasks[i]
		below[t.ID()] = t.nextIndex
		if t.restored() { // nextIndex is above the stored result
			continue
		}
		writes, err := t.result()
		if err != nil {
			return err
		}
		below[t.ID()] += len(writes)
	}
	w, err := encodeMark("", mark.Void, indexVoid, below)
	if err != nil {
		return err
	}
	return r.log.write(r.storeCtx, r.key(), []checkpoint.Write{w})
}

// transaction returns a transaction on the current state.
// It uses the memory of the last transaction again.
func (r *run) transaction() *statecore.Tx {
	r.tx.Begin(r.plan.Schema, r.view)
	return &r.tx
}

// route replaces the frontier by the frontier after the superstep. In a subgraph, it
// also collects the writes of the tasks for the parent.
func (r *run) route(tasks []Task) {
	f := &r.front
	for i := range tasks {
		t := &tasks[i]
		f.persistent = remember(f.persistent, t.extrasOrNone().persistent)
		r.collectParentWrites(t)
	}
	if len(tasks) > 1 || !f.advance(r.plan, &tasks[0]) {
		done := make([]routed, len(tasks))
		for i := range tasks {
			done[i] = tasks[i].routed()
		}
		*f = nextFrontier(r.plan, f, done)
	}
	f.left = slices.ContainsFunc(r.toParent, leavesSubgraph)
}

// advance changes f to the frontier after t, the only task of a superstep. It does nothing and
// returns false if nextFrontier is needed: for several targets, sends, joins or waiting nodes.
// It changes f in place, because a copy takes longer than all other work of the call.
func (f *frontier) advance(p *Plan, t *Task) bool {
	if len(t.node.next)+len(t.targets) > 1 || len(p.Joins)+len(f.waiting)+len(t.extrasOrNone().sends) > 0 {
		return false
	}
	f.next, f.sends, f.missing, f.by = nil, nil, nil, t.node.names
	for _, to := range t.node.next {
		f.next = to.self
	}
	for _, to := range t.targets {
		f.next = to.self
	}
	return true
}

// commit stores a new checkpoint for a superstep, an input, a fork or an update.
// A run without a thread stores nothing; it only checks the changes with Tx.Check.
func (r *run) commit(tx *statecore.Tx, view state.View, tasks []Task, front *frontier, source checkpoint.Source) error {
	if r.log == nil {
		if tx != nil {
			return r.errorOfWriter(tasks, tx.Check())
		}
		return nil
	}
	c := r.newCheckpoint(source)
	var err error
	if c.Changes, err = r.changes(tx, tasks); err != nil {
		return r.errorOfWriter(tasks, err)
	}
	if c.Control, err = r.plan.encodeControl(r.buffer.control[:0], front, r.controlOrigin()); err != nil {
		return err
	}
	if err := r.addSnapshot(c, view); err != nil {
		return err
	}
	if err := r.log.put(r.storeCtx, c, r.head); err != nil {
		return r.failCallers(err)
	}
	r.head = c.ID
	r.buffer.keep(c, r.log.mode)
	r.setCurrent(c, time.Now())
	r.hasPending, r.editChanges = false, nil
	r.touched.Store(false)
	if r.parent == nil || source != checkpoint.Input {
		r.emitCheckpointed()
	}
	return nil
}

// newCheckpoint returns a checkpoint without changes, whose parent is the current checkpoint.
func (r *run) newCheckpoint(source checkpoint.Source) *checkpoint.Checkpoint {
	c := r.buffer.checkpoint
	if c == nil {
		c = &checkpoint.Checkpoint{
			Key: checkpoint.Key{Thread: r.thread, Namespace: r.ns},
			Run: r.id, Version: r.Version, Metadata: r.Metadata,
		}
	}
	c.Parent, c.Step, c.Source, c.Snapshot, c.Settles = r.checkpoint, r.step, source, nil, r.hasPending || r.touched.Load()
	return c
}

// A commitBuffer holds the memory of a stored checkpoint, which later commits use again.
// Async does not use it, because its writer still needs a checkpoint after put has returned.
type commitBuffer struct {
	checkpoint *checkpoint.Checkpoint
	changes    []checkpoint.Change
	data       []byte // the encoded values of the changes
	control    []byte
	emit       statecore.Emit // a function that appends a change to changes
}

// keep keeps the memory of the stored checkpoint c. Under Async it keeps nothing.
func (b *commitBuffer) keep(c *checkpoint.Checkpoint, mode Durability) {
	if mode != Async {
		b.checkpoint, b.changes, b.control = c, c.Changes, c.Control
	} else {
		*b = commitBuffer{}
	}
}

// append appends the stored form of a transaction's changes to b.changes.
func (b *commitBuffer) append(tx *statecore.Tx) (err error) {
	if b.emit == nil {
		b.emit = func(channel string, k statecore.Kind, data []byte) {
			b.changes = append(b.changes, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
		}
	}
	b.data, err = tx.AppendChanges(b.data[:0], b.emit)
	return err
}

// errorOfWriter returns err as the error of the task that wrote to the channel in err.
// If no task did, it returns err as the error of the first task.
func (r *run) errorOfWriter(tasks []Task, err error) error {
	if err == nil || len(tasks) == 0 {
		return err
	}
	channel := channelOf(err)
	for i := range tasks {
		if tasks[i].wrote(channel) {
			return tasks[i].fail(err)
		}
	}
	return tasks[0].fail(err)
}

// setCurrent makes c the current checkpoint of the run.
// The argument storedAt is the time at which c was stored.
func (r *run) setCurrent(c *checkpoint.Checkpoint, storedAt time.Time) {
	r.checkpoint = c.ID
	r.stored = Info{
		Thread: c.Thread, Namespace: c.Namespace, ID: c.ID, Parent: c.Parent, Step: c.Step, Source: c.Source,
		Run: c.Run, Version: c.Version, Time: storedAt, Metadata: c.Metadata,
	}
}

// emitCheckpointed emits the event of the current checkpoint.
// Under Exit it does nothing, because the checkpoint is stored at the end of the run.
func (r *run) emitCheckpointed() {
	if r.events == nil || r.log == nil || r.log.mode == Exit {
		return
	}
	r.emitDetail(Checkpointed, EventDetail{ID: r.stored.ID, Parent: r.stored.Parent})
}

// controlOrigin returns the origin to store in a checkpoint; nil in a subgraph.
func (r *run) controlOrigin() *string {
	if r.parent != nil {
		return nil
	}
	return r.origin
}

// changes returns the stored form of the changes for the next checkpoint.
// These are the edits before the superstep, the changes of the superstep,
// and in a subgraph the writes for the parent.
func (r *run) changes(tx *statecore.Tx, tasks []Task) ([]checkpoint.Change, error) {
	r.buffer.changes = append(r.buffer.changes[:0], r.editChanges...)
	if tx == nil {
		return r.buffer.changes, nil
	}
	err := r.buffer.append(tx)
	list := r.buffer.changes
	if err != nil || r.parent == nil {
		return list, err
	}
	for i := range tasks {
		if list, err = r.appendParentWrites(list, &tasks[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// appendChanges appends the stored form of a transaction's changes to list.
func appendChanges(list []checkpoint.Change, tx *statecore.Tx) ([]checkpoint.Change, error) {
	err := tx.Changes(func(channel string, k statecore.Kind, data []byte) {
		list = append(list, checkpoint.Change{Channel: channel, Kind: uint8(k), Data: data})
	})
	return list, err
}

// amend applies writes of the caller to the state of the run.
// The next commit stores their changes.
func (r *run) amend(writes state.Update) error {
	if len(writes) == 0 {
		return nil
	}
	tx := r.plan.Schema.Begin(r.view)
	if err := statecore.Apply(tx, 0, writes); err != nil {
		return err
	}
	view, err := tx.Finish(false)
	if err != nil {
		return err
	}
	r.view = view
	if r.log == nil {
		return tx.Check()
	}
	list, err := appendChanges(r.editChanges, tx)
	r.editChanges = list
	return err
}
