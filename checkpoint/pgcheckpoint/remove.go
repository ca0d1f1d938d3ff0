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

const unlimitedBatch = math.MaxInt

// DeleteRuns implements [checkpoint.RunDeleter], in one transaction.
func (s *Store) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	k := checkpoint.Key{Thread: thread}
	err := checkKey(k)
	if err == nil && slices.Contains(runs, "") {
		err = fmt.Errorf("empty run id: %w", checkpoint.ErrInvalid)
	}
	if err == nil {
		_, err = s.remove(ctx, &removal{lock: lockThread, threads: thread, batch: unlimitedBatch, status: true, mark: func(nodes []node) {
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

// A node holds the columns of a checkpoint that decide whether it is removed, and how its
// removal changes the lineages of other checkpoints.
type node struct {
	thread                    int64 // the key of the thread
	seq, parent, space, epoch int32
	run                       string
	age                       time.Duration
	size                      int64 // bytes of changes, snapshot and base
	whole, pending, tagged    bool
	remove                    bool
}

// A place is the number of a checkpoint, or the key of a namespace, of a thread.
type place struct {
	thread int64
	number int32
}

// markExpired marks the checkpoints that the policy does not keep.
func markExpired(nodes []node, p *checkpoint.PrunePolicy) {
	newer := map[place]int{} // the number of newer checkpoints, by namespace
	for i := range slices.Backward(nodes) {
		n := &nodes[i]
		space := place{n.thread, n.space}
		n.remove = !n.tagged && !p.Keeps(newer[space], n.age, n.pending)
		newer[space]++
	}
}

// A removal selects the checkpoints of threads to remove.
type removal struct {
	// lock is the statement that locks the threads. Its parameters are the tenant and the field threads.
	lock    string
	threads any
	locked  []int64 // the keys of the threads that the last selectNodes locked

	batch int                // maximum number of checkpoints in one transaction
	mark  func(nodes []node) // sets the field remove of the nodes to remove
	// status is set if the newest checkpoint may be removed, which changes the thread's status.
	status bool
	// read, when set, is called instead of mark. It can query the database.
	read marking
}

// A marking sets the field remove of the nodes to remove. The argument keys has the keys of the locked threads.
type marking func(ctx context.Context, tx *link, keys []int64, nodes []node) error

const (
	// lockThread and skipThread have the parameters tenant and thread. skipThread skips a thread
	// that another transaction has locked.
	lockThread = `SELECT key FROM weft.cp_thread WHERE tenant = $1::text AND id = $2::text FOR UPDATE`
	skipThread = lockThread + ` SKIP LOCKED`

	// skipKeys has the parameters tenant and keys of threads. It waits for no other transaction, so
	// that a transaction that has locked several threads never takes part in a deadlock.
	skipKeys = `SELECT key FROM weft.cp_thread WHERE tenant = $1::text AND key = ANY ($2::bigint[])
	FOR UPDATE SKIP LOCKED`

	// nodesQuery has one parameter, the keys of threads.
	nodesQuery = `SELECT s.thread, s.seq, s.parent, s.space, s.epoch, o.run,
	(extract(epoch FROM clock_timestamp() - s.time) * 1000000)::bigint,
	octet_length(s.changes) + coalesce(octet_length(s.snapshot), 0)::bigint + coalesce(octet_length(s.base), 0), s.whole,
	EXISTS (SELECT FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq),
	EXISTS (SELECT FROM weft.cp_tag g WHERE g.thread = s.thread AND g.seq = s.seq)
	FROM weft.cp_step s JOIN weft.cp_origin o ON o.thread = s.thread AND o.key = s.origin
	WHERE s.thread = ANY ($1::bigint[]) ORDER BY s.thread, s.seq`
)

// remove removes the checkpoints that r selects, and each thread that then has no
// checkpoint. It returns the number of removed checkpoints.
func (s *Store) remove(ctx context.Context, r *removal) (int, error) {
	removed := 0
	for {
		n, more := 0, false
		err := s.retry(ctx, maintenanceTimeout, func(t try) error {
			return s.link.transaction(ctx, t.limit, func(ctx context.Context, tx *link) (err error) {
				n, more, err = s.removeSome(ctx, tx, r)
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

// removeSome removes at most r.batch of the selected checkpoints, in the transaction tx. It
// returns their number, and whether more checkpoints are selected. The number of its statements
// does not depend on the number of threads.
func (s *Store) removeSome(ctx context.Context, tx *link, r *removal) (n int, more bool, err error) {
	nodes, err := s.selectNodes(ctx, tx, r)
	if err != nil {
		return 0, false, err
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
	if n == 0 {
		return 0, false, nil
	}
	if nodes, err = s.clear(ctx, tx, nodes); err != nil || len(nodes) == 0 {
		return n, more, err
	}
	if err := s.rebase(ctx, tx, nodes); err != nil {
		return 0, false, err
	}
	if err := s.removeNodes(ctx, tx, nodes); err != nil || !r.status {
		return n, more, err
	}
	for _, key := range r.locked {
		if err := s.resetStatus(ctx, tx, key); err != nil {
			return 0, false, err
		}
	}
	return n, more, nil
}

// selectNodes locks the threads, reads their checkpoints, and marks those that r selects.
func (s *Store) selectNodes(ctx context.Context, tx *link, r *removal) ([]node, error) {
	r.locked = nil
	err := tx.query(ctx, s.sql(r.lock), []any{s.tenant, r.threads}, func(rows pgx.Rows) error {
		var key int64
		err := rows.Scan(&key)
		r.locked = append(r.locked, key)
		return err
	})
	if err != nil || len(r.locked) == 0 {
		return nil, err
	}
	nodes, err := s.readNodes(ctx, tx, r.locked)
	switch {
	case err != nil:
		return nil, err
	case r.read == nil:
		r.mark(nodes)
		return nodes, nil
	}
	return nodes, r.read(ctx, tx, r.locked, nodes)
}

func (s *Store) readNodes(ctx context.Context, tx *link, keys []int64) ([]node, error) {
	var nodes []node
	err := tx.query(ctx, s.sql(nodesQuery), []any{keys}, func(rows pgx.Rows) error {
		var n node
		var age int64
		err := rows.Scan(&n.thread, &n.seq, &n.parent, &n.space, &n.epoch, &n.run, &age, &n.size, &n.whole, &n.pending, &n.tagged)
		n.age = time.Duration(age) * time.Microsecond
		nodes = append(nodes, n)
		return err
	})
	return nodes, err
}

const (
	// clearQuery has one parameter, the keys of threads.
	clearQuery = `SELECT weft.cp_clear(key) FROM unnest($1::bigint[]) AS u (key)`

	// deleteStepsQuery has the parameters threads and numbers of checkpoints.
	deleteStepsQuery = `WITH u AS MATERIALIZED (SELECT * FROM unnest($1::bigint[], $2::int[]) AS u (thread, seq)),
	w AS (DELETE FROM weft.cp_write w USING u WHERE w.thread = u.thread AND w.seq = u.seq),
	g AS (DELETE FROM weft.cp_tag g USING u WHERE g.thread = u.thread AND g.seq = u.seq),
	s AS (DELETE FROM weft.cp_step s USING u WHERE s.thread = u.thread AND s.seq = u.seq RETURNING s.thread)
	UPDATE weft.cp_thread t SET seq = seq + 1, head = NULL, steps = steps - n.count
	FROM (SELECT thread, count(*)::int AS count FROM s GROUP BY thread) n WHERE t.key = n.thread`

	// deleteUnusedQuery has one parameter, the keys of threads. It deletes the rows of runs and
	// namespaces to which no checkpoint of their thread refers.
	deleteUnusedQuery = `WITH v AS (DELETE FROM weft.cp_space v WHERE v.thread = ANY ($1::bigint[]) AND NOT EXISTS
	(SELECT FROM weft.cp_step s WHERE s.thread = v.thread AND s.space = v.key AND s.space <> 0))
	DELETE FROM weft.cp_origin o WHERE o.thread = ANY ($1::bigint[]) AND NOT EXISTS
	(SELECT FROM weft.cp_step s WHERE s.thread = ANY ($1::bigint[]) AND s.thread = o.thread AND s.origin = o.key)`
)

// clear removes each thread whose checkpoints are all marked. It returns the nodes of the other
// threads that lose a checkpoint.
func (s *Store) clear(ctx context.Context, tx *link, nodes []node) ([]node, error) {
	var gone []int64
	var left []node
	for len(nodes) > 0 {
		kept, marked, n := 0, 0, 0
		for ; n < len(nodes) && nodes[n].thread == nodes[0].thread; n++ {
			if nodes[n].remove {
				marked++
			} else {
				kept++
			}
		}
		switch {
		case kept == 0:
			gone = append(gone, nodes[0].thread)
		case marked > 0:
			left = append(left, nodes[:n]...)
		}
		nodes = nodes[n:]
	}
	if gone == nil {
		return left, nil
	}
	return left, tx.query(ctx, s.sql(clearQuery), []any{gone}, ignoreRow)
}

// removeNodes removes the marked checkpoints. It also increments the column seq of
// cp_thread, so that a lease that is being acquired reads the thread again.
func (s *Store) removeNodes(ctx context.Context, tx *link, nodes []node) error {
	var threads, changed []int64
	var gone []int32
	for _, n := range nodes {
		if !n.remove {
			continue
		}
		threads, gone = append(threads, n.thread), append(gone, n.seq)
		if len(changed) == 0 || changed[len(changed)-1] != n.thread {
			changed = append(changed, n.thread)
		}
	}
	if err := tx.query(ctx, s.sql(deleteStepsQuery), []any{threads, gone}, ignoreRow); err != nil {
		return err
	}
	return tx.query(ctx, s.sql(deleteUnusedQuery), []any{changed}, ignoreRow)
}
