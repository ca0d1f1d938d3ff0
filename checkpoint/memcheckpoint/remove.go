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
	var done checkpoint.PruneProgress
	for i, id := range threads {
		if err := ctx.Err(); err != nil {
			return done.Checkpoints, err
		}
		deleted := false
		done.Checkpoints += s.remove(id, func(t *thread) {
			if deleted = !s.held(id) && t.idle(&p); deleted {
				t.mark(func(*record) bool { return true })
			} else {
				t.markExpired(&p)
			}
		})
		if deleted {
			done.Threads++
		}
		if p.Progress != nil && (i+1)%progressEvery == 0 {
			p.Progress(done)
		}
	}
	if p.Progress != nil {
		p.Progress(done)
	}
	return done.Checkpoints, ctx.Err()
}

// progressEvery is the number of threads after which Prune reports its progress.
const progressEvery = 1000

// held reports whether a run has a lease of the thread.
func (s *Store) held(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.leases[id] != nil
}

// idle reports whether the policy deletes the thread.
func (t *thread) idle(p *checkpoint.PrunePolicy) bool {
	return p.Deletes(time.Since(time.Unix(0, t.updated)), len(t.pending) > 0)
}

// DeleteRuns implements [checkpoint.RunDeleter].
func (s *Store) DeleteRuns(ctx context.Context, id string, runs ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("memcheckpoint: delete runs: empty thread id: %w", checkpoint.ErrInvalid)
	}
	if slices.Contains(runs, "") {
		return fmt.Errorf("memcheckpoint: delete runs of thread %q: empty run id: %w", id, checkpoint.ErrInvalid)
	}
	ofRuns := func(r *record) bool { return slices.Contains(runs, r.label.run) }
	s.remove(id, func(t *thread) { t.mark(ofRuns) })
	return nil
}

// remove removes the records of a thread that mark marks as removed, and the thread
// when no record is left. It returns the number of records that it removed.
func (s *Store) remove(id string, mark func(*thread)) int {
	t := s.lock(id, false)
	if t == nil {
		return 0
	}
	defer t.mu.Unlock()
	mark(t)
	n := t.sweep()
	if len(t.records) == 0 {
		t.deleted = true
		s.mu.Lock()
		delete(s.threads, id)
		s.mu.Unlock()
	}
	return n
}

// mark sets removed for the records for which drop returns true, and clears it for the
// others.
func (t *thread) mark(drop func(*record) bool) {
	for _, r := range t.records {
		r.removed = drop(r)
	}
}

// markExpired sets removed for the records that the policy does not keep.
func (t *thread) markExpired(p *checkpoint.PrunePolicy) {
	now := time.Now()
	newer := map[string]int{} // the number of newer records, by namespace
	for _, r := range slices.Backward(t.records) {
		namespace := r.label.namespace
		age := now.Sub(time.Unix(0, r.time))
		r.removed = !p.Keeps(newer[namespace], age, t.pending[r] != nil)
		newer[namespace]++
	}
	resumable := map[string]bool{}
	for namespace := range newer {
		resumable[namespace] = t.resumable(namespace)
	}
	t.mark(func(r *record) bool { return r.removed || !resumable[r.label.namespace] })
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
		// A parent precedes its children in records, so the loop has already set the parent
		// of r.parent to a kept record or nil.
		if r.parent != nil && r.parent.removed {
			r.parent = r.parent.parent
		}
	}
	records := t.records
	kept := slices.DeleteFunc(slices.Clone(records), func(r *record) bool { return r.removed })
	if len(kept) == len(records) {
		return 0
	}
	t.records, t.byID, t.newest = make([]*record, 0, max(short, len(kept))), nil, nil
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
