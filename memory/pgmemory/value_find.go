package pgmemory

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// valueColumns are the columns of a value f.
const valueColumns = `f.namespace, f.name, f.raw, f.version, f.created_at, f.updated_at, f.expires_at`

// newValues selects the values of a scope that have not expired.
func newValues(s driver.Scope) *selection {
	sel := &selection{slow: true}
	sel.with = `WITH reach AS MATERIALIZED (SELECT s.key FROM weft.mem_value_scope s WHERE s.digest = ` + sel.add(scopeDigest(s), "bytea") + `)`
	sel.where = `f.scope = (SELECT key FROM reach) AND (f.expires_at IS NULL OR f.expires_at > statement_timestamp())`
	return sel
}

// selectValues selects the values of a query, without its After.
func selectValues(s driver.Scope, q *driver.ValueSelection) (*selection, error) {
	sel := newValues(s)
	and := func(text string) { sel.where += ` AND ` + text }
	switch n := len(q.Prefix); {
	case q.Own:
		and(`f.namespace = ` + sel.add(append([]string{}, q.Prefix...), "text[]"))
	case n > 0:
		// U+0001 is the least character of a label, so no label sorts between the last label and
		// the last label followed by U+0001.
		end := slices.Clone(q.Prefix)
		end[n-1] += "\x01"
		and(`f.namespace >= ` + sel.add(q.Prefix, "text[]") + ` AND f.namespace < ` + sel.add(end, "text[]"))
	}
	if q.KeyPrefix != "" {
		and(`starts_with(f.name, ` + sel.add(q.KeyPrefix, "text") + `)`)
	}
	if len(q.Addresses) == 1 {
		and(`f.namespace = ` + sel.add(append([]string{}, q.Addresses[0].Namespace...), "text[]") + ` AND f.name = ` + sel.add(q.Addresses[0].Key, "text"))
	} else if q.Addresses != nil {
		namespaces, keys := make([]string, len(q.Addresses)), make([]string, len(q.Addresses))
		for i, a := range q.Addresses {
			namespaces[i], keys[i] = textArray(a.Namespace), a.Key
		}
		and(`f.key = ANY (ARRAY(SELECT v.key FROM unnest(` + sel.add(namespaces, "text[]") + `, ` + sel.add(keys, "text[]") + `) AS a (namespace, name)
	CROSS JOIN LATERAL (SELECT v.key FROM weft.mem_value v WHERE v.scope = (SELECT key FROM reach) AND v.namespace = a.namespace::text[] AND v.name = a.name) v))`)
	}
	if q.Without != "" {
		and(`(f.word_count > 0 OR f.space IS NOT NULL) AND ` + without(&sel.args, q.Without, q.Dimension))
	}
	for _, c := range q.Where {
		text, err := condition(`f.value`, c, &sel.args)
		if err != nil {
			return nil, err
		}
		and(text)
	}
	sel.size = `SELECT count(*) FILTER (WHERE f.word_count > 0) AS rows, coalesce(sum(f.word_count), 0)::bigint AS terms FROM weft.mem_value f WHERE ` + sel.where
	return sel, nil
}

// Find implements [driver.ValueStore], with one round trip for each 256 values, or one for all
// addresses. Values that change before their page is read may be left out.
func (v *valueStore) Find(ctx context.Context, s driver.Scope, q driver.ValueSelection) iter.Seq2[driver.Item, error] {
	return func(yield func(driver.Item, error) bool) {
		left, limited := q.Most()
		size := max(page, len(q.Addresses)+1)
		for more := true; more; {
			most := size
			if limited {
				most = min(left, size)
			}
			list, err := v.next(ctx, s, &q, most)
			for i := range list {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(list[i], nil) {
					return
				}
			}
			if err != nil {
				yield(driver.Item{}, v.db.fail("find values", err))
				return
			}
			left -= len(list)
			if more = len(list) == most && (!limited || left > 0); more {
				q.After = &list[len(list)-1]
			}
		}
	}
}

// The orders of values.
const (
	newestFirst = ` ORDER BY f.updated_at DESC, f.namespace DESC, f.name DESC`
	byKey       = ` ORDER BY f.namespace, f.name`
)

// next returns the next page of a query, with up to most values.
func (v *valueStore) next(ctx context.Context, s driver.Scope, q *driver.ValueSelection, most int) (list []driver.Item, err error) {
	sel, err := selectValues(s, q)
	if err != nil {
		return nil, err
	}
	order := newestFirst
	if q.Order == driver.ByKey {
		order = byKey
	}
	if after := q.After; after != nil {
		address := sel.add(append([]string{}, after.Namespace...), "text[]") + `, ` + sel.add(after.Key, "text") + `)`
		if q.Order == driver.ByKey {
			sel.where += ` AND (f.namespace, f.name) > (` + address
		} else {
			sel.where += ` AND (f.updated_at, f.namespace, f.name) < (` + sel.add(after.UpdatedAt.UTC(), "timestamptz") + `, ` + address
		}
	}
	chosen := valueColumns + ` FROM weft.mem_value f WHERE ` + sel.where + order + ` LIMIT ` + sel.add(most, "bigint")
	text := sel.with + ` SELECT ` + chosen
	if q.Refresh {
		text = sel.with + refreshing(chosen, order, v.db.link.inTransaction())
	}
	var r itemRow
	dest := r.dest()
	err = v.db.link.read(ctx, v.db.sql(text), sel.args, func() { list = nil }, func(rows pgx.Rows) error {
		err := rows.Scan(dest...)
		list = append(list, r.item())
		return err
	})
	return list, err
}

// refreshing returns a statement that selects values and restarts the TTL of sliding values. The statement skips values
// that another transaction has locked.
//
// The statement can still wait for a lock. Between its scan and its lock of a row, another read may update the row, and a write
// may lock the new version of the row. If that write waits for a row that the statement has locked, they deadlock, and PostgreSQL
// detects this after a second. lock_timeout ends the statement earlier, and it is sent again. If once is true, the statement is
// part of a transaction of the caller and cannot be sent again, so it does not set lock_timeout.
func refreshing(chosen, order string, once bool) string {
	limit := `set_config('lock_timeout', '200ms', true)`
	if once {
		limit = `''`
	}
	return `, waits AS MATERIALIZED (SELECT ` + limit + ` IS NOT NULL AS briefly), found AS MATERIALIZED (SELECT f.key, f.refresh, ` + chosen + `)
	, due AS MATERIALIZED (SELECT v.key FROM weft.mem_value v WHERE (SELECT briefly FROM waits) AND v.key = ANY (ARRAY(SELECT f.key FROM found f WHERE f.refresh))
	AND v.refresh AND v.expires_at > statement_timestamp() FOR UPDATE SKIP LOCKED)
	, living AS (UPDATE weft.mem_value v SET expires_at = greatest(v.expires_at, statement_timestamp() + v.ttl * interval '1 microsecond')
	FROM due d WHERE v.key = d.key RETURNING v.key, v.expires_at)
	SELECT f.namespace, f.name, f.raw, f.version, f.created_at, f.updated_at, coalesce(l.expires_at, f.expires_at)
	FROM found f LEFT JOIN living l USING (key)` + order
}

// An itemRow is a value, with the scanned values that are converted to its fields.
type itemRow struct {
	driver.Item
	raw  []byte
	ends *time.Time
}

// dest returns the scan destinations for valueColumns.
func (r *itemRow) dest() []any {
	return []any{&r.Namespace, &r.Key, &r.raw, &r.Version, &r.CreatedAt, &r.UpdatedAt, &r.ends}
}

// item returns the scanned value.
func (r *itemRow) item() driver.Item {
	n := r.Item
	n.Value = json.RawMessage(r.raw)
	n.CreatedAt, n.UpdatedAt, n.ExpiresAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC(), maybe(r.ends)
	return n
}
