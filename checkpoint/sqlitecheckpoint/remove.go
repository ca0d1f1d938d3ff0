package sqlitecheckpoint

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

const (
	// removeBatch is the number of checkpoints that one transaction removes, so that
	// other writers do not wait for long. Each transaction reads all steps of the thread.
	// To keep the work linear, a long thread has larger batches, and at most removeShare of
	// them.
	removeBatch = 4096
	removeShare = 8

	// partialBatch is the size of the first batch if the write-ahead log has no room for the
	// whole removal. Each failure divides the size by batchDivisor.
	partialBatch = 512
	batchDivisor = 8
)

// DeleteRuns implements [checkpoint.RunDeleter]. It is one transaction.
func (s *Store) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	if thread == "" {
		return fmt.Errorf("sqlitecheckpoint: delete runs: empty thread id: %w", checkpoint.ErrInvalid)
	}
	if slices.Contains(runs, "") {
		return fmt.Errorf("sqlitecheckpoint: delete runs of thread %q: empty run id: %w", thread, checkpoint.ErrInvalid)
	}
	_, err := s.remove(ctx, thread, math.MaxInt, func(w *sqlitedb.Session, steps []step) error {
		return s.selectRuns(w, steps, runs)
	})
	if err != nil {
		return s.fail("delete runs", checkpoint.Key{Thread: thread}, err)
	}
	return nil
}

// A step holds the columns of a checkpoint that decide whether and how it is
// removed.
type step struct {
	key, parent       int64 // parent is 0 for none
	namespace, origin int64
	time              int64
	whole, pending    bool
	remove            bool
}

// A selector sets the field remove of the steps to remove. It gets all steps of a thread, in
// the order of their keys.
type selector func(w *sqlitedb.Session, steps []step) error

func selectAll(_ *sqlitedb.Session, steps []step) error {
	for i := range steps {
		steps[i].remove = true
	}
	return nil
}

// selectRuns selects the checkpoints that the runs wrote.
func (s *Store) selectRuns(w *sqlitedb.Session, steps []step, runs []string) error {
	for i := range steps {
		o, err := s.names.origin(w, threadOf(steps[i].key), steps[i].origin)
		if err != nil {
			return err
		}
		steps[i].remove = slices.Contains(runs, o.run)
	}
	return nil
}

// A removal holds the steps of a thread between two transactions of the removal. It is
// valid as long as no other call writes to the database.
type removal struct {
	steps                  []step
	otherWrites, ownWrites int64
}

// writesQuery returns two numbers. The first changes with every write of another
// connection, the second with every write of this connection.
const writesQuery = `SELECT data_version, total_changes() FROM pragma_data_version`

// remove removes the selected checkpoints of a thread, newest first, and the thread if no
// checkpoint is left. It returns the number of removed checkpoints.
func (s *Store) remove(ctx context.Context, thread string, batch int, sel selector) (int, error) {
	removed := 0
	var r removal
	for {
		n, more := 0, false
		err := s.db.Change(ctx, func(w *sqlitedb.Session) (err error) {
			delete(s.latest, thread)
			begin := r
			r = removal{}
			n, more, err = s.removeSome(w, thread, batch, sel, &begin)
			if err == nil && more {
				r = begin
				_, err = w.One(writesQuery, nil, &r.otherWrites, &r.ownWrites)
			}
			return err
		})
		switch {
		case sqlitedb.FaultOf(err) == sqlitedb.Full && batch > 1:
			r, batch = removal{}, max(min(batch/batchDivisor, partialBatch), 1)
			continue
		case err != nil:
			return removed, err
		}
		if removed += n; !more {
			return removed, nil
		}
	}
}

// removeSome removes a batch of the selected checkpoints and returns its size n. The result
// more reports whether other selected checkpoints remain. r.steps then has the remaining steps.
func (s *Store) removeSome(w *sqlitedb.Session, thread string, batch int, sel selector, r *removal) (n int, more bool, err error) {
	key, err := findThread(w, thread)
	if err != nil || key == 0 {
		return 0, false, err
	}
	var now removal
	if _, err := w.One(writesQuery, nil, &now.otherWrites, &now.ownWrites); err != nil {
		return 0, false, err
	}
	if r.steps == nil || now.otherWrites != r.otherWrites || now.ownWrites != r.ownWrites {
		if r.steps, err = s.selectSteps(w, key, sel); err != nil {
			return 0, false, err
		}
	}
	if batch == removeBatch {
		batch = max(batch, len(r.steps)/removeShare)
	}
	first := len(r.steps) // of the batch
	for i := range slices.Backward(r.steps) {
		if !r.steps[i].remove {
			continue
		}
		if more = n == batch; more {
			break
		}
		n, first = n+1, i
	}
	switch n {
	case 0:
		return 0, false, nil
	case len(r.steps):
		return n, more, removeThread(w, key)
	}
	if err := removeSteps(w, r.steps[first:]); err != nil {
		return 0, false, err
	}
	kept := slices.DeleteFunc(r.steps[first:], func(n step) bool { return n.remove })
	r.steps = r.steps[:first+len(kept)]
	newest := r.steps[len(r.steps)-1].key
	return n, more, removeUnused(w, key, numberOf(newest)-int64(len(r.steps)))
}

// selectSteps reads the steps of a thread and selects the steps to remove. It gives the kept
// checkpoints their new parents at once, so that the other transactions need not change
// them.
func (s *Store) selectSteps(w *sqlitedb.Session, thread int64, sel selector) ([]step, error) {
	steps, err := readSteps(w, thread)
	if err != nil {
		return nil, err
	}
	if err := sel(w, steps); err != nil {
		return nil, err
	}
	return steps, s.reparent(w, steps)
}

const (
	stepsQuery = `SELECT s.key, s.parent, s.namespace, s.origin, s.time, s.whole = 1,
	EXISTS (SELECT 1 FROM cp_pending WHERE step = s.key)
	FROM cp_step s WHERE s.key > ? AND s.key < ? ORDER BY s.key`

	deleteSteps        = `DELETE FROM cp_step WHERE key BETWEEN ? AND ?`
	deletePendingRange = `DELETE FROM cp_pending WHERE step BETWEEN ? AND ?`
)

// deleteUnused has the statements that delete the rows to which no checkpoint of a thread
// refers.
var deleteUnused = []struct {
	query string
	args  func(thread int64) []any
}{
	{deleteEntries, threadKey},
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

func readSteps(w *sqlitedb.Session, thread int64) ([]step, error) {
	var steps []step
	err := w.Each(stepsQuery, keyRange(thread), func(scan func(...any) error) (bool, error) {
		var n step
		var back int64
		err := scan(&n.key, &back, &n.namespace, &n.origin, &n.time, &n.whole, &n.pending)
		n.parent = parentKey(n.key, back)
		steps = append(steps, n)
		return true, err
	})
	return steps, err
}

// removeSteps removes the selected steps.
func removeSteps(w *sqlitedb.Session, steps []step) error {
	for i := 0; i < len(steps); i++ {
		if !steps[i].remove {
			continue
		}
		first := i
		for i+1 < len(steps) && steps[i+1].remove {
			i++
		}
		for _, query := range []string{deletePendingRange, deleteSteps} {
			if _, err := w.Exec(query, steps[first].key, steps[i].key); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeUnused removes the rows to which no checkpoint refers. It stores missing, the count of
// unused numbers below the number of the newest checkpoint.
func removeUnused(w *sqlitedb.Session, thread, missing int64) error {
	for _, d := range deleteUnused {
		if _, err := w.Exec(d.query, d.args(thread)...); err != nil {
			return err
		}
	}
	t, err := readThread(w, thread)
	if err != nil {
		return err
	}
	t.missing = missing
	_, err = w.Exec(updateThread, t.missing, t.seal(), thread)
	return err
}
