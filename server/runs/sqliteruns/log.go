package sqliteruns

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/server/runs"
)

const (
	getLog      = `SELECT key, last, trimmed FROM run_log WHERE thread = ?`
	insertLog   = `INSERT INTO run_log (thread) VALUES (?) RETURNING key`
	growLog     = `UPDATE run_log SET last = last + ?, events = events + ?, bytes = bytes + ? WHERE key = ?`
	shrinkLog   = `UPDATE run_log SET events = events - ?, bytes = bytes - ?, trimmed = max(trimmed, ?) WHERE key = ?`
	insertEvent = `INSERT INTO run_event (log, seq, run, time, head, data) VALUES (?, ?, ?, ?, ?, ?)`
	getEvents   = `SELECT e.seq, e.time, e.head, e.data FROM run_log l JOIN run_event e ON e.log = l.key
	WHERE l.thread = ? AND e.seq > ? ORDER BY e.seq LIMIT ?`

	// cutQuery returns two numbers: of the newest event that is too old, and of the newest event beyond the bounds for
	// the number and the size of events.
	cutQuery = `SELECT coalesce((SELECT max(seq) FROM run_event WHERE log = ?1 AND time < ?2), 0),
	coalesce((SELECT max(seq) FROM (SELECT seq, row_number() OVER newest AS n, sum(coalesce(length(data), 0)) OVER newest AS size
		FROM run_event WHERE log = ?1 AND (SELECT events > ?3 OR bytes > ?4 FROM run_log WHERE key = ?1)
		WINDOW newest AS (ORDER BY seq DESC)) WHERE n > ?3 OR size > ?4), 0)`
	sizeQuery = `SELECT count(*), coalesce(sum(length(data)), 0) FROM run_event WHERE log = ?`
)

// Append implements [runs.Store].
func (s *Store) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	heads := make([][]byte, len(events))
	for i, e := range events {
		e.Data = nil
		var err error
		if heads[i], err = json.Marshal(e); err != nil {
			return s.fail("append", err)
		}
	}
	return s.change(ctx, "append", func(w *sqlitedb.Session) error {
		for i := range replaced {
			if err := replace(w, &replaced[i]); err != nil {
				return err
			}
		}
		if len(events) == 0 {
			return nil
		}
		return appendEvents(w, thread, events, heads)
	})
}

func appendEvents(w *sqlitedb.Session, thread string, events []runs.Event, heads [][]byte) error {
	var log, last, trimmed, size int64
	found, err := w.One(getLog, []any{thread}, &log, &last, &trimmed)
	if err != nil {
		return err
	}
	for i := range events {
		if want := last + int64(i) + 1; events[i].Seq != want {
			return fmt.Errorf("the log of thread %s %w: event %d cannot be number %d", thread, runs.ErrConflict, want, events[i].Seq)
		}
	}
	if !found {
		if _, err := w.One(insertLog, []any{thread}, &log); err != nil {
			return err
		}
	}
	for i := range events {
		e := &events[i]
		size += int64(len(e.Data))
		if _, err := w.Exec(insertEvent, log, e.Seq, e.Run, e.Time.UnixMicro(), heads[i], []byte(e.Data)); err != nil {
			return err
		}
	}
	_, err = w.Exec(growLog, len(events), len(events), size, log)
	return err
}

// Events implements [runs.Store].
func (s *Store) Events(ctx context.Context, thread string, after int64, limit int) (events []runs.Event, err error) {
	if limit <= 0 {
		limit = -1
	}
	err = s.read(ctx, "events", func(q *sqlitedb.Session) error {
		events = nil
		return q.Each(getEvents, []any{thread, after, limit}, func(scan func(...any) error) (bool, error) {
			var seq, at int64
			var head, data []byte
			if err := scan(&seq, &at, &head, &data); err != nil {
				return false, err
			}
			var e runs.Event
			if err := json.Unmarshal(head, &e); err != nil {
				return false, fmt.Errorf("event %d of thread %s: %w", seq, thread, err)
			}
			e.Seq, e.Time, e.Data = seq, time.UnixMicro(at).UTC(), data
			events = append(events, e)
			return true, ctx.Err()
		})
	})
	return events, err
}

// Last implements [runs.Store].
func (s *Store) Last(ctx context.Context, thread string) (last, trimmed int64, err error) {
	err = s.read(ctx, "last", func(q *sqlitedb.Session) error {
		var key int64
		_, err := q.One(getLog, []any{thread}, &key, &last, &trimmed)
		return err
	})
	return last, trimmed, err
}

// Trim implements [runs.Store].
func (s *Store) Trim(ctx context.Context, thread string, keep runs.Bounds) (removed int, err error) {
	const most = int64(1) << 62
	count, size, since := most, most, -most
	if keep.Events > 0 {
		count = int64(keep.Events)
	}
	if keep.Bytes > 0 {
		size = keep.Bytes
	}
	if !keep.Since.IsZero() {
		since = keep.Since.UnixMicro()
	}
	var logs []int64
	err = s.read(ctx, "trim", func(q *sqlitedb.Session) error {
		logs = nil
		text, args := `SELECT key FROM run_log WHERE thread = ?`, []any{thread}
		if thread == "" {
			text = `SELECT key FROM run_log WHERE events > ? OR bytes > ? UNION SELECT log FROM run_event WHERE time < ?`
			args = []any{count, size, since}
		}
		return q.Each(text, args, func(scan func(...any) error) (bool, error) {
			var log int64
			err := scan(&log)
			logs = append(logs, log)
			return true, err
		})
	})
	for i := 0; i < len(logs) && err == nil; i++ { // one transaction for each log, so that others can write in between
		var n int
		err = s.change(ctx, "trim", func(w *sqlitedb.Session) error {
			n = 0
			var old, many int64
			if _, err := w.One(cutQuery, []any{logs[i], since, count, size}, &old, &many); err != nil {
				return err
			}
			n, err = cut(w, logs[i], max(old, many))
			return err
		})
		removed += n
	}
	return removed, err
}

// cut removes the events of a log up to a number, and returns the number of removed events.
func cut(w *sqlitedb.Session, log, seq int64) (n int, err error) {
	if seq == 0 {
		return 0, nil
	}
	var size int64
	if _, err := w.One(sizeQuery+` AND seq <= ?`, []any{log, seq}, &n, &size); err != nil {
		return 0, err
	}
	if _, err := w.Exec(`DELETE FROM run_event WHERE log = ? AND seq <= ?`, log, seq); err != nil {
		return 0, err
	}
	_, err = w.Exec(shrinkLog, n, size, seq, log)
	return n, err
}

// deleteEvents removes the events of a run from the log of its thread.
func deleteEvents(w *sqlitedb.Session, thread, run string) error {
	var log, last, trimmed, n, size int64
	found, err := w.One(getLog, []any{thread}, &log, &last, &trimmed)
	if err != nil || !found {
		return err
	}
	if _, err := w.One(sizeQuery+` AND run = ?`, []any{log, run}, &n, &size); err != nil {
		return err
	}
	if _, err := w.Exec(`DELETE FROM run_event WHERE log = ? AND run = ?`, log, run); err != nil {
		return err
	}
	_, err = w.Exec(shrinkLog, n, size, 0, log)
	return err
}
