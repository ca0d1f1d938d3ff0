package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"
)

// CopyThread implements [ThreadCopier]. It reads the thread and encrypts it again with the
// active key, because every value is bound to its thread. It loads the whole thread into
// memory. Readers can see the copy before it is complete. If CopyThread fails, it deletes
// the copy. Each new checkpoint has the time at which it was copied.
func (e *EncryptedStore) CopyThread(ctx context.Context, from, to string) error {
	if from == "" || to == "" {
		return fmt.Errorf("checkpoint: copy of thread %q to %q: empty thread id: %w", from, to, ErrInvalid)
	}
	c := newThreadCopy(e, from, to)
	if err := c.read(ctx); err != nil {
		return fmt.Errorf("checkpoint: copy of thread %q: %w", from, err)
	}
	for _, err := range e.inner.List(ctx, Query{Thread: to, AllNamespaces: true, Limit: 1}) {
		if err != nil {
			return fmt.Errorf("checkpoint: copy of thread %q: %w", from, err)
		}
		return fmt.Errorf("checkpoint: copy of thread %q: thread %q exists; delete it or choose another id: %w", from, to, ErrConflict)
	}
	if err := c.write(ctx); err != nil {
		return fmt.Errorf("checkpoint: copy of thread %q to %q: %w", from, to, err)
	}
	return nil
}

// A threadCopy encrypts the checkpoints of a thread again and puts them into another
// thread of the inner store.
type threadCopy struct {
	store    *EncryptedStore
	from, to string
	// boundTo is the id of the thread for which the copy is encrypted. If the copy replaces
	// the original, boundTo is the id of the original, and the copy keeps the original times.
	boundTo string
	steps   []Checkpoint        // newest first
	parts   map[string]copyPart // by checkpoint id, including removed checkpoints
	done    map[string]digest
	heads   map[string]string // by namespace
	// standIn is the run id of temporary checkpoints that replace removed ones. Deleting
	// this run moves the changes of the temporary checkpoints to their descendants.
	standIn string
}

// A copyPart is one checkpoint's part of a lineage.
type copyPart struct {
	delta Delta
	prev  string // the id of the part before it; empty if the lineage begins here
}

func newThreadCopy(e *EncryptedStore, from, to string) *threadCopy {
	return &threadCopy{
		store: e, from: from, to: to, boundTo: to,
		parts: map[string]copyPart{}, done: map[string]digest{}, heads: map[string]string{},
	}
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

// readValues adds the values that List omits. It takes the changes of a checkpoint from a
// lineage that was read before. If the lineage has a snapshot instead of the changes, or if
// there is no such lineage, readValues reads the checkpoint.
func (c *threadCopy) readValues(ctx context.Context, step *Checkpoint) error {
	if part, ok := c.parts[step.ID]; ok && !part.delta.Snapshot {
		step.Changes = part.delta.Changes
		return nil
	}
	got, err := c.store.Get(ctx, step.Key)
	if err != nil {
		return err
	}
	step.Changes, step.Snapshot = got.Changes, got.Snapshot
	prev := ""
	for _, d := range got.Lineage {
		known, ok := c.parts[d.ID]
		if ok && known.prev != prev {
			return fmt.Errorf("checkpoint id %q is used by two checkpoints, one of which was removed: %w", d.ID, errors.ErrUnsupported)
		}
		c.parts[d.ID] = copyPart{delta: d, prev: prev}
		prev = d.ID
	}
	return nil
}

// write writes the copy. It deletes the incomplete copy if it fails.
func (c *threadCopy) write(ctx context.Context) error {
	err := c.writeSteps(ctx)
	if err == nil && c.standIn != "" {
		err = c.store.DeleteRuns(ctx, c.to, c.standIn)
	}
	if err != nil && len(c.done) > 0 {
		// Clean up even if ctx is done.
		_ = c.store.inner.DeleteThread(context.WithoutCancel(ctx), c.to)
	}
	return err
}

func (c *threadCopy) writeSteps(ctx context.Context) error {
	for _, step := range slices.Backward(c.steps) {
		if err := c.writeRemoved(ctx, &step); err != nil {
			return err
		}
		if prev := c.parts[step.ID].prev; prev != "" {
			step.Parent = prev
		}
		if err := c.put(ctx, step); err != nil {
			return err
		}
		if len(step.Writes) == 0 {
			continue
		}
		step.Thread = c.boundTo
		writes := c.store.seal.writes(step.Key, step.Writes)
		step.Thread = c.to
		if err := c.store.inner.PutWrites(ctx, step.Key, writes); err != nil {
			return err
		}
	}
	return nil
}

// writeRemoved puts temporary checkpoints for the removed ancestors of a step, oldest first.
func (c *threadCopy) writeRemoved(ctx context.Context, step *Checkpoint) error {
	var removed []copyPart
	for id := c.parts[step.ID].prev; id != ""; id = c.parts[id].prev {
		if _, ok := c.done[id]; ok {
			break
		}
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

// put encrypts a checkpoint for the thread c.boundTo and stores it in the thread c.to.
func (c *threadCopy) put(ctx context.Context, step Checkpoint) error {
	step.Thread = c.boundTo
	b := &binding{digest: digestOf(&step), parent: step.Parent, snapshot: step.Snapshot != nil}
	if d, ok := c.done[step.Parent]; ok {
		b.parentDigest = &d
	}
	if c.boundTo == c.from {
		b.time = step.Time
	}
	sealed := c.store.seal.checkpoint(step, b)
	sealed.Thread, sealed.Time, sealed.Lineage, sealed.Writes = c.to, time.Time{}, nil, nil
	if err := c.store.inner.Put(ctx, sealed, c.heads[step.Namespace]); err != nil {
		return err
	}
	c.done[step.ID] = b.digest
	c.heads[step.Namespace] = step.ID
	return nil
}
