package sqlitecheckpoint

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// markedQuery has the arguments key to list after, and limit. It selects the checkpoints that may
// have marks. Its last column says whether a checkpoint is the newest of the root namespace.
const markedQuery = `SELECT DISTINCT m.step, t.id, s.id, s.time, s.namespace = 0 AND NOT EXISTS (
		SELECT 1 FROM cp_step n WHERE n.key > m.step AND n.key < ((m.step >> 32) + 1) << 32 AND n.namespace = 0)
	FROM cp_pending m INDEXED BY cp_pending_marks
	JOIN cp_step s ON s.key = m.step JOIN cp_thread t ON t.key = m.step >> 32
	WHERE m.number < 0 AND m.step > ? ORDER BY m.step LIMIT ?`

// ListStatus implements [checkpoint.StatusLister]. It reads the pending writes of all threads that
// wait or have failed, and sorts the entries in memory. If the writes of a thread cannot be read, it
// yields the thread without a node, with [checkpoint.ErrCorrupt] or [checkpoint.ErrFormat].
func (s *Store) ListStatus(ctx context.Context, q checkpoint.StatusQuery) iter.Seq2[checkpoint.ThreadStatus, error] {
	return func(yield func(checkpoint.ThreadStatus, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.ThreadStatus{}, err)
			return
		}
		faults := map[string]error{}
		found, err := s.statuses(ctx, &q, faults)
		if err != nil {
			yield(checkpoint.ThreadStatus{}, s.statusFault(err))
			return
		}
		for _, status := range found {
			var err error
			if fault := faults[status.Thread]; fault != nil && status.Node == "" {
				err = s.statusFault(fault)
			}
			if !yield(status, err) {
				return
			}
		}
	}
}

func (s *Store) statusFault(err error) error {
	return fmt.Errorf("sqlitecheckpoint: list by status: file %q: %w", s.path, classify(err))
}

// statuses returns the entries that a query selects, in the order of ListStatus. For a thread that it
// cannot read, it returns an entry without a node and adds the error to faults. If the query has a
// limit, statuses keeps at most that many entries and one page in memory.
func (s *Store) statuses(ctx context.Context, q *checkpoint.StatusQuery, faults map[string]error) ([]checkpoint.ThreadStatus, error) {
	var found []checkpoint.ThreadStatus
	for after, more := int64(0), true; more; {
		var page []checkpoint.ThreadStatus
		var last int64
		err := s.db.Read(ctx, func(r *sqlitedb.Session) (err error) {
			page, last, more, err = marked(r, q, after, faults)
			return err
		})
		if err != nil {
			return nil, err
		}
		after, found = last, append(found, page...)
		if q.Limit > 0 {
			slices.SortFunc(found, checkpoint.ThreadStatus.Compare)
			found = found[:min(q.Limit, len(found))]
		}
	}
	slices.SortFunc(found, checkpoint.ThreadStatus.Compare)
	return found, nil
}

// A markedStep is a checkpoint that may have marks.
type markedStep struct {
	key, time int64
	thread    string
	id        any
	newest    bool
}

func (m *markedStep) writes(r *sqlitedb.Session) ([]checkpoint.Write, error) {
	id, err := unpackID(m.id)
	if err != nil {
		return nil, err
	}
	return pendingWrites(r, m.key, id)
}

// marked reads the next page of checkpoints that may have marks. It returns the entries that a query
// selects, the key of the last checkpoint of the page, and whether there may be more pages. See
// statuses for faults.
func marked(r *sqlitedb.Session, q *checkpoint.StatusQuery, after int64, faults map[string]error) (found []checkpoint.ThreadStatus, last int64, more bool, err error) {
	var steps []markedStep
	err = r.Each(markedQuery, []any{after, listPage}, func(scan func(...any) error) (bool, error) {
		var m markedStep
		err := scan(&m.key, &m.thread, &m.id, &m.time, &m.newest)
		steps, last = append(steps, m), m.key
		return true, err
	})
	if err != nil {
		return nil, 0, false, err
	}
	for _, m := range steps {
		if !m.newest {
			continue
		}
		writes, err := m.writes(r)
		switch {
		case err == nil:
			marks, _ := checkpoint.Marks(writes)
			found = append(found, q.Select(m.thread, time.UnixMicro(m.time), marks)...)
		case !unreadable(err):
			return nil, 0, false, err
		default:
			faults[m.thread] = fmt.Errorf("thread %q: %w", m.thread, err)
			if s := (checkpoint.ThreadStatus{Thread: m.thread, Status: q.Status}); s.Compare(q.After) > 0 {
				found = append(found, s)
			}
		}
	}
	return found, last, len(steps) == listPage, nil
}
