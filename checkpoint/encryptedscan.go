package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
)

// needed reports whether the thread has a value with an old key or an old form. It sets
// r.checkpoints to the number of the thread's checkpoints.
func (r *resealing) needed(ctx context.Context) (bool, error) {
	needed, inner := false, r.store.inner
	r.checkpoints = 0
	for c, err := range inner.List(ctx, Query{Thread: r.thread, AllNamespaces: true, Writes: true}) {
		if err != nil {
			return false, err
		}
		r.checkpoints++
		if needed {
			continue
		}
		if needed, err = r.isOutdated(ctx, &c); err != nil {
			return false, err
		}
	}
	return needed, nil
}

// isOutdated reports whether a checkpoint has a value with an old key or an old form. Of
// the values of one Put it checks only Control, because all have the same key and form. It
// also checks the pending writes. If the parent was removed, it checks the lineage too,
// which then includes values of removed ancestors.
func (r *resealing) isOutdated(ctx context.Context, c *Checkpoint) (bool, error) {
	seal := r.store.seal
	if !seal.isCurrent(c.Control) {
		return true, nil
	}
	for i := range c.Writes {
		if !seal.isCurrent(c.Writes[i].Data) {
			return true, nil
		}
	}
	b, err := seal.openControl(c)
	if err != nil || b.parent == c.Parent {
		return false, err
	}
	whole, err := r.store.inner.Get(ctx, c.Key)
	if err != nil {
		return false, err
	}
	for _, d := range whole.Lineage {
		if n := len(d.Changes); n == 0 || !seal.isCurrent(d.Changes[n-1].Data) {
			return true, nil
		}
	}
	return false, nil
}

// isCurrent reports whether a frame has the newest form and the active key.
func (s *sealer) isCurrent(frame []byte) bool {
	form, id, _, err := parseSeal(frame)
	return err == nil && form == sealBound && id == s.active
}

// fingerprint returns a hash of the thread. The hash changes when a checkpoint or a pending
// write is added, replaced or removed.
func (r *resealing) fingerprint(ctx context.Context) (sum [sha256.Size]byte, err error) {
	h := contentHash{Hash: sha256.New()}
	for c, err := range r.store.inner.List(ctx, Query{Thread: r.thread, AllNamespaces: true, Writes: true}) {
		if err != nil {
			return sum, err
		}
		h.buffer = appendText(appendText(h.buffer, c.ID), c.Parent)
		h.add(c.Control)
		h.buffer = binary.AppendUvarint(h.buffer, uint64(len(c.Writes)))
		for i := range c.Writes {
			h.buffer = appendNextWrite(h.buffer, &c.Writes[i])
			h.add(c.Writes[i].Data)
		}
	}
	h.flush()
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// ids returns the ids of the checkpoints of a thread of the inner store. The thread may be
// a temporary one.
func (r *resealing) ids(ctx context.Context, thread string) ([]string, error) {
	var ids []string
	for c, err := range r.store.inner.List(ctx, Query{Thread: thread, AllNamespaces: true}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, c.ID)
	}
	return ids, nil
}
