package pgmemory

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/memory/driver"
)

// A savedScope is a scope with its key in its table of scopes. Sessions have no such table, so their
// key is 0.
type savedScope struct {
	driver.Scope
	key int64
}

// scopesFor returns the scopes of a table that Forget(s) covers, or all scopes if s is nil, in the order
// of [driver.CompareScopes]. The argument keys is SQL: the expression for the key of a scope s, FROM, and
// the table.
func (d *DB) scopesFor(ctx context.Context, keys string, s *driver.Scope) (list []savedScope, err error) {
	var a args
	where := `true`
	if s != nil {
		within := s.Within()
		where, _ = reach(&within, &a)
	}
	query := `SELECT DISTINCT s.tenant, s.workspace, s.user_id, s.agent, ` + keys + ` s WHERE ` + where + ` ORDER BY 1, 2, 3, 4`
	err = d.link.read(ctx, d.sql(query), a, func() { list = nil }, func(rows pgx.Rows) error {
		var one savedScope
		err := rows.Scan(append(scopeDest(&one.Scope), &one.key)...)
		list = append(list, one)
		return err
	})
	return list, err
}

// dump yields the rows of each scope. The function read returns the page of rows after the row last,
// or the first page if last is nil. It returns an empty page at the end.
func dump[T any](ctx context.Context, d *DB, keys string, s *driver.Scope, read func(in *savedScope, last *T) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		scopes, err := d.scopesFor(ctx, keys, s)
		for i := 0; i < len(scopes) && err == nil; i++ {
			var last *T
			for err == nil {
				var page []T
				if page, err = read(&scopes[i], last); err != nil || len(page) == 0 {
					break
				}
				for _, row := range page {
					if !yield(row, nil) {
						return
					}
				}
				last = &page[len(page)-1]
			}
		}
		if err != nil {
			var none T
			yield(none, d.fail("dump", err))
		}
	}
}

// restore calls store in one transaction. Before the call, it takes the locks of the rows' scopes, so that
// Forget of one of them waits until the transaction ends. The argument scopes of store has the digest of
// each row's scope.
func restore[T any](ctx context.Context, d *DB, list []T, scopeOf func(*T) driver.Scope, store func(l *link, scopes [][]byte) (int, error)) (count int, err error) {
	if len(list) == 0 {
		return 0, ctx.Err()
	}
	var locks []int64
	digests, different := make([][]byte, len(list)), map[driver.Scope][]byte{}
	for i := range list {
		s := scopeOf(&list[i])
		if different[s] == nil {
			tenant, user := d.locks(s)
			locks, different[s] = append(locks, tenant, user), scopeDigest(s)
		}
		digests[i] = different[s]
	}
	limit := d.link.timeout + time.Duration(len(list))*perChunk
	err = d.link.retry(ctx, limit, pgdb.Unsent, func(ctx context.Context) error {
		return d.link.begin(ctx, func(tx Conn) error {
			if err := d.link.enter(ctx, tx); err != nil {
				return err
			}
			inside := &link{on: tx, mode: d.link.mode}
			if err := inside.exec(ctx, lockScopes, locks); err != nil {
				return err
			}
			count, err = store(inside, digests)
			return err
		})
	})
	if err != nil {
		return 0, d.fail("restore", err)
	}
	d.sizes.clear()
	return count, nil
}

// The locks are taken in a fixed order, so that concurrent restores do not deadlock.
const lockScopes = `SELECT pg_advisory_xact_lock_shared(k) FROM (SELECT DISTINCT k FROM unnest($1::bigint[]) AS k ORDER BY k) AS o`

// exec runs a statement and ignores its rows.
func (l *link) exec(ctx context.Context, sql string, args ...any) error {
	return l.query(ctx, sql, args, func(pgx.Rows) error { return nil })
}

// enterScopes inserts the scopes that a table does not have, and locks the rows of all of them.
func (d *DB) enterScopes(ctx context.Context, l *link, table string, list []driver.Scope) error {
	var digests [][]byte
	var tenants, workspaces, users, agents []string
	known := map[driver.Scope]bool{}
	for _, s := range list {
		if !known[s] {
			known[s] = true
			digests = append(digests, scopeDigest(s))
			tenants, workspaces = append(tenants, s.Tenant), append(workspaces, s.Workspace)
			users, agents = append(users, s.User), append(agents, s.Agent)
		}
	}
	enter := fmt.Sprintf(`INSERT INTO %s (digest, tenant, workspace, user_id, agent, newest)
	SELECT g.*, '-infinity' FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[]) AS g (digest, tenant, workspace, user_id, agent)
	ORDER BY g.digest ON CONFLICT (digest) DO NOTHING`, table)
	if err := l.exec(ctx, d.sql(enter), digests, tenants, workspaces, users, agents); err != nil {
		return err
	}
	lock := fmt.Sprintf(`SELECT FROM %s WHERE digest = ANY ($1::bytea[]) ORDER BY digest FOR UPDATE`, table)
	return l.exec(ctx, d.sql(lock), digests)
}

// newest sets the newest time of each scope in a table to at least the latest restored time, so that
// later writes have later times.
func (d *DB) newest(ctx context.Context, l *link, table string, scopes [][]byte, times []time.Time) error {
	text := fmt.Sprintf(`UPDATE %s s SET newest = greatest(s.newest, g.at) FROM (SELECT o.digest, max(o.at) AS at
	FROM unnest($1::bytea[], $2::timestamptz[]) AS o (digest, at) GROUP BY o.digest) AS g WHERE s.digest = g.digest`, table)
	return l.exec(ctx, d.sql(text), scopes, times)
}
