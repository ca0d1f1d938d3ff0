package sqlitememory

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory"
)

// Facts is a [memory.Store], and a [memory.Sweeper]. It is safe for use by any number of
// goroutines.
type Facts struct{ db *DB }

var _ interface {
	memory.Store
	memory.Sweeper
} = (*Facts)(nil)

// historyPage is how many events are read at once.
const historyPage = 128

const eventsQuery = `SELECT key, kind, was, became, actor, at FROM mem_event WHERE scope = ? AND fact = ? AND key > ?
	ORDER BY key LIMIT ?`

// History implements [memory.Store].
func (f *Facts) History(ctx context.Context, s memory.Scope, id string) iter.Seq2[memory.Event, error] {
	return func(yield func(memory.Event, error) bool) {
		packed, ok := packID(id)
		if !ok {
			return
		}
		for after, more := int64(0), true; more; {
			var page []memory.Event
			err := f.db.sql.Read(ctx, func(q *sqlitedb.Session) (err error) {
				page, after, err = events(q, s, packed, after)
				return err
			})
			for i := range page {
				page[i].ID = id
				if !yield(page[i], nil) {
					return
				}
			}
			if err != nil {
				yield(memory.Event{}, f.db.fail("history", err))
				return
			}
			more = len(page) == historyPage
		}
	}
}

// events returns a page, and the key of the last event in it.
func events(q *sqlitedb.Session, s memory.Scope, id []byte, after int64) (page []memory.Event, last int64, err error) {
	scope, err := factCorpus.findScope(q, s)
	if err != nil || scope.key == 0 {
		return nil, after, err
	}
	last = after
	err = q.Each(eventsQuery, []any{scope.key, id, after, historyPage}, func(scan func(...any) error) (bool, error) {
		var e memory.Event
		var kind string
		var at int64
		if err := scan(&last, &kind, &e.Before, &e.After, &e.By, &at); err != nil {
			return false, err
		}
		e.Kind, e.At = memory.ChangeKind(kind), timeOf(at)
		page = append(page, e)
		return true, nil
	})
	return page, last, err
}

const insertEvent = `INSERT INTO mem_event (scope, fact, kind, was, became, actor, at) VALUES (?, ?, ?, ?, ?, ?, ?)`

// note writes an event at a time of the store.
func note(w *sqlitedb.Session, scope, at int64, e memory.Event) error {
	id, ok := packID(e.ID)
	if !ok {
		return fmt.Errorf("id %.60q is no UUID: %w", e.ID, memory.ErrInvalid)
	}
	_, err := w.Exec(insertEvent, scope, id, string(e.Kind), e.Before, e.After, e.By, at)
	return err
}

// drop removes a row, and notes who did.
func drop(w *sqlitedb.Session, s *scope, r *row, actor string, now int64) error {
	if err := factCorpus.removeWords(w, s, r.key, r.Terms); err != nil {
		return err
	}
	if _, err := w.Exec(`DELETE FROM mem_fact WHERE key = ?`, r.key); err != nil {
		return err
	}
	return note(w, r.scope, now, memory.Event{ID: r.ID, Kind: memory.Delete, Before: r.Content, By: actor})
}
