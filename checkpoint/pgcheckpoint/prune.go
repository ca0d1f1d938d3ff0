package pgcheckpoint

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

const (
	// pruneBatch is the maximum number of checkpoints that one transaction of Prune
	// removes, so that writers of the thread do not wait for long.
	pruneBatch = 1000
	// prunePage is the number of threads that one query selects.
	prunePage = 500
)

// Prune implements [checkpoint.Pruner]. It works in the order in which the threads were
// created, in transactions that remove at most a thousand checkpoints. So no lock is held for
// long, and another call continues after an interruption. A checkpoint or a thread with a tag
// is kept. Ages are measured by the clock of the database.
//
// A thread whose stored values cannot be read keeps its checkpoints, unless DeleteIdle deletes it. Prune continues with the
// other threads. At the end it returns a [*checkpoint.ThreadError] for each such thread, joined with
// [errors.Join]. Each is [checkpoint.ErrCorrupt] or [checkpoint.ErrFormat].
//
// Any number of processes may prune concurrently. When all threads are pruned, a thread
// that is being written to at that moment is skipped. A later call prunes it.
func (s *Store) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	r := pruning{store: s, policy: &p}
	err := r.all(ctx)
	if err == nil && p.Threads == nil {
		err = s.dropEmptyThreads(ctx)
	}
	if err != nil {
		r.damaged = append(r.damaged, s.fail("prune", checkpoint.Key{Thread: r.at}, err))
	}
	return r.done.Checkpoints, errors.Join(r.damaged...)
}

// A pruning is a call of Prune.
type pruning struct {
	store   *Store
	policy  *checkpoint.PrunePolicy
	done    checkpoint.PruneProgress
	at      string  // the thread that is being pruned, for errors
	damaged []error // an error for each damaged thread
}

func (r *pruning) all(ctx context.Context) error {
	if r.policy.DeleteIdle > 0 {
		if err := r.each(ctx, selection{ofIdle, r.policy.DeleteIdle, r.policy.KeepPending}, r.deleteIdle); err != nil {
			return err
		}
	}
	if r.policy.OnlyDeletes() {
		return nil
	}
	return r.each(ctx, selection{ofPrunable, r.policy.KeepFor, int64(max(r.policy.KeepLast, 1))}, r.prune)
}

// A pruned is a thread that the policy may prune or delete.
type pruned struct {
	key   int64
	id    string
	steps int
}

const (
	// prunedQuery has the parameters tenant, the key to list after, the last key, the names of
	// the threads or null for all, a limit, and an age in seconds.
	prunedQuery = `SELECT t.key, t.id, t.steps FROM weft.cp_thread t
	WHERE t.tenant = $1::text AND t.key > $2::bigint AND t.key <= $3::bigint AND t.steps > 0
	AND ($4::text[] IS NULL OR t.id = ANY ($4::text[])) AND %s ORDER BY t.key LIMIT $5::int`

	// ofIdle has one more parameter, whether to keep threads with pending writes.
	ofIdle = `coalesce(t.at, t.created) <= clock_timestamp() - make_interval(secs => $6::float8)
	AND NOT ($7::boolean AND weft.cp_waits(t.key))`

	// ofPrunable has one more parameter, the number of checkpoints to keep. It skips a thread
	// that has at most this number of checkpoints, all in the root namespace.
	ofPrunable = `t.created <= clock_timestamp() - make_interval(secs => $6::float8)
	AND (t.steps > $7::bigint OR EXISTS (SELECT FROM weft.cp_space v WHERE v.thread = t.key))`

	// lastKeyQuery has one parameter, an age in seconds.
	lastKeyQuery = `SELECT weft.cp_last_key(clock_timestamp() - make_interval(secs => $1::float8))`
)

// A selection selects threads to prune.
type selection struct {
	condition string
	age       time.Duration
	argument  any // of the condition
}

// each calls fn for pages of the threads of a selection, oldest first.
func (r *pruning) each(ctx context.Context, sel selection, fn func(context.Context, []pruned) error) error {
	s := r.store
	last, names, err := r.bounds(ctx, sel.age)
	if err != nil {
		return err
	}
	text := s.sql(fmt.Sprintf(prunedQuery, sel.condition))
	for after, more := int64(0), true; more; {
		var page []pruned
		args := []any{s.tenant, after, last, names, prunePage, sel.age.Seconds(), sel.argument}
		err := s.retry(ctx, maintenanceTimeout, func(t try) error {
			page = page[:0]
			return s.link.send(ctx, t.limit, text, args, func(rows pgx.Rows) error {
				var one pruned
				err := rows.Scan(&one.key, &one.id, &one.steps)
				page = append(page, one)
				return err
			})
		})
		if err != nil || len(page) == 0 {
			return err
		}
		if err := fn(ctx, page); err != nil {
			return err
		}
		after, more = page[len(page)-1].key, len(page) == prunePage
	}
	return nil
}

// bounds returns the key of the last thread that can be old enough, and the names of the threads of
// the policy.
func (r *pruning) bounds(ctx context.Context, age time.Duration) (last int64, names []string, err error) {
	if r.policy.Threads == nil {
		err = r.store.query(ctx, lastKeyQuery, []any{age.Seconds()}, func(rows pgx.Rows) error { return rows.Scan(&last) })
		return last, nil, err
	}
	names = []string{}
	for _, name := range r.policy.Threads {
		if storable(name) {
			names = append(names, name)
		}
	}
	return math.MaxInt64, names, nil
}

// progress calls Progress of the policy.
func (r *pruning) progress() {
	if r.policy.Progress != nil {
		r.policy.Progress(r.done)
	}
}

// prune removes the old checkpoints of threads. It prunes several threads in one transaction if they
// have at most pruneBatch checkpoints in all.
func (r *pruning) prune(ctx context.Context, page []pruned) error {
	for len(page) > 0 {
		n, steps := 0, 0
		for n < len(page) && (n == 0 || steps+page[n].steps <= pruneBatch) {
			steps += page[n].steps
			n++
		}
		if err := r.pruneSome(ctx, page[:n]); err != nil {
			return err
		}
		page = page[n:]
	}
	r.progress()
	return nil
}

// pruneSome removes the old checkpoints of threads. It prunes them one by one if one of them is
// damaged. If the policy names the threads, it waits for threads that another transaction has locked.
func (r *pruning) pruneSome(ctx context.Context, threads []pruned) error {
	keys := make([]int64, len(threads))
	for i := range threads {
		keys[i] = threads[i].key
	}
	some := &removal{lock: skipKeys, threads: keys, batch: pruneBatch, read: r.markOld(r.policy)}
	n, err := r.store.remove(ctx, some)
	r.done.Checkpoints += n
	damaged := unreadable(err)
	if err != nil && !damaged {
		return err
	}
	lock := lockThread
	if r.policy.Threads == nil {
		lock = skipThread
	}
	for _, t := range threads {
		if damaged || r.policy.Threads != nil && !slices.Contains(some.locked, t.key) {
			if _, err := r.pruneThread(ctx, t.id, lock, r.markOld(r.policy)); err != nil {
				return err
			}
		}
	}
	return nil
}

// markOld returns a function that marks the checkpoints that the policy does not keep.
func (r *pruning) markOld(p *checkpoint.PrunePolicy) marking {
	return func(ctx context.Context, tx *link, keys []int64, nodes []node) error {
		markExpired(nodes, p)
		return r.store.markEndedCalls(ctx, tx, keys, nodes)
	}
}

// unreadable reports whether an error is about the stored values of a thread.
func unreadable(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrFormat)
}

// pruneThread removes the checkpoints of a thread that the function marks. It returns false if
// the thread is damaged.
func (r *pruning) pruneThread(ctx context.Context, thread, lock string, mark marking) (bool, error) {
	r.at = thread
	n, err := r.store.remove(ctx, &removal{lock: lock, threads: thread, batch: pruneBatch, read: mark})
	r.done.Checkpoints += n
	if unreadable(err) {
		r.damaged = append(r.damaged, &checkpoint.ThreadError{Thread: thread, Err: r.store.fail("prune", checkpoint.Key{Thread: thread}, err)})
		r.at = ""
		return false, nil
	}
	if err == nil {
		r.at = ""
	}
	return err == nil, err
}

// deleteIdle deletes threads, in transactions of at most pruneBatch checkpoints. If a thread has
// more checkpoints, deleteIdle prunes it first.
func (r *pruning) deleteIdle(ctx context.Context, page []pruned) error {
	for len(page) > 0 {
		keys, steps := []int64{}, 0
		for len(page) > 0 && (steps == 0 || steps+page[0].steps <= pruneBatch) {
			if page[0].steps > pruneBatch {
				intact, err := r.pruneThread(ctx, page[0].id, skipThread, r.markIdle)
				if err != nil {
					return err
				}
				if !intact {
					page = page[1:]
					continue
				}
				page[0].steps = pruneBatch
			}
			keys, steps, page = append(keys, page[0].key), steps+page[0].steps, page[1:]
		}
		if err := r.deleteKeys(ctx, keys); err != nil {
			return err
		}
		r.progress()
	}
	return nil
}

// idleQuery has the parameters key of the thread, age in seconds, and whether to keep a thread
// that waits.
const idleQuery = `SELECT weft.cp_idle(t, $2::float8, $3::boolean) FROM weft.cp_thread t WHERE t.key = $1::bigint`

// markIdle marks checkpoints of a thread if the policy deletes the thread: those that Prune removes
// by a policy that only has KeepPending. The others are deleted with the thread.
func (r *pruning) markIdle(ctx context.Context, tx *link, keys []int64, nodes []node) error {
	idle := false
	args := []any{keys[0], r.policy.DeleteIdle.Seconds(), r.policy.KeepPending}
	err := tx.query(ctx, r.store.sql(idleQuery), args, func(rows pgx.Rows) error { return rows.Scan(&idle) })
	if err != nil || !idle {
		return err
	}
	return r.markOld(&checkpoint.PrunePolicy{KeepPending: r.policy.KeepPending})(ctx, tx, keys, nodes)
}

// deleteIdleQuery has the parameters keys, age in seconds, and whether to keep threads with
// pending writes.
const deleteIdleQuery = `SELECT threads, checkpoints FROM weft.cp_delete_idle($1::bigint[], $2::float8, $3::boolean)`

func (r *pruning) deleteKeys(ctx context.Context, keys []int64) error {
	var threads, checkpoints int
	args := []any{keys, r.policy.DeleteIdle.Seconds(), r.policy.KeepPending}
	err := r.store.queryWithin(ctx, maintenanceTimeout, deleteIdleQuery, args, func(rows pgx.Rows) error {
		return rows.Scan(&threads, &checkpoints)
	})
	r.done.Threads += threads
	r.done.Checkpoints += checkpoints
	return err
}

// dropEmptyQuery has the parameter tenant. It deletes threads that have no checkpoint and
// whose lease has expired. A run that dies before it stores a checkpoint leaves such a thread.
const dropEmptyQuery = `DELETE FROM weft.cp_thread WHERE key IN (SELECT key FROM weft.cp_thread
	WHERE tenant = $1::text AND steps = 0 AND until < clock_timestamp() FOR UPDATE SKIP LOCKED)`

func (s *Store) dropEmptyThreads(ctx context.Context) error {
	return s.queryWithin(ctx, maintenanceTimeout, dropEmptyQuery, []any{s.tenant}, ignoreRow)
}
