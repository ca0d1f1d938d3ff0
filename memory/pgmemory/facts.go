package pgmemory

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// factStore is a [driver.FactStore]. It is safe for concurrent use if its [DB] is.
type factStore struct{ db *DB }

var _ driver.FactStore = (*factStore)(nil)

var (
	factTable = table{"weft.mem_fact", "mem_fact_near_", `(weft.mem_fact f JOIN weft.mem_scope s ON s.key = f.scope)`}
	// oneScope is factTable for a query of one scope, which needs no join.
	oneScope = table{factTable.name, factTable.near, `weft.mem_fact f`}
)

// page is the number of rows that one statement reads. No connection is held between two pages.
const page = 256

const eventsQuery = `SELECT e.key, e.kind, e.was, e.became, e.actor, e.at FROM weft.mem_event e JOIN weft.mem_scope s ON s.key = e.scope
	WHERE s.digest = $1::bytea AND e.fact = $2::text::uuid AND e.key > $3::bigint ORDER BY e.key LIMIT $4::int`

// allEventsQuery reads in the order of the index on events.
const allEventsQuery = `SELECT e.key, e.fact::text, e.kind, e.was, e.became, e.actor, e.at FROM weft.mem_event e
	WHERE e.scope = $1::bigint AND (e.fact, e.key) > ($2::text::uuid, $3::bigint) ORDER BY e.fact, e.key LIMIT $4::int`

// History implements [driver.FactStore], with one round trip for each 256 events. With an empty
// id, it needs one more round trip for each scope.
func (f *factStore) History(ctx context.Context, s driver.Scope, id string) iter.Seq2[driver.Event, error] {
	return func(yield func(driver.Event, error) bool) {
		var err error
		if id == "" {
			err = f.eachScope(ctx, s, yield)
		} else if isID(id) {
			_, err = pages(yield, func(after place) ([]driver.Event, place, error) { return f.events(ctx, s, id, after) })
		}
		if err != nil {
			yield(driver.Event{}, f.db.fail("history", err))
		}
	}
}

// A place is a position in a list of events: the fact and the key of the last event before it.
type place struct {
	fact string
	key  int64
}

const noFact = "00000000-0000-0000-0000-000000000000"

// pages yields the events of all pages. It returns false if the caller has stopped.
func pages(yield func(driver.Event, error) bool, next func(after place) ([]driver.Event, place, error)) (bool, error) {
	after := place{fact: noFact}
	for {
		list, last, err := next(after)
		for _, e := range list {
			if !yield(e, nil) {
				return false, nil
			}
		}
		if err != nil || len(list) < page {
			return true, err
		}
		after = last
	}
}

// eachScope yields the events of all facts in the scopes that Forget(s) covers.
func (f *factStore) eachScope(ctx context.Context, s driver.Scope, yield func(driver.Event, error) bool) error {
	var a args
	within := s.Within()
	where, _ := reach(&within, &a)
	var keys []int64
	var scopes []driver.Scope
	text := `SELECT s.key, s.tenant, s.workspace, s.user_id, s.agent FROM weft.mem_scope s WHERE ` + where + ` ORDER BY s.key`
	err := f.db.link.read(ctx, f.db.sql(text), a, func() { keys, scopes = nil, nil }, func(rows pgx.Rows) error {
		var key int64
		var s driver.Scope
		err := rows.Scan(&key, &s.Tenant, &s.Workspace, &s.User, &s.Agent)
		keys, scopes = append(keys, key), append(scopes, s)
		return err
	})
	if err != nil {
		return err
	}
	for i, s := range scopes {
		more, err := pages(yield, func(after place) ([]driver.Event, place, error) { return f.allEvents(ctx, keys[i], s, after) })
		if err != nil || !more {
			return err
		}
	}
	return nil
}

func (f *factStore) allEvents(ctx context.Context, key int64, s driver.Scope, after place) (list []driver.Event, last place, err error) {
	values := []any{key, after.fact, after.key, page}
	err = f.db.link.read(ctx, f.db.sql(allEventsQuery), values, func() { list = nil }, func(rows pgx.Rows) error {
		e := driver.Event{Scope: s}
		err := rows.Scan(&last.key, &last.fact, &e.Kind, &e.Before, &e.After, &e.By, &e.At)
		e.ID, e.At = last.fact, e.At.UTC()
		list = append(list, e)
		return err
	})
	return list, last, err
}

// events returns a page of the events of a fact, and the place of the last event.
func (f *factStore) events(ctx context.Context, s driver.Scope, id string, after place) (list []driver.Event, last place, err error) {
	err = f.db.link.read(ctx, f.db.sql(eventsQuery), []any{scopeDigest(s), id, after.key, page}, func() { list = nil }, func(rows pgx.Rows) error {
		e := driver.Event{ID: id, Scope: s}
		if err := rows.Scan(&last.key, &e.Kind, &e.Before, &e.After, &e.By, &e.At); err != nil {
			return err
		}
		e.At = e.At.UTC()
		list = append(list, e)
		return nil
	})
	return list, last, err
}
