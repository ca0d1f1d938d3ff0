package sqlitememory

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// factStore is a [driver.FactStore]. It is safe for concurrent use.
type factStore struct{ db *DB }

var _ driver.FactStore = (*factStore)(nil)

// historyPage is the number of events that are read at once.
const historyPage = 128

const (
	selectEvent = `SELECT e.key, e.fact, e.kind, e.was, e.became, e.actor, e.at, s.tenant, s.workspace, s.user, s.agent
		FROM mem_event e JOIN mem_scope s ON s.key = e.scope WHERE e.key > ? AND `
	byEvent = ` ORDER BY e.key LIMIT ?`
)

// History implements [driver.FactStore].
func (f *factStore) History(ctx context.Context, s driver.Scope, id string) iter.Seq2[driver.Event, error] {
	return func(yield func(driver.Event, error) bool) {
		var packed []byte // nil for all facts
		if id != "" {
			var ok bool
			if packed, ok = packID(id); !ok {
				return
			}
		}
		for after, more := int64(0), true; more; {
			var page []driver.Event
			err := f.db.sql.Read(ctx, func(q *sqlitedb.Session) (err error) {
				page, after, err = events(q, s, packed, after)
				return err
			})
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(driver.Event{}, f.db.fail("history", err))
				return
			}
			more = len(page) == historyPage
		}
	}
}

// events returns a page of events, and the key of the last event. If id is nil, it reads the
// events of all facts in the scopes that Forget(s) covers.
func events(q *sqlitedb.Session, s driver.Scope, id []byte, after int64) (page []driver.Event, last int64, err error) {
	text, args := within(s)
	text = `e.scope IN (SELECT key FROM mem_scope WHERE ` + text + `)`
	if id != nil {
		scope, err := factCorpus.findScope(q, s)
		if err != nil || scope.key == 0 {
			return nil, after, err
		}
		text, args = `e.scope = ? AND e.fact = ?`, []any{scope.key, id}
	}
	last = after
	args = append(append([]any{after}, args...), historyPage)
	err = q.Each(selectEvent+text+byEvent, args, func(scan func(...any) error) (bool, error) {
		var e driver.Event
		var fact []byte
		var at int64
		err := scan(&last, &fact, (*string)(&e.Kind), &e.Before, &e.After, &e.By, &at, &e.Scope.Tenant, &e.Scope.Workspace, &e.Scope.User, &e.Scope.Agent)
		if err != nil {
			return false, err
		}
		e.ID, e.At = spellID(fact), timeOf(at)
		page = append(page, e)
		return true, nil
	})
	return page, last, err
}

const insertEvent = `INSERT INTO mem_event (scope, fact, kind, was, became, actor, at) VALUES (?, ?, ?, ?, ?, ?, ?)`

// note stores an event with the time at.
func note(w *sqlitedb.Session, scope, at int64, e driver.Event) error {
	id, ok := packID(e.ID)
	if !ok {
		return fmt.Errorf("id %.60q is no UUID: %w", e.ID, driver.ErrInvalid)
	}
	_, err := w.Exec(insertEvent, scope, id, string(e.Kind), e.Before, e.After, e.By, at)
	return err
}

// erase removes a fact and its history.
func erase(w *sqlitedb.Session, s *scope, r *row) error {
	id, _ := packID(r.ID)
	if _, err := w.Exec(`DELETE FROM mem_event WHERE scope = ? AND fact = ?`, r.scope, id); err != nil {
		return err
	}
	return removeFact(w, s, r)
}

func removeFact(w *sqlitedb.Session, s *scope, r *row) error {
	if err := factCorpus.removeWords(w, s, r.key, r.Terms); err != nil {
		return err
	}
	_, err := w.Exec(`DELETE FROM mem_fact WHERE key = ?`, r.key)
	return err
}

// drop removes a fact, and stores the removal in its history.
func drop(w *sqlitedb.Session, s *scope, r *row, actor string, now int64) error {
	if err := removeFact(w, s, r); err != nil {
		return err
	}
	return note(w, r.scope, now, driver.Event{ID: r.ID, Kind: driver.Delete, Before: r.Content, By: actor})
}
