package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// An EncryptedStore is what [Encrypted] returns. It is safe for use by any
// number of goroutines.
//
// It has the methods of every optional power, and those that its inner store
// lacks return [errors.ErrUnsupported]. CopyThread works over any store, except
// that a thread of which checkpoints were removed needs a [RunDeleter].
type EncryptedStore struct {
	inner Store
	seal  *sealer
}

// Encrypted returns a store that keeps its values in the inner one encrypted
// with AES-256-GCM: Control, and the data of changes, snapshots and pending
// writes. What can be read without a key are ids, namespaces, channel names,
// kinds, tasks, steps, sources, versions, metadata, times and the sizes of values.
//
// Every value is bound to its thread, namespace, checkpoint and channel, and to
// its position or its task and index. One that was altered, moved elsewhere, or
// encrypted by a key that is not in the ring is an [ErrDecrypt], which names the
// place and the id of the key. Whole checkpoints or writes that someone removes
// from the inner store, or puts back, are not noticed.
//
// An encrypted value is longer by 30 bytes and the id of its key, and has to
// fit the inner store's limit. Encrypted returns [ErrInvalid] when the ring
// can not be used. The ring may be changed afterwards without effect.
func Encrypted(inner Store, keys KeyRing) (*EncryptedStore, error) {
	if inner == nil {
		return nil, fmt.Errorf("checkpoint: encrypted: no store: %w", ErrInvalid)
	}
	s, err := newSealer(keys)
	if err != nil {
		return nil, err
	}
	return &EncryptedStore{inner: inner, seal: s}, nil
}

// Put implements [Store].
func (e *EncryptedStore) Put(ctx context.Context, c Checkpoint, head string) error {
	if err := c.Check(-1); err != nil {
		return err
	}
	c.Control = e.seal.seal(c.Control, &place{key: c.Key, what: sealedControl})
	c.Changes, _ = e.seal.changes(c.Key, sealedChange, c.Changes, e.seal.sealed)
	c.Snapshot, _ = e.seal.changes(c.Key, sealedSnapshot, c.Snapshot, e.seal.sealed)
	return e.inner.Put(ctx, c, head)
}

// PutWrites implements [Store].
func (e *EncryptedStore) PutWrites(ctx context.Context, k Key, writes []Write) error {
	sealed, _ := e.seal.writes(k, writes, e.seal.sealed)
	return e.inner.PutWrites(ctx, k, sealed)
}

// Get implements [Store].
func (e *EncryptedStore) Get(ctx context.Context, k Key) (Checkpoint, error) {
	c, err := e.inner.Get(ctx, k)
	if err != nil {
		return Checkpoint{}, err
	}
	if err := e.open(&c); err != nil {
		return Checkpoint{}, err
	}
	if err := e.openValues(&c); err != nil {
		return Checkpoint{}, err
	}
	for i := range c.Lineage {
		if err := e.openDelta(&c, &c.Lineage[i]); err != nil {
			return Checkpoint{}, err
		}
	}
	return c, nil
}

// List implements [Store].
func (e *EncryptedStore) List(ctx context.Context, q Query) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		for c, err := range e.inner.List(ctx, q) {
			if err == nil {
				err = e.open(&c)
			}
			if err != nil {
				yield(Checkpoint{}, err)
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// DeleteThread implements [Store].
func (e *EncryptedStore) DeleteThread(ctx context.Context, thread string) error {
	return e.inner.DeleteThread(ctx, thread)
}

// open decrypts what List yields.
func (e *EncryptedStore) open(c *Checkpoint) (err error) {
	if c.Control, err = e.seal.open(c.Control, &place{key: c.Key, what: sealedControl}); err != nil {
		return err
	}
	c.Writes, err = e.seal.writes(c.Key, c.Writes, e.seal.open)
	return err
}

// openValues decrypts what Get adds to that, except for the lineage.
func (e *EncryptedStore) openValues(c *Checkpoint) (err error) {
	if c.Changes, err = e.seal.changes(c.Key, sealedChange, c.Changes, e.seal.open); err != nil {
		return err
	}
	c.Snapshot, err = e.seal.changes(c.Key, sealedSnapshot, c.Snapshot, e.seal.open)
	return err
}

// openDelta decrypts a part of the lineage of c, whose own values are open.
func (e *EncryptedStore) openDelta(c *Checkpoint, d *Delta) (err error) {
	if d.ID == c.ID && d.Snapshot == (c.Snapshot != nil) {
		d.Changes = c.Changes
		if d.Snapshot {
			d.Changes = c.Snapshot
		}
		return nil
	}
	k := c.Key
	k.ID = d.ID
	what := byte(sealedChange)
	if d.Snapshot {
		what = sealedSnapshot
	}
	d.Changes, err = e.seal.changes(k, what, d.Changes, e.seal.open)
	return err
}

// Lease implements [Leaser].
func (e *EncryptedStore) Lease(ctx context.Context, thread string) (Lease, error) {
	leaser, ok := e.inner.(Leaser)
	if !ok {
		return nil, e.lacks("lease")
	}
	lease, err := leaser.Lease(ctx, thread)
	if err != nil {
		return nil, err
	}
	return &encryptedLease{EncryptedStore: &EncryptedStore{inner: lease, seal: e.seal}, lease: lease}, nil
}

type encryptedLease struct {
	*EncryptedStore
	lease Lease
}

// Release implements [Lease].
func (l *encryptedLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

// ListThreads implements [ThreadLister].
func (e *EncryptedStore) ListThreads(ctx context.Context, prefix string) iter.Seq2[ThreadInfo, error] {
	if lister, ok := e.inner.(ThreadLister); ok {
		return lister.ListThreads(ctx, prefix)
	}
	return func(yield func(ThreadInfo, error) bool) {
		yield(ThreadInfo{}, e.lacks("list threads"))
	}
}

// Prune implements [Pruner].
func (e *EncryptedStore) Prune(ctx context.Context, p PrunePolicy) (int, error) {
	if pruner, ok := e.inner.(Pruner); ok {
		return pruner.Prune(ctx, p)
	}
	return 0, e.lacks("prune")
}

// DeleteRuns implements [RunDeleter].
func (e *EncryptedStore) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	if deleter, ok := e.inner.(RunDeleter); ok {
		return deleter.DeleteRuns(ctx, thread, runs...)
	}
	return e.lacks("delete runs")
}

func (e *EncryptedStore) lacks(power string) error {
	return fmt.Errorf("checkpoint: %s: not in %T: %w", power, e.inner, errors.ErrUnsupported)
}
