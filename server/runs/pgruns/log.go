package pgruns

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
)

const (
	appendEvents = `SELECT weft.run_append($1, $2::text::uuid, $3, $4::timestamptz[], $5::text[], $6::bytea[], $7::bytea[], $8)`
	getEvents    = `SELECT e.seq, e.time, e.head, e.data FROM weft.run_log l JOIN weft.run_event e ON e.log = l.key
	WHERE l.thread = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3`
	getLast = `SELECT last, trimmed FROM weft.run_log WHERE thread = $1`

	logOf    = `SELECT key FROM weft.run_log WHERE thread = $1`
	logsOver = `SELECT key FROM weft.run_log WHERE events > $1 OR bytes > $2`
	// logsBefore selects the logs of the oldest events before a time.
	logsBefore = `SELECT DISTINCT log FROM (SELECT log FROM weft.run_event WHERE time < $1::timestamptz ORDER BY time LIMIT 1000) e`
	trimLog    = `SELECT weft.run_trim($1, $2::timestamptz, $3::bigint, $4::bigint)`
)

// Append implements [runs.Store].
func (s *Store) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	if err := s.append(ctx, thread, events, replaced); err != nil {
		return s.fail("append", err)
	}
	return nil
}

func (s *Store) append(ctx context.Context, thread string, events []runs.Event, replaced []runs.Record) error {
	for i := range events {
		if want := events[0].Seq + int64(i); events[i].Seq != want || want < 1 {
			return fmt.Errorf("the log of thread %s %w: event %d cannot follow", thread, runs.ErrConflict, events[i].Seq)
		}
	}
	id := uuid.New()
	var list []statement
	for i := range replaced {
		one, err := replacement(thread, &id, &replaced[i])
		if err != nil {
			return err
		}
		list = append(list, one)
	}
	may := pgdb.Unsent
	if len(events) > 0 {
		args, err := columns(events)
		if err != nil {
			return err
		}
		list = append(list, statement{appendEvents, append([]any{thread, id, events[0].Seq}, args...)})
		may = pgdb.AnyFault // the id tells whether an earlier attempt took effect
	}
	return classify("a record or the log of thread "+thread, s.exec(ctx, may, list...))
}

// columns returns the columns of events, and the size of their data.
func columns(events []runs.Event) ([]any, error) {
	n := len(events)
	times, names, heads, data, size := make([]time.Time, n), make([]string, n), make([][]byte, n), make([][]byte, n), int64(0)
	for i, e := range events {
		times[i], names[i], data[i] = e.Time, e.Run, e.Data
		size += int64(len(e.Data))
		e.Data = nil
		var err error
		if heads[i], err = json.Marshal(e); err != nil {
			return nil, err
		}
	}
	return []any{times, names, heads, data, size}, nil
}

// Events implements [runs.Store].
func (s *Store) Events(ctx context.Context, thread string, after int64, limit int) (events []runs.Event, err error) {
	var most *int
	if limit > 0 {
		most = &limit
	}
	err = s.rows(ctx, s.timeout, pgdb.AnyFault, getEvents, []any{thread, after, most}, func() { events = nil }, func(rows pgx.Rows) error {
		var seq int64
		var at time.Time
		var head, data []byte
		if err := rows.Scan(&seq, &at, &head, &data); err != nil {
			return err
		}
		var e runs.Event
		if err := json.Unmarshal(head, &e); err != nil {
			return fmt.Errorf("event %d of thread %s: %w", seq, thread, err)
		}
		e.Seq, e.Time, e.Data = seq, at.UTC(), data
		events = append(events, e)
		return nil
	})
	if err != nil {
		return nil, s.fail("events", err)
	}
	return events, nil
}

// Last implements [runs.Store].
func (s *Store) Last(ctx context.Context, thread string) (last, trimmed int64, err error) {
	err = s.query(ctx, getLast, []any{thread}, func(rows pgx.Rows) error { return rows.Scan(&last, &trimmed) })
	if err != nil {
		return 0, 0, s.fail("last", err)
	}
	return last, trimmed, nil
}

// Trim implements [runs.Store]. It trims each log in a separate transaction, so that no log is locked for long. After an
// interruption, another call continues.
func (s *Store) Trim(ctx context.Context, thread string, keep runs.Bounds) (int, error) {
	t := trimming{store: s}
	if !keep.Since.IsZero() {
		t.since = &keep.Since
	}
	if n := int64(keep.Events); n > 0 {
		t.count = &n
	}
	if keep.Bytes > 0 {
		t.size = &keep.Bytes
	}
	var err error
	if thread != "" {
		err = t.logs(ctx, logOf, thread)
	} else {
		err = t.all(ctx)
	}
	if err != nil {
		return t.removed, s.fail("trim", err)
	}
	return t.removed, nil
}

// A trimming is a call of Trim. A nil field means no bound.
type trimming struct {
	store       *Store
	since       *time.Time
	count, size *int64
	removed     int
}

// all trims all logs: first the logs that are too long, and then the logs with old events, oldest first.
func (t *trimming) all(ctx context.Context) error {
	if t.count != nil || t.size != nil {
		if err := t.logs(ctx, logsOver, t.count, t.size); err != nil {
			return err
		}
	}
	for before := -1; t.since != nil && before < t.removed; {
		before = t.removed
		if err := t.logs(ctx, logsBefore, t.since); err != nil {
			return err
		}
	}
	return nil
}

// logs trims the logs that a query selects.
func (t *trimming) logs(ctx context.Context, query string, args ...any) error {
	s := t.store
	var logs []int64
	err := s.rows(ctx, maintenanceTime, pgdb.AnyFault, query, args, func() { logs = nil }, func(rows pgx.Rows) error {
		var log int64
		err := rows.Scan(&log)
		logs = append(logs, log)
		return err
	})
	for i := 0; i < len(logs) && err == nil; i++ {
		n := 0
		err = s.rows(ctx, maintenanceTime, pgdb.AnyFault, trimLog, []any{logs[i], t.since, t.count, t.size}, func() {}, func(rows pgx.Rows) error { return rows.Scan(&n) })
		t.removed += n
	}
	return err
}
