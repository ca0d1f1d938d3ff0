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

// markedQuery has the argument step to list after, and the limit. It selects the checkpoints
// that are the newest of the root namespace of their thread, and may have marks.
const markedQuery = `SELECT DISTINCT m.step, t.id, s.id, s.time, s.namespace = 0 AND NOT EXISTS (
		SELECT 1 FROM cp_step n WHERE n.key > m.step AND n.key < ((m.step >> 32) + 1) << 32 AND n.namespace = 0)
	FROM cp_pending m INDEXED BY cp_pending_marks
	JOIN cp_step s ON s.key = m.step JOIN cp_thread t ON t.key = m.step >> 32
	WHERE m.number < 0 AND m.step > ? ORDER BY m.step LIMIT ?`

// ListStatus implements [checkpoint.StatusLister]. It reads the pending writes of all threads that
// wait or have failed, and sorts the entries in memory.
func (s *Store) ListStatus(ctx context.Context, q checkpoint.StatusQuery) iter.Seq2[checkpoint.ThreadStatus, error] {
	return func(yield func(checkpoint.ThreadStatus, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.ThreadStatus{}, err)
			return
		}
		found, err := s.statuses(ctx, &q)
		if err != nil {
			yield(checkpoint.ThreadStatus{}, fmt.Errorf("sqlitecheckpoint: list by status: file %q: %w", s.path, classify(err)))
			return
		}
		for _, status := range found {
			if !yield(status, nil) {
				return
			}
		}
	}
}

// statuses returns what a query selects, in order. It keeps no more than the limit of the query
// in memory, and a page.
func (s *Store) statuses(ctx context.Context, q *checkpoint.StatusQuery) ([]checkpoint.ThreadStatus, error) {
	var found []checkpoint.ThreadStatus
	for after, more := int64(0), true; more; {
		var page []checkpoint.ThreadStatus
		var last int64
		err := s.db.Read(ctx, func(r *sqlitedb.Session) (err error) {
			page, last, more, err = marked(r, q, after)
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

// marked returns what a query selects of the next page of checkpoints, the last of these, and
// whether there may be more of them.
func marked(r *sqlitedb.Session, q *checkpoint.StatusQuery, after int64) (found []checkpoint.ThreadStatus, last int64, more bool, err error) {
	var steps []markedStep
	err = r.Each(markedQuery, []any{after, listPage}, func(scan func(...any) error) (bool, error) {
		var m markedStep
		err := scan(&m.key, &m.thread, &m.id, &m.time, &m.newest)
		steps, last = append(steps, m), m.key
		return true, err
	})
	for _, m := range steps {
		if err != nil {
			break
		}
		if !m.newest {
			continue
		}
		var id string
		var writes []checkpoint.Write
		if id, err = unpackID(m.id); err == nil {
			writes, err = pendingWrites(r, m.key, id)
		}
		marks, _ := checkpoint.Marks(writes)
		found = append(found, q.Select(m.thread, time.UnixMicro(m.time), marks)...)
	}
	return found, last, len(steps) == listPage, err
}
