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

// ListThreads implements [checkpoint.ThreadLister]. For a thread that is damaged, or whose newest
// checkpoint cannot be read, it yields the id alone, with [checkpoint.ErrCorrupt] or
// [checkpoint.ErrFormat]. The caller may continue the loop. If the row of the thread is damaged, the
// id may be damaged too.
func (s *Store) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		from := prefix
		for {
			page, err := s.threads(ctx, from)
			for _, t := range page {
				if !t.badRow && !strings.HasPrefix(t.info.ID, prefix) {
					return
				}
				info, err := t.info, error(nil)
				if t.fault != nil {
					info, err = checkpoint.ThreadInfo{ID: t.info.ID}, s.listFault(t.fault)
				}
				if !yield(info, err) {
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
			from = page[len(page)-1].info.ID + "\x00"
		}
	}
}

func (s *Store) listFault(err error) error {
	return fmt.Errorf("sqlitecheckpoint: list threads: file %q: %w", s.path, classify(err))
}

// A listed is a thread of a list.
type listed struct {
	info   checkpoint.ThreadInfo
	fault  error // of a thread that cannot be read
	badRow bool  // the id may be damaged
}

// unreadable reports whether an error is about the stored values of a thread.
func unreadable(err error) bool {
	err = classify(err)
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrFormat)
}

// threads returns a page of threads whose ids are equal to or greater than the argument from. If it
// returns an error, it also returns the threads before the error.
func (s *Store) threads(ctx context.Context, from string) (page []listed, err error) {
	err = s.db.Read(ctx, func(q *sqlitedb.Session) error {
		page = page[:0]
		var newestKeys []int64
		err := q.Each(threadsQuery, []any{from, listPage}, func(scan func(...any) error) (bool, error) {
			var t threadRow
			var seal, newest, updated sql.NullInt64
			if err := scan(&t.key, &t.id, &t.created, &t.missing, &seal, &newest, &updated); err != nil {
				return false, err
			}
			if t.id < from { // the next page would begin before this page
				return false, fmt.Errorf("thread %q is not at its place in the index: %w", t.id, checkpoint.ErrCorrupt)
			}
			fault := t.verify(seal)
			badRow := fault != nil
			if fault == nil && !newest.Valid { // A thread is stored and removed together with its checkpoints.
				fault = fmt.Errorf("thread %q has no checkpoint left: %w", t.id, checkpoint.ErrCorrupt)
			}
			page = append(page, listed{checkpoint.ThreadInfo{
				ID: t.id, Checkpoints: int(numberOf(newest.Int64) - t.missing),
				Created: time.UnixMicro(t.created), Updated: time.UnixMicro(updated.Int64),
			}, fault, badRow})
			newestKeys = append(newestKeys, newest.Int64)
			return true, nil
		})
		for i, key := range newestKeys {
			if page[i].fault != nil {
				continue
			}
			fault := s.verifyRows(q, page[i].info.ID, key-1, key+1)
			if fault == nil {
				continue
			}
			page[i].fault = fmt.Errorf("thread %q: %w", page[i].info.ID, fault)
			if !unreadable(fault) {
				fault, page = page[i].fault, page[:i]
				return fault
			}
		}
		return err
	})
	return page, err
}
