package desk

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/weft-go/weft/examples/calendar/internal/ics"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/tools"
)

//go:embed schema.sql
var schema string

// A Desk has the calendar, mail and tasks that the tools work on. Any number of goroutines may use it, and any number
// of processes may open the same files.
type Desk struct {
	calendar *ics.File
	db       *sql.DB
	zone     *time.Location
	now      func() time.Time
}

// Open opens a desk with a calendar and the database at path, which it creates if it does not exist. now returns the
// time, in the person's zone.
func Open(ctx context.Context, calendar *ics.File, path string, now func() time.Time) (*Desk, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	source := url.URL{Scheme: "file", Path: filepath.ToSlash(full), RawQuery: url.Values{
		"_pragma": {"busy_timeout(10000)", "journal_mode(wal)", "synchronous(full)"}, "_txlock": {"immediate"},
	}.Encode()}
	db, err := sql.Open("sqlite", source.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), db.Close())
	}
	return &Desk{calendar: calendar, db: db, zone: now().Location(), now: now}, nil
}

// Close closes the database.
func (d *Desk) Close() error { return d.db.Close() }

// effect makes a change once. It stores the answer of the call, which look returns, and then runs do, which makes the
// change. If the call is repeated, effect returns the stored answer, and runs do again only if do is not recorded as
// done. The database has then rolled back any earlier run of do, but the effects of do outside the database remain:
// they must be idempotent. Without an idempotency key, effect stores nothing of the call. Write transactions run one at
// a time, across processes.
func (d *Desk) effect(ctx context.Context, look func(tx *sql.Tx) (string, error), do func(tx *sql.Tx) error) (answer string, err error) {
	key := graph.IdempotencyKey(ctx)
	if call, ok := tools.CallFrom(ctx); ok && key != "" {
		key += "/" + call.ID
	}
	done := false
	err = d.transact(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `SELECT answer, done FROM effects WHERE key = ? AND key <> ''`, key).Scan(&answer, &done)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if answer, err = look(tx); err != nil || key == "" {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO effects (key, answer, done) VALUES (?, ?, 0)`, key, answer)
		return err
	})
	if err != nil || done {
		return answer, err
	}
	return answer, d.transact(ctx, func(tx *sql.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE effects SET done = 1 WHERE key = ?`, key)
		return err
	})
}

func (d *Desk) transact(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// timeForms are the forms in which a model may write a time.
var timeForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02 15:04:05"}

// parseTime parses a time or a date. day reports whether the text is a date.
func (d *Desk) parseTime(text string) (t time.Time, day bool, err error) {
	text = strings.TrimSpace(text)
	if t, err := time.ParseInLocation("2006-01-02T15", text+"T12", d.zone); err == nil {
		return ics.Midnight(t, 0), true, nil
	}
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, text, d.zone); err == nil {
			return t.In(d.zone), false, nil
		}
	}
	return time.Time{}, false, fmt.Errorf("%q is no time; write 2006-01-02T15:04 or 2006-01-02", text)
}

// span parses a time range. Without from, the range starts at begin. Without to, it lasts the given number of days.
// If to is a date, the range includes that day.
func (d *Desk) span(from, to string, begin time.Time, days int) (start, end time.Time, err error) {
	start = begin
	if from != "" {
		if start, _, err = d.parseTime(from); err != nil {
			return start, end, fmt.Errorf("from: %w", err)
		}
	}
	if to == "" {
		if start.Equal(ics.Midnight(start, 0)) {
			return start, ics.Midnight(start, days), nil
		}
		return start, start.AddDate(0, 0, days), nil
	}
	end, day, err := d.parseTime(to)
	if err != nil {
		return start, end, fmt.Errorf("to: %w", err)
	}
	if day {
		end = ics.Midnight(end, 1)
	}
	if !end.After(start) {
		err = fmt.Errorf("the range ends at %s, before it begins", to)
	}
	return start, end, err
}

func (d *Desk) today() time.Time { return ics.Midnight(d.now().In(d.zone), 0) }

// When describes a time to a person today. It uses a weekday alone only for the next six days: on a Thursday,
// "Thursday" could mean today or in a week.
func (d *Desk) When(t time.Time, allDay bool) string {
	text := t.Format("Monday 2 January 2006")
	switch today := d.today(); {
	case t.Format(time.DateOnly) == today.Format(time.DateOnly):
		text = "today"
	case t.After(today) && t.Before(ics.Midnight(today, 7)):
		text = t.Format("Monday")
	case t.Year() == today.Year():
		text = t.Format("Monday 2 January")
	}
	if allDay {
		return text
	}
	return text + t.Format(" at 3:04 PM")
}
