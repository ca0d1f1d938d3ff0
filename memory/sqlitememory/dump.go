package sqlitememory

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// A savedScope is a scope with its key, its secret and its name.
type savedScope struct {
	scope
	name driver.Scope
}

// scopesFor returns the scopes of a corpus that Forget(s) covers, or all scopes if s is nil, in
// the order of [driver.CompareScopes].
func (c *corpus) scopesFor(ctx context.Context, db *DB, s *driver.Scope) (list []savedScope, err error) {
	where, args := `true`, []any(nil)
	if s != nil {
		where, args = within(*s)
	}
	query := `SELECT key, secret, tenant, workspace, user, agent FROM ` + c.scopes + ` WHERE ` + where + ` ORDER BY tenant, workspace, user, agent`
	err = db.sql.Read(ctx, func(q *sqlitedb.Session) error {
		return q.Each(query, args, func(scan func(...any) error) (bool, error) {
			var n savedScope
			err := scan(&n.key, &n.secret, &n.name.Tenant, &n.name.Workspace, &n.name.User, &n.name.Agent)
			list = append(list, n)
			return true, err
		})
	})
	return list, err
}

// dump yields the rows of each scope. It reads each page in one transaction. The function read
// returns the page of rows after the row last, or the first page if last is nil. It returns an
// empty page at the end.
func dump[T any](ctx context.Context, db *DB, of *corpus, s *driver.Scope, read func(q *sqlitedb.Session, in *savedScope, last *T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		scopes, err := of.scopesFor(ctx, db, s)
		for i := 0; i < len(scopes) && err == nil; i++ {
			l := listing[T]{limit: -1, read: func(last *T, _ int) (page []T, more bool, err error) {
				err = db.sql.Read(ctx, func(q *sqlitedb.Session) (err error) {
					page, err = read(q, &scopes[i], last)
					return err
				})
				return page, len(page) > 0, err
			}}
			for row, failed := range l.all() {
				if err = failed; err != nil {
					break
				}
				if !yield(row, nil) {
					return
				}
			}
		}
		if err != nil {
			var none T
			yield(none, db.fail("dump", err))
		}
	}
}

// restore stores rows in one transaction. It creates the scope of each row if necessary. The
// function add stores a row and reports whether the row is new.
func restore[T any](ctx context.Context, db *DB, of *corpus, list []T, scopeOf func(*T) driver.Scope, add func(w *sqlitedb.Session, in *scope, row *T) (bool, error)) (count int, err error) {
	if len(list) == 0 {
		return 0, ctx.Err()
	}
	err = db.sql.Change(ctx, func(w *sqlitedb.Session) error {
		count = 0
		var in scope
		var name driver.Scope
		for i := range list {
			if err := ctx.Err(); err != nil {
				return err
			}
			if s := scopeOf(&list[i]); in.key == 0 || s != name {
				entered, err := of.enterScope(w, s)
				if err != nil {
					return err
				}
				in, name = entered, s
			}
			added, err := add(w, &in, &list[i])
			if err != nil {
				return err
			}
			if added {
				count++
			}
		}
		return nil
	})
	if err != nil {
		return 0, db.fail("restore", err)
	}
	return count, nil
}

const (
	// Each half of the UNION has the limit too, so that it reads at most a page of its index.
	savedIDs = `SELECT id FROM (SELECT id FROM mem_fact WHERE scope = ?1 AND id > ?2 ORDER BY id LIMIT ?3)
		UNION SELECT fact FROM (SELECT DISTINCT fact FROM mem_event WHERE scope = ?1 AND fact > ?2 ORDER BY fact LIMIT ?3) ORDER BY 1 LIMIT ?3`
	factEvents   = `SELECT kind, was, became, actor, at FROM mem_event WHERE scope = ? AND fact = ? ORDER BY key`
	restoreEvent = `INSERT INTO mem_event (scope, fact, kind, was, became, actor, at) VALUES (?, ?, ?, ?, ?, ?, ?)`
	knownFact    = `SELECT 1 WHERE EXISTS (SELECT 1 FROM mem_fact WHERE scope = ?1 AND id = ?2) OR EXISTS (SELECT 1 FROM mem_event WHERE scope = ?1 AND fact = ?2)`
)

// Dump implements [driver.FactStore].
func (f *factStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedFact, error] {
	return dump(ctx, f.db, factCorpus, s, func(q *sqlitedb.Session, in *savedScope, last *driver.SavedFact) ([]driver.SavedFact, error) {
		after := []byte{}
		if last != nil {
			after, _ = packID(last.ID)
		}
		var ids [][]byte
		err := q.Each(savedIDs, []any{in.key, after, pageRows}, func(scan func(...any) error) (bool, error) {
			var id []byte
			err := scan(&id)
			ids = append(ids, id)
			return true, err
		})
		page := make([]driver.SavedFact, len(ids))
		for i := 0; i < len(ids) && err == nil; i++ {
			page[i], err = savedFact(q, in, ids[i])
		}
		return page, err
	})
}

// savedFact returns a fact of a scope with its history.
func savedFact(q *sqlitedb.Session, in *savedScope, id []byte) (driver.SavedFact, error) {
	one := driver.SavedFact{Scope: in.name, ID: spellID(id)}
	r, err := oneRow(q, factByID, in.key, id)
	if err != nil {
		return one, err
	}
	if r != nil {
		one.Record = &r.FactRecord
	}
	err = q.Each(factEvents, []any{in.key, id}, func(scan func(...any) error) (bool, error) {
		e := driver.Event{ID: one.ID, Scope: in.name}
		var at int64
		err := scan(&e.Kind, &e.Before, &e.After, &e.By, &at)
		e.At = timeOf(at)
		one.History = append(one.History, e)
		return true, err
	})
	return one, err
}

// Restore implements [driver.FactStore].
func (f *factStore) Restore(ctx context.Context, list []driver.SavedFact) (int, error) {
	return restore(ctx, f.db, factCorpus, list, func(one *driver.SavedFact) driver.Scope { return one.Scope }, restoreFact)
}

func restoreFact(w *sqlitedb.Session, in *scope, one *driver.SavedFact) (bool, error) {
	id, err := requireID("fact", one.ID)
	if err != nil {
		return false, err
	}
	known, err := w.One(knownFact, []any{in.key, id}, new(any))
	if err != nil || known {
		return false, err
	}
	if one.Record != nil {
		r := row{FactRecord: *one.Record, scope: in.key}
		r.ID = one.ID
		values, err := r.values()
		if err != nil {
			return false, err
		}
		key, err := w.Insert(insertFact, values...)
		if err == nil {
			err = factCorpus.addWords(w, in, key, r.Terms)
		}
		if err != nil {
			return false, err
		}
	}
	for _, e := range one.History {
		if _, err := w.Exec(restoreEvent, in.key, id, string(e.Kind), e.Before, e.After, e.By, e.At.UnixMicro()); err != nil {
			return false, err
		}
	}
	return true, nil
}

// requireID returns the bytes of a UUID, or [driver.ErrInvalid] for any other text.
func requireID(what, id string) ([]byte, error) {
	packed, ok := packID(id)
	if !ok {
		return nil, fmt.Errorf("the id of the %s, %.60q, is no UUID: %w", what, id, driver.ErrInvalid)
	}
	return packed, nil
}
