package pgmemory

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// Scopes implements [driver.FactStore], with one round trip for each 256 scopes. Under row-level
// security it yields the scopes that the role can see. The owner of the tables and the service role
// of Supabase can see all scopes.
func (f *factStore) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return f.db.scopes(ctx, `weft.mem_scope`)
}

// Scopes implements [driver.DocumentStore]; see [factStore.Scopes].
func (k *documentStore) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return k.db.scopes(ctx, `weft.mem_shelf`)
}

// Scopes implements [driver.ValueStore]; see [factStore.Scopes].
func (v *valueStore) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return v.db.scopes(ctx, `weft.mem_value_scope`)
}

func (d *DB) scopes(ctx context.Context, table string) iter.Seq2[driver.Scope, error] {
	query := d.sql(`SELECT s.key, s.tenant, s.workspace, s.user_id, s.agent FROM ` + table + ` s WHERE s.key > $1::bigint ORDER BY s.key LIMIT $2::int`)
	return func(yield func(driver.Scope, error) bool) {
		last := int64(0)
		for more := true; more; {
			after := last
			var list []driver.Scope
			err := d.link.read(ctx, query, []any{after, page}, func() { list, last = nil, after }, func(rows pgx.Rows) error {
				var s driver.Scope
				err := rows.Scan(&last, &s.Tenant, &s.Workspace, &s.User, &s.Agent)
				list = append(list, s)
				return err
			})
			for _, s := range list {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(s, nil) {
					return
				}
			}
			if err != nil {
				yield(driver.Scope{}, d.fail("scopes", err))
				return
			}
			more = len(list) == page
		}
	}
}
