package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// An EncryptedStore is a [Store] that encrypts the values of another store; see
// [Encrypted]. It is safe for concurrent use.
//
// It has the methods of every optional interface. A method returns
// [errors.ErrUnsupported] if the inner store does not implement it. CopyThread works with
// any inner store. But for a thread from which checkpoints were removed, the inner store
// must be a [RunDeleter].
type EncryptedStore struct {
	inner Store
	seal  *sealer
	known *knownDigests
}

// Encrypted returns a store that encrypts values with AES-256-GCM and stores them in inner.
// The encrypted values are Control and the data of changes, snapshots and pending writes.
//
// Encrypted does not hide the ids of threads, checkpoints, runs and tasks,
// namespaces, channel names, kinds, steps, sources, versions, metadata, times, the
// order of checkpoints, or the number and size of values.
//
// If the data in the inner store was altered, a call that reads it returns [ErrDecrypt].
// Encrypted detects changes to:
//   - the encrypted values of a checkpoint, their number and order, and the channels and
//     kinds of its changes;
//   - the thread, namespace, id, parent, step, source, run, version and metadata of a
//     checkpoint;
//   - the lineage: no ancestor may be missing, altered or exchanged;
//   - the task, index, channel and kind of each pending write, and the number of writes of
//     one PutWrites.
//
// Encrypted does not detect:
//   - the deletion of a thread, of a checkpoint or of all pending writes of one PutWrites.
//     But a descendant whose lineage lacks the changes of the deleted checkpoint cannot be
//     read;
//   - the restore of an earlier state of a thread or of a pending write, for example from
//     a backup;
//   - a wrong parent of a checkpoint whose real parent was deleted, if the reported
//     parent is older than the snapshot at which the lineage begins;
//   - a wrong time, a wrong order of checkpoints, or checkpoints that are missing from the
//     results of a [Query].
//
// Values from an earlier version of this package remain readable. But Encrypted detects
// only that such a value was altered, or moved to another checkpoint, channel or position.
// It does not detect a change to the step, source, run, version, metadata or parent of such
// a checkpoint, nor a missing ancestor. A checkpoint with old values whose parent has new
// values is an [ErrDecrypt]. [EncryptedStore.Reseal] encrypts old values again. Upgrade all
// processes that share a store together: an earlier version cannot read new values.
//
// An encrypted value is longer by 30 bytes and the length of its key id. Control also grows
// by up to 60 bytes and the length of the parent's id, and a pending write by up to 60 bytes
// and the length of a task's id. Each encrypted value must fit the inner store's limit. Each
// list of changes gets one more change, of channel "$seal".
//
// Encrypted returns [ErrInvalid] if the key ring is invalid. It does not
// retain keys, so the caller may change them afterwards.
func Encrypted(inner Store, keys KeyRing) (*EncryptedStore, error) {
	if inner == nil {
		return nil, fmt.Errorf("checkpoint: encrypted: the inner store is nil: %w", ErrInvalid)
	}
	s, err := newSealer(keys)
	if err != nil {
		return nil, err
	}
	return &EncryptedStore{inner: inner, seal: s, known: &knownDigests{}}, nil
}

// Put implements [Store].
func (e *EncryptedStore) Put(ctx context.Context, c Checkpoint, head string) error {
	if err := c.Check(-1); err != nil {
		return err
	}
	b, err := e.bind(ctx, &c)
	if err != nil {
		return err
	}
	if err := e.inner.Put(ctx, e.seal.checkpoint(c, b), head); err != nil {
		return err
	}
	e.known.add(c.Key, b.digest, c.Parent)
	return nil
}

// bind returns the binding of a new checkpoint. It reads the parent from the inner store
// unless the parent's digest is cached.
func (e *EncryptedStore) bind(ctx context.Context, c *Checkpoint) (*binding, error) {
	b := &binding{digest: digestOf(c), parent: c.Parent, snapshot: c.Snapshot != nil}
	if c.Parent == "" {
		return b, nil
	}
	k := Key{Thread: c.Thread, Namespace: c.Namespace, ID: c.Parent}
	if d, ok := e.known.find(k); ok {
		b.parentDigest = &d
		return b, nil
	}
	parent, err := e.inner.Get(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return b, nil // Put of the inner store reports the missing parent
	}
	if err != nil {
		return nil, err
	}
	of, err := e.seal.openControl(&parent)
	if err == nil && of != nil {
		b.parentDigest = &of.digest
	}
	return b, err
}

// PutWrites implements [Store].
func (e *EncryptedStore) PutWrites(ctx context.Context, k Key, writes []Write) error {
	return e.inner.PutWrites(ctx, k, e.seal.writes(k, writes))
}

// Get implements [Store].
func (e *EncryptedStore) Get(ctx context.Context, k Key) (Checkpoint, error) {
	c, err := e.inner.Get(ctx, k)
	if err != nil {
		return Checkpoint{}, err
	}
	if c.Thread != k.Thread || c.Namespace != k.Namespace || k.ID != "" && c.ID != k.ID {
		return Checkpoint{}, altered(k, "the inner store returned %s instead", keyText(c.Key))
	}
	reported := c.Parent
	b, err := e.openListed(ctx, &c)
	if err != nil {
		return Checkpoint{}, err
	}
	if err := e.seal.openValues(&c, b); err != nil {
		return Checkpoint{}, err
	}
	if err := e.seal.openLineage(&c, b); err != nil {
		return Checkpoint{}, err
	}
	if b != nil {
		if err := checkAncestor(&c, b, reported); err != nil {
			return Checkpoint{}, err
		}
		e.known.add(c.Key, b.digest, "")
	}
	return c, nil
}

// List implements [Store].
func (e *EncryptedStore) List(ctx context.Context, q Query) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		for c, err := range e.inner.List(ctx, q) {
			if err == nil {
				_, err = e.openListed(ctx, &c)
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

// openListed decrypts and checks the parts of a checkpoint that List yields. It returns a
// nil binding for a checkpoint of form 1.
func (e *EncryptedStore) openListed(ctx context.Context, c *Checkpoint) (*binding, error) {
	b, err := e.seal.openControl(c)
	if err != nil {
		return nil, err
	}
	if c.Writes, err = e.seal.openWrites(c, b); err != nil {
		return nil, err
	}
	if b == nil {
		return nil, nil
	}
	if !b.time.IsZero() {
		c.Time = b.time
	}
	return b, e.checkParent(ctx, c, b)
}

// checkParent returns an [ErrDecrypt] if the parent of a checkpoint was exchanged. The
// inner store may report an older ancestor, but only after it has removed the parent.
func (e *EncryptedStore) checkParent(ctx context.Context, c *Checkpoint, b *binding) error {
	if c.Parent == b.parent {
		return nil
	}
	exchanged := altered(c.Key, "its parent was altered from %q to %q", b.parent, c.Parent)
	if b.parent == "" {
		return exchanged
	}
	parent, err := e.inner.Get(ctx, Key{Thread: c.Thread, Namespace: c.Namespace, ID: b.parent})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	of, err := e.seal.openControl(&parent)
	if err != nil {
		return err
	}
	if b.parentDigest != nil && (of == nil || of.digest != *b.parentDigest) {
		return nil // the parent was removed, and another checkpoint has its id now
	}
	return exchanged
}
