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
		_, err = s.remove(ctx, thread, removal{batch: unlimitedBatch, status: true, mark: func(nodes []node) {
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
	seq, parent, space, epoch int32
	run                       string
	age                       time.Duration
	whole, pending, tagged    bool
	remove                    bool
}

// markExpired marks the checkpoints that the policy does not keep.
func markExpired(nodes []node, p *checkpoint.PrunePolicy) {
	newer := map[int32]int{} // the number of newer checkpoints, by key of the namespace
	for i := range slices.Backward(nodes) {
		n := &nodes[i]
		n.remove = !n.tagged && !p.Keeps(newer[n.space], n.age, n.pending)
		newer[n.space]++
	}
}

// A removal selects the checkpoints of a thread to remove.
type removal struct {
	batch int                // maximum number of checkpoints in one transaction
	skip  bool               // do nothing if another transaction has locked the thread
	mark  func(nodes []node) // sets the field remove of the nodes to remove
	// status is set if the newest checkpoint may be removed, which changes the thread's status.
	status bool
	// read, when set, is called instead of mark. It can query the database.
	read func(ctx context.Context, tx *link, key int64, nodes []node) error
}

const (
	// lockThread and skipThread have the parameters tenant and thread.
	lockThread = `SELECT key FROM weft.cp_thread WHERE tenant = $1::text AND id = $2::text FOR UPDATE`
	skipThread = lockThread + ` SKIP LOCKED`

	// nodesQuery has one parameter, the key of the thread.
	nodesQuery = `SELECT s.seq, s.parent, s.space, s.epoch, o.run,
	(extract(epoch FROM clock_timestamp() - s.time) * 1000000)::bigint, s.whole,
	EXISTS (SELECT FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq),
	EXISTS (SELECT FROM weft.cp_tag g WHERE g.thread = s.thread AND g.seq = s.seq)
	FROM weft.cp_step s JOIN weft.cp_origin o ON o.thread = s.thread AND o.key = s.origin
	WHERE s.thread = $1::bigint ORDER BY s.seq`
)

// remove removes the checkpoints of a thread that r selects, and the thread if no checkpoint
// is left. It returns the number of removed checkpoints.
func (s *Store) remove(ctx context.Context, thread string, r removal) (int, error) {
	removed := 0
	for {
		n, more := 0, false
		err := s.retry(ctx, maintenanceTimeout, func(t try) error {
			return s.link.transaction(ctx, t.limit, func(ctx context.Context, tx *link) (err error) {
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

// removeSome removes at most r.batch of the selected checkpoints, in the transaction tx. It
// returns their number, and whether more checkpoints are selected.
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
	if r.read != nil {
		if err := r.read(ctx, tx, key, nodes); err != nil {
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
	if err := s.rebase(ctx, tx, key, nodes); err != nil {
		return 0, false, err
	}
	if err := s.removeNodes(ctx, tx, key, nodes); err != nil || !r.status {
		return n, more, err
	}
	return n, more, s.resetStatus(ctx, tx, key)
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

	// deleteStepsQuery has two parameters, the key of the thread and the numbers of
	// checkpoints. deleteOriginsQuery and deleteSpacesQuery have the key of the thread, and
	// delete the rows of runs and namespaces to which no checkpoint of the thread refers.
	deleteStepsQuery = `WITH w AS (DELETE FROM weft.cp_write WHERE thread = $1::bigint AND seq = ANY ($2::int[])),
	g AS (DELETE FROM weft.cp_tag WHERE thread = $1::bigint AND seq = ANY ($2::int[])),
	s AS (DELETE FROM weft.cp_step WHERE thread = $1::bigint AND seq = ANY ($2::int[]) RETURNING 1)
	UPDATE weft.cp_thread SET seq = seq + 1, head = NULL, steps = steps - (SELECT count(*)::int FROM s) WHERE key = $1::bigint`
	deleteOriginsQuery = `DELETE FROM weft.cp_origin o WHERE o.thread = $1::bigint
	AND NOT EXISTS (SELECT FROM weft.cp_step s WHERE s.thread = o.thread AND s.origin = o.key)`
	deleteSpacesQuery = `DELETE FROM weft.cp_space v WHERE v.thread = $1::bigint
	AND NOT EXISTS (SELECT FROM weft.cp_step s WHERE s.thread = v.thread AND s.space = v.key AND s.space <> 0)`
)

// removeNodes removes the marked checkpoints. It also increments the column seq of
// cp_thread, so that a lease that is being acquired reads the thread again.
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
