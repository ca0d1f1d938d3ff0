package sqlitecheckpoint

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// deleteThread removes all that a thread has, and then the thread.
var deleteThread = []struct {
	query string
	args  func(thread int64) []any
}{
	{`DELETE FROM cp_pending WHERE step > ? AND step < ?`, keyRange},
	{`DELETE FROM cp_step WHERE key > ? AND key < ?`, keyRange},
	{`DELETE FROM cp_mark WHERE thread = ?`, threadKey},
	{`DELETE FROM cp_label WHERE origin IN (SELECT key FROM cp_origin WHERE thread = ?)`, threadKey},
	{`DELETE FROM cp_origin WHERE thread = ?`, threadKey},
	{`DELETE FROM cp_namespace WHERE thread = ?`, threadKey},
	{`DELETE FROM cp_thread WHERE key = ?`, threadKey},
}

func keyRange(thread int64) []any { return []any{firstKey(thread), endKey(thread)} }

func threadKey(thread int64) []any { return []any{thread} }

// DeleteThread implements [checkpoint.Store].
func (s *Store) DeleteThread(ctx context.Context, thread string) error {
	if thread == "" {
		return fmt.Errorf("sqlitecheckpoint: delete: empty thread id: %w", checkpoint.ErrInvalid)
	}
	err := s.db.Change(ctx, func(w *sqlitedb.Session) error {
		delete(s.tips, thread)
		key, err := findThread(w, thread)
		if err != nil || key == 0 {
			return err
		}
		return removeThread(w, key)
	})
	if err != nil {
		return s.fail("delete", checkpoint.Key{Thread: thread}, err)
	}
	return nil
}

func removeThread(w *sqlitedb.Session, thread int64) error {
	for _, d := range deleteThread {
		if _, err := w.Exec(d.query, d.args(thread)...); err != nil {
			return err
		}
	}
	return nil
}

// threadsQuery takes the id to list from, and a limit. The newest checkpoint of
// each thread says how many there were.
const threadsQuery = `SELECT t.id, t.created, t.missing, s.key, s.time FROM cp_thread t
	JOIN cp_step s ON s.key = (SELECT max(key) FROM cp_step WHERE key > t.key << 32 AND key < (t.key + 1) << 32)
	WHERE t.id >= ? ORDER BY t.id LIMIT ?`

// ListThreads implements [checkpoint.ThreadLister].
func (s *Store) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		from := prefix
		for {
			page, err := s.threads(ctx, from)
			if err != nil {
				yield(checkpoint.ThreadInfo{}, fmt.Errorf("sqlitecheckpoint: list threads: file %q: %w", s.path, classify(err)))
				return
			}
			for _, t := range page {
				if !strings.HasPrefix(t.ID, prefix) || !yield(t, nil) {
					return
				}
			}
			if len(page) < listPage {
				return
			}
			from = page[len(page)-1].ID + "\x00"
		}
	}
}

// threads returns a page of threads whose ids are not below from.
func (s *Store) threads(ctx context.Context, from string) ([]checkpoint.ThreadInfo, error) {
	var page []checkpoint.ThreadInfo
	err := s.db.Read(ctx, func(q *sqlitedb.Session) error {
		page = page[:0]
		return q.Each(threadsQuery, []any{from, listPage}, func(scan func(...any) error) (bool, error) {
			var t checkpoint.ThreadInfo
			var created, missing, key, updated int64
			err := scan(&t.ID, &created, &missing, &key, &updated)
			t.Checkpoints = int(numberOf(key) - missing)
			t.Created, t.Updated = time.UnixMicro(created), time.UnixMicro(updated)
			page = append(page, t)
			return true, err
		})
	})
	return page, err
}

// copyThread copies what a thread has besides its checkpoints, which copySteps
// copies.
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
	// copySteps takes how far the keys move, twice the thread of the copy, and
	// the first key and the end of what is copied.
	copySteps = `INSERT INTO cp_step
	(key, namespace, parent, id, step, source, origin, time, whole, control, changes, snapshot, base)
	SELECT s.key + ?,
	CASE s.namespace WHEN 0 THEN 0 ELSE (SELECT b.key FROM cp_namespace a
		JOIN cp_namespace b ON b.thread = ? AND b.name = a.name WHERE a.key = s.namespace) END,
	s.parent, s.id, s.step, s.source,
	(SELECT b.key FROM cp_origin a JOIN cp_origin b ON b.thread = ? AND b.digest = a.digest WHERE a.key = s.origin),
	s.time, s.whole, s.control, s.changes, s.snapshot, s.base
	FROM cp_step s WHERE s.key >= ? AND s.key < ? ORDER BY s.key`

	// copyBatch is how many keys are copied at once: SQLite holds them aside.
	copyBatch = 1024

	copyThreadRow = `INSERT INTO cp_thread (id, created, missing) SELECT ?, created, missing FROM cp_thread WHERE key = ?`
)

// CopyThread implements [checkpoint.ThreadCopier]. The copy keeps the times of its
// source.
func (s *Store) CopyThread(ctx context.Context, from, to string) error {
	if from == "" || to == "" {
		return fmt.Errorf("sqlitecheckpoint: copy of thread %q to %q: empty thread id: %w", from, to, checkpoint.ErrInvalid)
	}
	err := s.db.Change(ctx, func(w *sqlitedb.Session) error { return copyRows(ctx, w, from, to) })
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
	target, err := w.Insert(copyThreadRow, to, source)
	if err != nil {
		return err
	}
	for _, c := range copyThread {
		if _, err := w.Exec(c.query, c.args(target, source)...); err != nil {
			return err
		}
	}
	newest, err := newestOfThread(w, source)
	if err != nil {
		return err
	}
	for key := firstKey(source); key <= newest.key; key += copyBatch {
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
