package memcheckpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// Prune implements [checkpoint.Pruner].
func (s *Store) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	threads := p.Threads
	if threads == nil {
		threads = s.threadIDs("")
	}
	removed := 0
	for _, id := range threads {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		if t := s.lock(id, false); t != nil {
			t.markExpired(&p)
			removed += s.sweep(id, t)
			t.mu.Unlock()
		}
	}
	return removed, ctx.Err()
}

// DeleteRuns implements [checkpoint.RunDeleter].
func (s *Store) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if thread == "" {
		return fmt.Errorf("memcheckpoint: delete runs: empty thread id: %w", checkpoint.ErrInvalid)
	}
	if slices.Contains(runs, "") {
		return fmt.Errorf("memcheckpoint: delete runs of thread %q: empty run id: %w", thread, checkpoint.ErrInvalid)
	}
	s.remove(thread, func(r *record) bool { return slices.Contains(runs, r.label.run) })
	return nil
}

// remove removes the records of a thread for which drop returns true.
func (s *Store) remove(thread string, drop func(*record) bool) {
	if t := s.lock(thread, false); t != nil {
		for _, r := range t.records {
			r.removed = drop(r)
		}
		s.sweep(thread, t)
		t.mu.Unlock()
	}
}

// markExpired marks the records that the policy does not keep as removed.
func (t *thread) markExpired(p *checkpoint.PrunePolicy) {
	now := time.Now()
	newer := map[string]int{} // by namespace
	for _, r := range slices.Backward(t.records) {
		namespace := r.label.namespace
		age := now.Sub(time.Unix(0, r.time))
		r.removed = !p.Keeps(newer[namespace], age, t.pending[r] != nil)
		newer[namespace]++
	}
	resumable := map[string]bool{}
	for namespace := range t.newest {
		resumable[namespace] = t.resumable(namespace)
	}
	for _, r := range t.records {
		r.removed = r.removed || !resumable[r.label.namespace]
	}
}

// resumable reports whether a run can still resume from the checkpoints of a
// namespace. It cannot resume a call of a subgraph when the checkpoint at which
// the call was made is removed, or belongs to a call that cannot be resumed.
func (t *thread) resumable(namespace string) bool {
	for {
		caller, id, ok := checkpoint.CalledAt(namespace)
		if !ok {
			return true
		}
		at := t.find(checkpoint.Key{Namespace: caller, ID: id})
		if id == "" || at == nil || at.removed {
			return false
		}
		namespace = caller
	}
}

// sweep removes the records that are marked as removed, and returns their number.
// Removed records stay in the lineages of the records that were built on them.
func (t *thread) sweep() int {
	for _, r := range t.records {
		// A parent precedes its children in records, so the parent of r.parent is
		// already a kept record.
		if r.parent != nil && r.parent.removed {
			r.parent = r.parent.parent
		}
	}
	records := t.records
	kept := slices.DeleteFunc(slices.Clone(records), func(r *record) bool { return r.removed })
	if len(kept) == len(records) {
		return 0
	}
	t.clear(len(kept))
	for _, r := range kept {
		t.add(r)
	}
	for _, r := range records {
		if r.removed {
			delete(t.pending, r)
			r.parent, r.control = nil, ""
		}
	}
	return len(records) - len(kept)
}
