package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
)

// CopyThread implements [ThreadCopier]. It reads the thread and writes it anew
// with the active key, as a value is bound to its thread. It holds the thread in
// memory, and the copy can be seen while it grows; when it can not be finished
// it is removed. The times are those of the copy.
func (e *EncryptedStore) CopyThread(ctx context.Context, from, to string) error {
	if from == "" || to == "" {
		return fmt.Errorf("checkpoint: copy of thread %q to %q: empty thread id: %w", from, to, ErrInvalid)
	}
	c := &threadCopy{store: e, from: from, to: to, parts: map[string]copyPart{}, done: map[string]bool{}, heads: map[string]string{}}
	if err := c.read(ctx); err != nil {
		return fmt.Errorf("checkpoint: copy of thread %q: %w", from, err)
	}
	for _, err := range e.inner.List(ctx, Query{Thread: to, AllNamespaces: true, Limit: 1}) {
		if err != nil {
			return fmt.Errorf("checkpoint: copy of thread %q: %w", from, err)
		}
		return fmt.Errorf("checkpoint: copy of thread %q: thread %q exists: %w", from, to, ErrConflict)
	}
	if err := c.write(ctx); err != nil {
		if len(c.done) > 0 {
			// What was begun has to go even when ctx is done.
			_ = e.inner.DeleteThread(context.WithoutCancel(ctx), to)
		}
		return fmt.Errorf("checkpoint: copy of thread %q to %q: %w", from, to, err)
	}
	return nil
}

// A threadCopy is a thread on its way to another.
type threadCopy struct {
	store    *EncryptedStore
	from, to string
	steps    []Checkpoint        // newest first
	parts    map[string]copyPart // by the id of the checkpoint, which may be a removed one
	done     map[string]bool
	heads    map[string]string // by namespace
	// standIn is the run of the checkpoints that stand for removed ones while
	// the copy grows. Deleting it leaves their changes to those built on them.
	standIn string
}

// A copyPart is a part of a lineage.
type copyPart struct {
	delta Delta
	prev  string // the part before it, empty if the lineage begins here
}

func (c *threadCopy) read(ctx context.Context) error {
	for step, err := range c.store.List(ctx, Query{Thread: c.from, AllNamespaces: true, Writes: true}) {
		if err != nil {
			return err
		}
		c.steps = append(c.steps, step)
	}
	if len(c.steps) == 0 {
		return ErrNotFound
	}
	for i := range c.steps {
		if err := c.readValues(ctx, &c.steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// readValues fills in what List leaves out. One lineage has the changes of all
// checkpoints on the way, except for those that have a snapshot too.
func (c *threadCopy) readValues(ctx context.Context, step *Checkpoint) error {
	if part, ok := c.parts[step.ID]; ok && !part.delta.Snapshot {
		step.Changes = part.delta.Changes
		return nil
	}
	got, err := c.store.inner.Get(ctx, step.Key)
	if err != nil {
		return err
	}
	if err := c.store.openValues(&got); err != nil {
		return err
	}
	step.Changes, step.Snapshot = got.Changes, got.Snapshot
	prev := ""
	for i := range got.Lineage {
		d := &got.Lineage[i]
		known, ok := c.parts[d.ID]
		switch {
		case !ok:
			if err := c.store.openDelta(&got, d); err != nil {
				return err
			}
			c.parts[d.ID] = copyPart{delta: *d, prev: prev}
		case known.prev != prev:
			return fmt.Errorf("id %q was used again after its checkpoint was removed: %w", d.ID, errors.ErrUnsupported)
		}
		prev = d.ID
	}
	return nil
}

func (c *threadCopy) write(ctx context.Context) error {
	for _, step := range slices.Backward(c.steps) {
		writes := step.Writes
		if err := c.writeRemoved(ctx, &step); err != nil {
			return err
		}
		if prev := c.parts[step.ID].prev; prev != "" {
			step.Parent = prev
		}
		if err := c.put(ctx, step); err != nil {
			return err
		}
		if len(writes) == 0 {
			continue
		}
		step.Thread = c.to
		if err := c.store.PutWrites(ctx, step.Key, writes); err != nil {
			return err
		}
	}
	if c.standIn == "" {
		return nil
	}
	return c.store.DeleteRuns(ctx, c.to, c.standIn)
}

// writeRemoved puts what stands for the removed ancestors of a step, oldest
// first.
func (c *threadCopy) writeRemoved(ctx context.Context, step *Checkpoint) error {
	var removed []copyPart
	for id := c.parts[step.ID].prev; id != "" && !c.done[id]; id = c.parts[id].prev {
		removed = append(removed, c.parts[id])
	}
	for _, part := range slices.Backward(removed) {
		if c.standIn == "" {
			c.standIn = "copy-" + rand.Text()
		}
		d := part.delta
		stand := Checkpoint{
			Key:    Key{Thread: c.from, Namespace: step.Namespace, ID: d.ID},
			Parent: part.prev, Source: d.Source, Run: c.standIn,
		}
		if part.prev == "" {
			stand.Parent = step.Parent
		}
		if d.Snapshot {
			stand.Snapshot = d.Changes
		} else {
			stand.Changes = d.Changes
		}
		if err := c.put(ctx, stand); err != nil {
			return err
		}
	}
	return nil
}

func (c *threadCopy) put(ctx context.Context, step Checkpoint) error {
	step.Thread = c.to
	if err := c.store.Put(ctx, step, c.heads[step.Namespace]); err != nil {
		return err
	}
	c.done[step.ID] = true
	c.heads[step.Namespace] = step.ID
	return nil
}
