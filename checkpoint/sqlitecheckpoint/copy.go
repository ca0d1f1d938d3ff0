package sqlitecheckpoint

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// copyThread has the statements that copy the rows of a thread, except those of cp_thread and
// cp_step.
var copyThread = []struct {
	query string
	args  func(to, from int64) []any
}{
	{`INSERT INTO cp_namespace (thread, name) SELECT ?, name FROM cp_namespace WHERE thread = ?`, bothKeys},
	{`INSERT INTO cp_origin (thread, digest, run, version)
	SELECT ?, digest, run, version FROM cp_origin WHERE thread = ?`, bothKeys},
	{`INSERT INTO cp_label (origin, name, value)
	SELECT b.key, l.name, l.value FROM cp_origin a JOIN cp_origin b ON b.thread = ? AND b.digest = a.digest
	JOIN cp_label l ON l.origin = a.key WHERE a.thread = ?`, bothKeys},
	{`INSERT INTO cp_mark (thread, id, key)
	SELECT ?, id, key + ? FROM cp_mark WHERE thread = ?`, func(to, from int64) []any {
		return []any{to, firstKey(to) - firstKey(from), from}
	}},
	{`INSERT INTO cp_pending (step, task, number, data)
	SELECT step + ?, task, number, data FROM cp_pending WHERE step > ? AND step < ?`, func(to, from int64) []any {
		return append([]any{firstKey(to) - firstKey(from)}, keyRange(from)...)
	}},
}

func bothKeys(to, from int64) []any { return []any{to, from} }

const (
	// copySteps copies rows of cp_step. Its arguments are the difference of the keys, the
	// key of the new thread (twice), the first key to copy, and the key after the last.
	copySteps = `INSERT INTO cp_step
	(key, namespace, parent, id, step, source, origin, time, whole, control, changes, snapshot, base, seal)
	SELECT s.key + ?,
	CASE s.namespace WHEN 0 THEN 0 ELSE (SELECT b.key FROM cp_namespace a
		JOIN cp_namespace b ON b.thread = ? AND b.name = a.name WHERE a.key = s.namespace) END,
	s.parent, s.id, s.step, s.source,
	(SELECT b.key FROM cp_origin a JOIN cp_origin b ON b.thread = ? AND b.digest = a.digest WHERE a.key = s.origin),
	s.time, s.whole, s.control, s.changes, s.snapshot, s.base, s.seal
	FROM cp_step s WHERE s.key >= ? AND s.key < ? ORDER BY s.key`

	// copyBatch limits the rows of one statement, because SQLite buffers them.
	copyBatch = 1024
)

// CopyThread implements [checkpoint.ThreadCopier]. The copy has the times of the original.
func (s *Store) CopyThread(ctx context.Context, from, to string) error {
	if from == "" || to == "" {
		return fmt.Errorf("sqlitecheckpoint: copy thread %q to %q: empty thread id: %w", from, to, checkpoint.ErrInvalid)
	}
	err := s.db.Change(ctx, func(w *sqlitedb.Session) error {
		if err := s.db.CheckRoom(w); err != nil {
			return err
		}
		return copyRows(ctx, w, from, to)
	})
	if err != nil {
		return s.fail(fmt.Sprintf("copy to thread %q", to), checkpoint.Key{Thread: from}, err)
	}
	return nil
}

func copyRows(ctx context.Context, w *sqlitedb.Session, from, to string) error {
	source, err := findThread(w, from)
	if err != nil {
		return err
	}
	if source == 0 {
		return checkpoint.ErrNotFound
	}
	exists, err := findThread(w, to)
	if err != nil {
		return err
	}
	if exists != 0 {
		return fmt.Errorf("thread %q exists: %w", to, checkpoint.ErrConflict)
	}
	row, err := readThread(w, source)
	if err != nil {
		return err
	}
	target, err := addThread(w, threadRow{id: to, created: row.created, missing: row.missing})
	if err != nil {
		return err
	}
	for _, c := range copyThread {
		if _, err := w.Exec(c.query, c.args(target, source)...); err != nil {
			return err
		}
	}
	last, err := newestOfThread(w, source)
	if err != nil {
		return err
	}
	for key := firstKey(source); key <= last.key; key += copyBatch {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := w.Exec(copySteps, firstKey(target)-firstKey(source), target, target, key, key+copyBatch)
		if err != nil {
			return err
		}
	}
	return nil
}
