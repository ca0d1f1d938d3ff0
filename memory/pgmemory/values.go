package pgmemory

import (
	"context"
	"iter"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// valueStore is a [driver.ValueStore]. It is safe for concurrent use if its [DB] is.
type valueStore struct{ db *DB }

var _ driver.ValueStore = (*valueStore)(nil)

// Values returns the database's store of values.
func (d *DB) Values() driver.ValueStore { return &valueStore{d} }

const (
	clearQuery  = `SELECT weft.mem_clear($1::bigint[], $2::bigint, $3::text[])`
	expireQuery = `WITH gone AS (DELETE FROM weft.mem_value WHERE key = ANY (ARRAY(SELECT v.key FROM weft.mem_value v
	WHERE v.expires_at <= clock_timestamp() ORDER BY v.expires_at LIMIT $1::bigint FOR UPDATE SKIP LOCKED)) RETURNING 1) SELECT count(*) FROM gone`
)

// Forget implements [driver.ValueStore], in one round trip.
func (v *valueStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	shared, alone := v.db.forgetLocks(s)
	v.db.sizes.clear()
	n, err := v.db.count(ctx, clearQuery, shared, alone, names(s))
	if err != nil {
		return 0, v.db.fail("forget values", err)
	}
	return n, nil
}

// Sweep implements [driver.ValueStore], in one round trip. It skips values that another transaction
// has locked.
func (v *valueStore) Sweep(ctx context.Context, limit int) (int, error) {
	if limit <= 0 {
		return 0, ctx.Err()
	}
	n, err := v.db.count(ctx, expireQuery, min(int64(limit), math.MaxInt32))
	if err != nil {
		return 0, v.db.fail("sweep values", err)
	}
	return n, nil
}

// Namespaces implements [driver.ValueStore], with one round trip for each 256 namespaces.
func (v *valueStore) Namespaces(ctx context.Context, s driver.Scope, q driver.NamespaceQuery) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		left, limited := q.Most()
		for more := true; more; {
			most := page
			if limited {
				most = min(left, page)
			}
			list, err := v.namespaces(ctx, s, &q, most)
			for _, labels := range list {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(labels, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, v.db.fail("list namespaces", err))
				return
			}
			left -= len(list)
			if more = len(list) == most && (!limited || left > 0); more {
				q.After = list[len(list)-1]
			}
		}
	}
}

func (v *valueStore) namespaces(ctx context.Context, s driver.Scope, q *driver.NamespaceQuery, most int) (list [][]string, err error) {
	sel := newValues(s)
	parts := append(fitting(&sel.args, q.Prefix, ``), fitting(&sel.args, q.Suffix, `cardinality(f.namespace) - `+itoa(len(q.Suffix))+` + `)...)
	labels := `f.namespace`
	if q.MaxDepth > 0 {
		labels = `f.namespace[1:` + sel.add(q.MaxDepth, "int") + `]`
	}
	if q.After != nil {
		parts = append(parts, labels+` > `+sel.add(q.After, "text[]"))
	}
	text := sel.with + ` SELECT DISTINCT ` + labels + ` AS labels FROM weft.mem_value f WHERE ` + strings.Join(append([]string{sel.where}, parts...), ` AND `) +
		` ORDER BY labels LIMIT ` + sel.add(most, "bigint")
	err = v.db.link.read(ctx, v.db.sql(text), sel.args, func() { list = nil }, func(rows pgx.Rows) error {
		var labels []string
		err := rows.Scan(&labels)
		list = append(list, labels)
		return err
	})
	return list, err
}

// fitting returns two conditions: a namespace has at least as many labels as the pattern, and its
// labels from a position on match the pattern.
func fitting(a *args, pattern []string, from string) []string {
	if len(pattern) == 0 {
		return nil
	}
	parts := []string{`cardinality(f.namespace) >= ` + itoa(len(pattern))}
	for i, label := range pattern {
		if label != driver.Any {
			parts = append(parts, `f.namespace[`+from+itoa(i+1)+`] = `+a.add(label, "text"))
		}
	}
	return parts
}
