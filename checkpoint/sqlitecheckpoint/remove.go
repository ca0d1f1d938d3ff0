package sqlitecheckpoint

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// removeBatch is how many checkpoints go in one transaction, so that other
// writers get their turn.
const removeBatch = 4096

// Prune implements [checkpoint.Pruner]. It removes the oldest first, some
// thousand in each transaction, and what it removed is gone even when it
// returns an error. The space is used again; the file does not shrink.
func (s *Store) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	removed := 0
	prune := func(thread string) error {
		n, err := s.remove(ctx, thread, removeBatch, func(_ *sqlitedb.Session, nodes []node) error {
			outdated(nodes, &p, time.Now())
			return nil
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
		if err := prune(t.ID); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// DeleteRuns implements [checkpoint.RunDeleter], in one transaction.
func (s *Store) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	if thread == "" {
		return fmt.Errorf("sqlitecheckpoint: delete runs: empty thread id: %w", checkpoint.ErrInvalid)
	}
	if slices.Contains(runs, "") {
		return fmt.Errorf("sqlitecheckpoint: delete runs of thread %q: empty run id: %w", thread, checkpoint.ErrInvalid)
	}
	_, err := s.remove(ctx, thread, math.MaxInt, func(w *sqlitedb.Session, nodes []node) error { return s.ofRuns(w, nodes, runs) })
	if err != nil {
		return s.fail("delete runs", checkpoint.Key{Thread: thread}, err)
	}
	return nil
}

// A node is what has to be known of a checkpoint to remove others.
type node struct {
	key, parent       int64 // parent is 0 for none
	namespace, origin int64
	time              int64
	whole, pending    bool
	remove            bool
}

// outdated marks what the policy does not keep.
func outdated(nodes []node, p *checkpoint.PrunePolicy, now time.Time) {
	newer := map[int64]int{}
	for i := range slices.Backward(nodes) {
		n := &nodes[i]
		n.remove = !p.Keeps(newer[n.namespace], now.Sub(time.UnixMicro(n.time)), n.pending)
		newer[n.namespace]++
	}
}

// ofRuns marks what the runs have written.
func (s *Store) ofRuns(w *sqlitedb.Session, nodes []node, runs []string) error {
	for i := range nodes {
		o, err := s.names.origin(w, nodes[i].origin)
		if err != nil {
			return err
		}
		nodes[i].remove = slices.Contains(runs, o.run)
	}
	return nil
}

// A marker sets remove in the nodes of a thread.
type marker func(w *sqlitedb.Session, nodes []node) error

// remove removes what mark marks, and the thread when nothing is left of it.
// It returns how many checkpoints went.
func (s *Store) remove(ctx context.Context, thread string, batch int, mark marker) (int, error) {
	removed := 0
	for {
		n, more := 0, false
		err := s.db.Change(ctx, func(w *sqlitedb.Session) (err error) {
			delete(s.tips, thread)
			n, more, err = removeSome(w, thread, batch, mark)
			return err
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
func removeSome(w *sqlitedb.Session, thread string, batch int, mark marker) (n int, more bool, err error) {
	key, err := findThread(w, thread)
	if err != nil || key == 0 {
		return 0, false, err
	}
	nodes, err := readNodes(w, key)
	if err != nil {
		return 0, false, err
	}
	if err := mark(w, nodes); err != nil {
		return 0, false, err
	}
	for i := range nodes {
		switch {
		case !nodes[i].remove:
		case n < batch:
			n++
		default:
			nodes[i].remove, more = false, true
		}
	}
	switch n {
	case 0:
		return 0, false, nil
	case len(nodes):
		return n, more, removeThread(w, key)
	}
	if err := graft(w, nodes); err != nil {
		return 0, false, err
	}
	return n, more, removeNodes(w, key, nodes)
}

const (
	nodesQuery = `SELECT s.key, s.parent, s.namespace, s.origin, s.time, s.whole,
	EXISTS (SELECT 1 FROM cp_pending WHERE step = s.key)
	FROM cp_step s WHERE s.key > ? AND s.key < ? ORDER BY s.key`

	deleteSteps        = `DELETE FROM cp_step WHERE key BETWEEN ? AND ?`
	deletePendingRange = `DELETE FROM cp_pending WHERE step BETWEEN ? AND ?`

	countMissing = `UPDATE cp_thread SET missing = ? WHERE key = ?`
)

// deleteUnused removes what no checkpoint of a thread needs any more.
var deleteUnused = []struct {
	query string
	args  func(thread int64) []any
}{
	{deleteMarks, threadKey},
	{`DELETE FROM cp_label WHERE origin IN (SELECT key FROM cp_origin WHERE thread = ?
	AND key NOT IN (SELECT origin FROM cp_step WHERE key > ? AND key < ?))`, threadAndRange},
	{`DELETE FROM cp_origin WHERE thread = ?
	AND key NOT IN (SELECT origin FROM cp_step WHERE key > ? AND key < ?)`, threadAndRange},
	{`DELETE FROM cp_namespace WHERE thread = ?
	AND key NOT IN (SELECT namespace FROM cp_step WHERE key > ? AND key < ?)`, threadAndRange},
}

func threadAndRange(thread int64) []any {
	return append(threadKey(thread), keyRange(thread)...)
}

func readNodes(w *sqlitedb.Session, thread int64) ([]node, error) {
	var nodes []node
	err := w.Each(nodesQuery, keyRange(thread), func(scan func(...any) error) (bool, error) {
		var n node
		var back int64
		err := scan(&n.key, &back, &n.namespace, &n.origin, &n.time, &n.whole, &n.pending)
		n.parent = parentKey(n.key, back)
		nodes = append(nodes, n)
		return true, err
	})
	return nodes, err
}

func removeNodes(w *sqlitedb.Session, thread int64, nodes []node) error {
	left, newest := 0, int64(0)
	for i := 0; i < len(nodes); i++ {
		if !nodes[i].remove {
			left++
			newest = nodes[i].key
			continue
		}
		first := i
		for i+1 < len(nodes) && nodes[i+1].remove {
			i++
		}
		for _, query := range []string{deletePendingRange, deleteSteps} {
			if _, err := w.Exec(query, nodes[first].key, nodes[i].key); err != nil {
				return err
			}
		}
	}
	for _, d := range deleteUnused {
		if _, err := w.Exec(d.query, d.args(thread)...); err != nil {
			return err
		}
	}
	_, err := w.Exec(countMissing, numberOf(newest)-int64(left), thread)
	return err
}
