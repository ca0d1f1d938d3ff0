package pgmemory

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const (
	valueScopes = `s.key FROM weft.mem_value_scope`

	savedValues = `SELECT f.namespace, f.name, f.raw, f.created_at, f.updated_at, f.expires_at, CASE WHEN f.refresh THEN f.ttl ELSE 0 END, f.terms, f.model,
	%s.vector_send(f.embedding) FROM weft.mem_value f WHERE f.scope = $1::bigint AND (f.namespace, f.name) > ($2::text[], $3::text)
	AND (f.expires_at IS NULL OR f.expires_at > statement_timestamp()) ORDER BY f.namespace, f.name LIMIT $4::int`

	// removeStale deletes expired values at the addresses of the values to restore.
	removeStale = `DELETE FROM weft.mem_value v USING unnest($1::bytea[], $2::text[], $3::text[]) AS g (digest, namespace, name)
	JOIN weft.mem_value_scope s ON s.digest = g.digest
	WHERE v.scope = s.key AND v.namespace = g.namespace::text[] AND v.name = g.name AND v.expires_at <= clock_timestamp()`
	// restoreValues sets versions as a write does: from the database's clock, in microseconds.
	restoreValues = `INSERT INTO weft.mem_value (scope, namespace, name, version, value, raw, ttl, refresh, terms, word_count, words, model, space, embedding,
	created_at, updated_at, expires_at)
	SELECT s.key, g.namespace::text[], g.name, extract(epoch FROM clock_timestamp()) * 1000000 + g.nr, g.value::jsonb, g.raw::json, g.ttl, g.refresh,
	g.terms::text[], cardinality(g.terms::text[]), g.words::bigint[], g.model, g.space, g.embedding::%s.vector, g.created_at, g.updated_at, g.expires_at
	FROM unnest($1::bytea[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::boolean[], $8::text[], $9::text[], $10::text[], $11::bigint[],
	$12::text[], $13::timestamptz[], $14::timestamptz[], $15::timestamptz[]) WITH ORDINALITY
	AS g (digest, namespace, name, value, raw, ttl, refresh, terms, words, model, space, embedding, created_at, updated_at, expires_at, nr)
	JOIN weft.mem_value_scope s ON s.digest = g.digest ORDER BY g.nr ON CONFLICT (scope, namespace, name) DO NOTHING RETURNING version`
)

// Dump implements [driver.ValueStore], with a round trip for each 256 values of a scope.
func (v *valueStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedValue, error] {
	text := fmt.Sprintf(v.db.sql(savedValues), v.db.vector)
	return dump(ctx, v.db, valueScopes, s, func(in *savedScope, last *driver.SavedValue) (list []driver.SavedValue, err error) {
		after := driver.Address{Namespace: []string{}}
		if last != nil {
			after = last.Address
		}
		err = v.db.link.read(ctx, text, []any{in.key, after.Namespace, after.Key, page}, func() { list = nil }, func(rows pgx.Rows) error {
			one := driver.SavedValue{Scope: in.Scope}
			var raw, vector []byte
			var ttl int64
			var expires *time.Time
			err := rows.Scan(&one.Namespace, &one.Key, &raw, &one.CreatedAt, &one.UpdatedAt, &expires, &ttl, &one.Terms, &one.Model, &vector)
			if err != nil {
				return err
			}
			one.Value, one.TTL = json.RawMessage(raw), time.Duration(ttl)*time.Microsecond
			one.CreatedAt, one.UpdatedAt, one.ExpiresAt = one.CreatedAt.UTC(), one.UpdatedAt.UTC(), maybe(expires)
			one.Embedding, err = readVector(vector)
			list = append(list, one)
			return err
		})
		return list, err
	})
}

// Restore implements [driver.ValueStore], in seven round trips.
func (v *valueStore) Restore(ctx context.Context, list []driver.SavedValue) (int, error) {
	return restore(ctx, v.db, list, func(one *driver.SavedValue) driver.Scope { return one.Scope }, func(l *link, scopes [][]byte) (int, error) {
		return v.restore(ctx, l, list, scopes)
	})
}

func (v *valueStore) restore(ctx context.Context, l *link, list []driver.SavedValue, scopes [][]byte) (count int, err error) {
	all, writes := make([]driver.Scope, len(list)), make([]driver.ValueWrite, len(list))
	created, updated, expires := make([]time.Time, len(list)), make([]time.Time, len(list)), make([]*time.Time, len(list))
	tenants := make([]string, len(list))
	for i := range list {
		one := &list[i]
		writes[i] = driver.ValueWrite{
			Address: one.Address, Value: one.Value, TTL: one.TTL, Refresh: one.TTL > 0, Terms: one.Terms, Embedding: one.Embedding, Model: one.Model,
		}
		all[i], tenants[i] = one.Scope, one.Scope.Tenant
		created[i], updated[i], expires[i] = one.CreatedAt, one.UpdatedAt, optional(one.ExpiresAt)
	}
	c, err := newWrites(tenants, writes)
	if err != nil {
		return 0, err
	}
	namespace, name := c[0], c[1]
	if err := v.db.enterScopes(ctx, l, `weft.mem_value_scope`, all); err != nil {
		return 0, err
	}
	if err := l.exec(ctx, v.db.sql(removeStale), scopes, namespace, name); err != nil {
		return 0, err
	}
	// The first three columns of a write are the namespace, the name and the version. A restored
	// value gets a new version.
	values := append(append([]any{scopes, namespace, name}, c[3:]...), created, updated, expires)
	err = l.query(ctx, fmt.Sprintf(v.db.sql(restoreValues), v.db.vector), values, func(pgx.Rows) error {
		count++
		return nil
	})
	if err != nil {
		return 0, err
	}
	return count, v.db.newest(ctx, l, `weft.mem_value_scope`, scopes, updated)
}
