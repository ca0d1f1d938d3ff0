package pgcheckpoint

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

const (
	// pruneBatch is how many checkpoints go in one transaction, so that writers of
	// the thread get their turn.
	pruneBatch = 1000
	maxBatch   = math.MaxInt
)

// Prune implements [checkpoint.Pruner]. It removes the oldest first, up to a thousand
// in each transaction, and what it removed is gone even when it returns an error.
// What has a tag stays. Ages are by the clock of the database.
//
// Any number of processes may prune at once. When all threads are to be pruned, one
// that somebody is writing to at that moment is passed over; a later call finds it.
func (s *Store) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	removed := 0
	prune := func(thread string) error {
		n, err := s.remove(ctx, thread, removal{
			batch: pruneBatch,
			skip:  p.Threads == nil,
			mark:  func(nodes []node) { outdated(nodes, &p) },
		})
		removed += n
		if err != nil {
			return s.fail("prune", checkpoint.Key{Thread: thread}, err)
		}
		return nil
	}
	for _, thread := range p.Threads {
		if err := prune(thread); err != nil {
			return removed, err
		}
	}
	if p.Threads != nil {
		return removed, nil
	}
	for t, err := range s.ListThreads(ctx, "") {
		if err != nil {
			return removed, err
		}
		if t.Checkpoints <= max(p.KeepLast, 1) {
			continue
		}
		if err := prune(t.ID); err != nil {
			return removed, err
		}
	}
	return removed, s.dropIdle(ctx)
}

// dropIdleQuery takes tenant. Such threads were there for a lease whose run has
// ended before it stored anything.
const dropIdleQuery = `DELETE FROM weft.cp_thread WHERE key IN (SELECT key FROM weft.cp_thread
	WHERE tenant = $1::text AND steps = 0 AND until < clock_timestamp() FOR UPDATE SKIP LOCKED)`

func (s *Store) dropIdle(ctx context.Context) error {
	if err := s.query(ctx, dropIdleQuery, []any{s.tenant}, ignoreRow); err != nil {
		return s.fail("prune", checkpoint.Key{}, err)
	}
	return nil
}

// DeleteRuns implements [checkpoint.RunDeleter], in one transaction.
func (s *Store) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	k := checkpoint.Key{Thread: thread}
	err := checkKey(k)
	if err == nil && slices.Contains(runs, "") {
		err = fmt.Errorf("empty run id: %w", checkpoint.ErrInvalid)
	}
	if err == nil {
		_, err = s.remove(ctx, thread, removal{batch: maxBatch, mark: func(nodes []node) {
			for i := range nodes {
				nodes[i].remove = slices.Contains(runs, nodes[i].run)
			}
		}})
	}
	if err != nil {
		return s.fail("delete runs", k, err)
	}
	return nil
}

// A node is what has to be known of a checkpoint to remove others.
type node struct {
	seq, parent, space, epoch int32
	run                       string
	age                       time.Duration
	whole, pending, tagged    bool
	remove                    bool
}

// outdated marks what the policy does not keep.
func outdated(nodes []node, p *checkpoint.PrunePolicy) {
	newer := map[int32]int{}
	for i := range slices.Backward(nodes) {
		n := &nodes[i]
		n.remove = !n.tagged && !p.Keeps(newer[n.space], n.age, n.pending)
		newer[n.space]++
	}
}

// A removal says what goes.
type removal struct {
	batch int
	skip  bool // passes over a thread that is locked
	mark  func(nodes []node)
	// look, when set, is a mark that has to read.
	look func(ctx context.Context, tx *link, key int64, nodes []node) error
}

const (
	// lockThread and skipThread take tenant and thread.
	lockThread = `SELECT key FROM weft.cp_thread WHERE tenant = $1::text AND id = $2::text FOR UPDATE`
	skipThread = lockThread + ` SKIP LOCKED`

	// nodesQuery takes the key of the thread.
	nodesQuery = `SELECT s.seq, s.parent, s.space, s.epoch, o.run,
	(extract(epoch FROM clock_timestamp() - s.time) * 1000000)::bigint, s.whole,
	EXISTS (SELECT FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq),
	EXISTS (SELECT FROM weft.cp_tag g WHERE g.thread = s.thread AND g.seq = s.seq)
	FROM weft.cp_step s JOIN weft.cp_origin o ON o.thread = s.thread AND o.key = s.origin
	WHERE s.thread = $1::bigint ORDER BY s.seq`
)

// remove removes what is marked, and the thread when nothing is left of it. It
// returns how many checkpoints went.
func (s *Store) remove(ctx context.Context, thread string, r removal) (int, error) {
	removed := 0
	for {
		n, more := 0, false
		err := s.retry(ctx, func(bool) error {
			return s.link.transaction(ctx, labour, func(ctx context.Context, tx *link) (err error) {
				n, more, err = s.removeSome(ctx, tx, thread, r)
				return err
			})
		})
		if err != nil {
			return removed, err
		}
		if removed += n; !more {
			return removed, nil
		}
	}
}

// removeSome reports whether more than a batch was marked.
func (s *Store) removeSome(ctx context.Context, tx *link, thread string, r removal) (n int, more bool, err error) {
	var key int64
	lock := lockThread
	if r.skip {
		lock = skipThread
	}
	err = tx.query(ctx, s.sql(lock), []any{s.tenant, thread}, func(rows pgx.Rows) error { return rows.Scan(&key) })
	if err != nil || key == 0 {
		return 0, false, err
	}
	nodes, err := s.readNodes(ctx, tx, key)
	if err != nil {
		return 0, false, err
	}
	if r.look != nil {
		if err := r.look(ctx, tx, key, nodes); err != nil {
			return 0, false, err
		}
	} else {
		r.mark(nodes)
	}
	for i := range nodes {
		switch {
		case !nodes[i].remove:
		case n < r.batch:
			n++
		default:
			nodes[i].remove, more = false, true
		}
	}
	switch n {
	case 0:
		return 0, false, nil
	case len(nodes):
		return n, more, tx.query(ctx, s.sql(clearQuery), []any{key}, ignoreRow)
	}
	if err := s.graft(ctx, tx, key, nodes); err != nil {
		return 0, false, err
	}
	return n, more, s.removeNodes(ctx, tx, key, nodes)
}

func (s *Store) readNodes(ctx context.Context, tx *link, key int64) ([]node, error) {
	var nodes []node
	err := tx.query(ctx, s.sql(nodesQuery), []any{key}, func(rows pgx.Rows) error {
		var n node
		var age int64
		err := rows.Scan(&n.seq, &n.parent, &n.space, &n.epoch, &n.run, &age, &n.whole, &n.pending, &n.tagged)
		n.age = time.Duration(age) * time.Microsecond
		nodes = append(nodes, n)
		return err
	})
	return nodes, err
}

const (
	clearQuery = `SELECT weft.cp_clear($1::bigint)`

	// The first of these takes the key of the thread and numbers; the others what
	// no checkpoint of the thread needs any more.
	deleteStepsQuery = `WITH w AS (DELETE FROM weft.cp_write WHERE thread = $1::bigint AND seq = ANY ($2::int[])),
	g AS (DELETE FROM weft.cp_tag WHERE thread = $1::bigint AND seq = ANY ($2::int[])),
	s AS (DELETE FROM weft.cp_step WHERE thread = $1::bigint AND seq = ANY ($2::int[]) RETURNING 1)
	UPDATE weft.cp_thread SET seq = seq + 1, head = NULL, steps = steps - (SELECT count(*)::int FROM s) WHERE key = $1::bigint`
	deleteOriginsQuery = `DELETE FROM weft.cp_origin o WHERE o.thread = $1::bigint
	AND NOT EXISTS (SELECT FROM weft.cp_step s WHERE s.thread = o.thread AND s.origin = o.key)`
	deleteSpacesQuery = `DELETE FROM weft.cp_space v WHERE v.thread = $1::bigint
	AND NOT EXISTS (SELECT FROM weft.cp_step s WHERE s.thread = v.thread AND s.space = v.key AND s.space <> 0)`
)

// removeNodes also counts the thread up, which tells a lease that is being taken
// that what it has read may be gone.
func (s *Store) removeNodes(ctx context.Context, tx *link, key int64, nodes []node) error {
	var gone []int32
	for _, n := range nodes {
		if n.remove {
			gone = append(gone, n.seq)
		}
	}
	if err := tx.query(ctx, s.sql(deleteStepsQuery), []any{key, gone}, ignoreRow); err != nil {
		return err
	}
	for _, text := range []string{deleteOriginsQuery, deleteSpacesQuery} {
		if err := tx.query(ctx, s.sql(text), []any{key}, ignoreRow); err != nil {
			return err
		}
	}
	return nil
}
