package sqlitememory

import (
	"context"
	"iter"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// Scopes implements [driver.FactStore].
func (f *factStore) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return f.db.scopes(ctx, factCorpus)
}

// Scopes implements [driver.DocumentStore].
func (k *documentStore) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return k.db.scopes(ctx, chunkCorpus)
}

// Scopes implements [driver.ValueStore].
func (v *valueStore) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return v.db.scopes(ctx, valueCorpus)
}

// A namedScope is a scope with its key.
type namedScope struct {
	key int64
	driver.Scope
}

func (d *DB) scopes(ctx context.Context, of *corpus) iter.Seq2[driver.Scope, error] {
	return func(yield func(driver.Scope, error) bool) {
		l := listing[namedScope]{limit: -1, read: func(last *namedScope, n int) (page []namedScope, more bool, err error) {
			after := int64(0)
			if last != nil {
				after = last.key
			}
			query := `SELECT key, tenant, workspace, user, agent FROM ` + of.scopes + ` WHERE key > ? ORDER BY key LIMIT ?`
			err = d.sql.Read(ctx, func(session *sqlitedb.Session) error {
				page = nil
				return session.Each(query, []any{after, n}, func(scan func(...any) error) (bool, error) {
					var s namedScope
					err := scan(&s.key, &s.Tenant, &s.Workspace, &s.User, &s.Agent)
					page = append(page, s)
					return true, err
				})
			})
			return page, len(page) == n, err
		}}
		for s, err := range l.all() {
			if err != nil {
				yield(driver.Scope{}, d.fail("scopes", err))
				return
			}
			if !yield(s.Scope, nil) {
				return
			}
		}
	}
}
