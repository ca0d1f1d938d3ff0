package sqlitecheckpoint

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// Prune implements [checkpoint.Pruner]. It removes the newest of the outdated checkpoints
// first, a few thousand in each transaction. If it returns an error, some checkpoints may
// be removed already. SQLite reuses their space, but the file does not shrink.
//
// A thread whose stored values cannot be read keeps its checkpoints, unless DeleteIdle deletes it. Prune continues with the
// other threads. At the end it returns a [*checkpoint.ThreadError] for each such thread, joined with
// [errors.Join]. Each is [checkpoint.ErrCorrupt] or [checkpoint.ErrFormat].
func (s *Store) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	r := pruning{store: s, policy: &p}
	err := r.threads(ctx)
	if p.Progress != nil && err == nil {
		p.Progress(r.done)
	}
	return r.done.Checkpoints, errors.Join(append(r.damaged, err)...)
}

// progressEvery is the number of threads after which Prune reports its progress.
const progressEvery = 1000

// A pruning is a call of Prune.
type pruning struct {
	store  *Store
	policy *checkpoint.PrunePolicy
	seen   int
	done   checkpoint.PruneProgress
	// damaged has an error for each thread that cannot be read.
	damaged []error
}

// threads prunes the threads that the policy names, or all of them.
func (r *pruning) threads(ctx context.Context) error {
	for _, thread := range r.policy.Threads {
		if err := r.thread(ctx, thread); err != nil {
			return err
		}
	}
	if r.policy.Threads != nil {
		return nil
	}
	for t, err := range r.store.ListThreads(ctx, "") {
		switch {
		case err != nil && t.ID != "":
			r.damaged = append(r.damaged, &checkpoint.ThreadError{Thread: t.ID, Err: err})
			continue
		case err == nil:
			err = r.thread(ctx, t.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *pruning) thread(ctx context.Context, thread string) error {
	deleted, n, err := r.deleteIdle(ctx, thread)
	if err == nil && !deleted && !r.policy.OnlyDeletes() {
		n, err = r.store.remove(ctx, thread, removeBatch, func(w *sqlitedb.Session, steps []step) error {
			return r.store.selectOutdated(w, steps, r.policy)
		})
	}
	r.done.Checkpoints += n
	if deleted {
		r.done.Threads++
	}
	if err != nil {
		err = r.store.fail("prune", checkpoint.Key{Thread: thread}, err)
		if !unreadable(err) {
			return err
		}
		r.damaged = append(r.damaged, &checkpoint.ThreadError{Thread: thread, Err: err})
	}
	if r.seen++; r.policy.Progress != nil && r.seen%progressEvery == 0 {
		r.policy.Progress(r.done)
	}
	return nil
}

// deleteIdle deletes a thread if the policy deletes it and no run holds it. The result deleted
// reports whether it was deleted. deleteIdle takes the lease of the thread only if the thread is
// idle, because no run can begin while the lease is held.
func (r *pruning) deleteIdle(ctx context.Context, thread string) (deleted bool, n int, err error) {
	if r.policy.DeleteIdle <= 0 {
		return false, 0, nil
	}
	if idle, err := r.idle(ctx, thread); err != nil || !idle {
		return false, 0, err
	}
	l, err := r.store.Lease(ctx, thread)
	if errors.Is(err, checkpoint.ErrConflict) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	n, err = r.store.remove(ctx, thread, math.MaxInt, func(_ *sqlitedb.Session, steps []step) error {
		deleted = r.deletes(steps)
		for i := range steps {
			steps[i].remove = deleted
		}
		return nil
	})
	return deleted && n > 0 && err == nil, n, errors.Join(err, l.Release(ctx))
}

// idle reports whether the policy deletes a thread, if no run holds the thread.
func (r *pruning) idle(ctx context.Context, thread string) (idle bool, err error) {
	err = r.store.db.Read(ctx, func(q *sqlitedb.Session) error {
		key, err := findThread(q, thread)
		if err != nil || key == 0 {
			return err
		}
		steps, err := readSteps(q, key)
		idle = r.deletes(steps)
		return err
	})
	return idle, err
}

// deletes reports whether the policy deletes a thread with these steps.
func (r *pruning) deletes(steps []step) bool {
	pending, seen := false, map[int64]bool{}
	for _, s := range slices.Backward(steps) {
		pending = pending || s.pending && !seen[s.namespace]
		seen[s.namespace] = true
	}
	return len(steps) > 0 && r.policy.Deletes(time.Since(time.UnixMicro(steps[len(steps)-1].time)), pending)
}

// selectOutdated selects the checkpoints that the policy does not keep.
func (s *Store) selectOutdated(w *sqlitedb.Session, steps []step, p *checkpoint.PrunePolicy) error {
	now, newer := time.Now(), map[int64]int{}
	for i := range slices.Backward(steps) {
		n := &steps[i]
		n.remove = !p.Keeps(newer[n.namespace], now.Sub(time.UnixMicro(n.time)), n.pending)
		newer[n.namespace]++
	}
	c := callTree{names: &s.names, session: w, steps: steps, ended: map[string]bool{"": false}}
	for i := range steps {
		n := &steps[i]
		if n.remove || n.namespace == 0 {
			continue
		}
		name, err := s.names.namespace(w, threadOf(n.key), n.namespace)
		if err != nil {
			return err
		}
		if n.remove, err = c.hasEnded(name); err != nil {
			return err
		}
	}
	return nil
}

// A callTree finds the subgraph calls that can no longer be resumed, because the checkpoint
// at which they were made is not kept.
type callTree struct {
	names   *names
	session *sqlitedb.Session
	steps   []step
	ended   map[string]bool // by namespace
}

func (c *callTree) hasEnded(namespace string) (bool, error) {
	ended, known := c.ended[namespace]
	if known {
		return ended, nil
	}
	caller, id, ok := checkpoint.CalledAt(namespace)
	if ok {
		kept, err := c.keeps(caller, id)
		if err != nil {
			return false, err
		}
		ended = !kept
		if kept {
			if ended, err = c.hasEnded(caller); err != nil {
				return false, err
			}
		}
	}
	c.ended[namespace] = ended
	return ended, nil
}

// keeps reports whether a checkpoint exists and the policy keeps it.
func (c *callTree) keeps(namespace, id string) (bool, error) {
	key, in, err := findID(c.session, threadOf(c.steps[0].key), packID(id))
	if err != nil || key == 0 {
		return false, err
	}
	name, err := c.names.namespace(c.session, threadOf(key), in)
	if err != nil || name != namespace {
		return false, err
	}
	i, found := slices.BinarySearchFunc(c.steps, key, func(s step, key int64) int { return cmp.Compare(s.key, key) })
	return found && !c.steps[i].remove, nil
}
