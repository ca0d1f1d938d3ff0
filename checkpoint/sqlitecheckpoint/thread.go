package sqlitecheckpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

const (
	// addThread inserts the row before it can compute the checksum, which covers
	// the key.
	insertThread = `INSERT INTO cp_thread (id, created, missing) VALUES (?, ?, ?)`
	updateThread = `UPDATE cp_thread SET missing = ?, seal = ? WHERE key = ?`
	threadQuery  = `SELECT id, created, missing, seal FROM cp_thread WHERE key = ?`

	// threadsQuery has the arguments least id and limit. The newest checkpoint of each thread
	// gives the time and the number of checkpoints.
	threadsQuery = `SELECT t.key, t.id, t.created, t.missing, t.seal, s.key, s.time FROM cp_thread t
	LEFT JOIN cp_step s ON s.key = (SELECT max(key) FROM cp_step WHERE key > t.key << 32 AND key < (t.key + 1) << 32)
	WHERE t.id >= ? ORDER BY t.id LIMIT ?`
)

// addThread inserts a thread and returns its key.
func addThread(w *sqlitedb.Session, t threadRow) (key int64, err error) {
	if t.key, err = w.Insert(insertThread, t.id, t.created, t.missing); err != nil {
		return 0, err
	}
	_, err = w.Exec(updateThread, t.missing, t.seal(), t.key)
	return t.key, err
}

// readThread reads the row of a thread that exists.
func readThread(q *sqlitedb.Session, key int64) (*threadRow, error) {
	t := &threadRow{key: key}
	var seal sql.NullInt64
	if _, err := q.One(threadQuery, []any{key}, &t.id, &t.created, &t.missing, &seal); err != nil {
		return nil, err
	}
	return t, t.verify(seal)
}

// deleteThread has the statements that remove all rows of a thread.
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

// DeleteThread implements [checkpoint.Store]. It is one transaction, unless a full disk has
// no room for that in the write-ahead log. In this case it removes the newest checkpoints
// first, in several transactions. If it then fails, the thread keeps its oldest checkpoints.
func (s *Store) DeleteThread(ctx context.Context, thread string) error {
	if thread == "" {
		return fmt.Errorf("sqlitecheckpoint: delete: empty thread id: %w", checkpoint.ErrInvalid)
	}
	err := s.db.Change(ctx, func(w *sqlitedb.Session) error {
		delete(s.latest, thread)
		key, err := findThread(w, thread)
		if err != nil || key == 0 {
			return err
		}
		return removeThread(w, key)
	})
	if sqlitedb.FaultOf(err) == sqlitedb.Full {
		_, err = s.remove(ctx, thread, partialBatch, selectAll)
	}
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

// ListThreads implements [checkpoint.ThreadLister]. For a thread whose newest checkpoint is damaged, it
// yields the id alone, with [checkpoint.ErrCorrupt]; the caller may go on with the other threads.
func (s *Store) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		from := prefix
		for {
			page, damaged, err := s.threads(ctx, from)
			for _, t := range page {
				var fault error
				if damaged[t.ID] != nil {
					t, fault = checkpoint.ThreadInfo{ID: t.ID}, s.listFault(damaged[t.ID])
				}
				if !strings.HasPrefix(t.ID, prefix) || !yield(t, fault) {
					return
				}
			}
			if err != nil {
				yield(checkpoint.ThreadInfo{}, s.listFault(err))
				return
			}
			if len(page) < listPage {
				return
			}
			from = page[len(page)-1].ID + "\x00"
		}
	}
}

func (s *Store) listFault(err error) error {
	return fmt.Errorf("sqlitecheckpoint: list threads: file %q: %w", s.path, classify(err))
}

// threads returns a page of threads whose ids are equal to or greater than the argument from, and the
// errors of those whose newest checkpoint is damaged. If it returns an error, it also returns the
// threads before the error.
func (s *Store) threads(ctx context.Context, from string) (page []checkpoint.ThreadInfo, damaged map[string]error, err error) {
	err = s.db.Read(ctx, func(q *sqlitedb.Session) error {
		page, damaged = page[:0], map[string]error{}
		var newestKeys []int64
		err := q.Each(threadsQuery, []any{from, listPage}, func(scan func(...any) error) (bool, error) {
			var t threadRow
			var seal, newest, updated sql.NullInt64
			if err := scan(&t.key, &t.id, &t.created, &t.missing, &seal, &newest, &updated); err != nil {
				return false, err
			}
			if err := t.verify(seal); err != nil {
				return false, err
			}
			if !newest.Valid { // A thread is stored and removed together with its checkpoints.
				return false, fmt.Errorf("thread %q has no checkpoint left: %w", t.id, checkpoint.ErrCorrupt)
			}
			page = append(page, checkpoint.ThreadInfo{
				ID: t.id, Checkpoints: int(numberOf(newest.Int64) - t.missing),
				Created: time.UnixMicro(t.created), Updated: time.UnixMicro(updated.Int64),
			})
			newestKeys = append(newestKeys, newest.Int64)
			return true, nil
		})
		for i, key := range newestKeys {
			id := page[i].ID
			if fault := s.verifyRows(q, id, key-1, key+1); errors.Is(fault, checkpoint.ErrCorrupt) {
				damaged[id] = fmt.Errorf("thread %q: %w", id, fault)
			} else if fault != nil {
				page = page[:i]
				return fmt.Errorf("thread %q: %w", id, fault)
			}
		}
		return err
	})
	return page, damaged, err
}
