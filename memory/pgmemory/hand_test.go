package pgmemory_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory/driver"
)

// A form is a handwritten search for comparison: one prepared statement in one round trip, with
// the same columns and without counts.
type form struct {
	name     string
	pool     *pgxpool.Pool
	sql      string
	scopes   []int64
	settings bool                           // set indexSettings first
	find     func(v []float32) (int, error) // replaces the SQL statement, if not nil
	times    []time.Duration
	short    bool // it has found fewer rows than exist
}

// indexSettings are the settings for searches with the index.
const indexSettings = `SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '200', true),
	set_config('hnsw.max_scan_tuples', '20000', true), set_config('hnsw.scan_mem_multiplier', '4', true)`

// measure runs a form for a vector, unless the form has found too few rows before.
func (f *form) measure(v []float32, full int, counts bool) {
	if f.short {
		return
	}
	start := time.Now()
	n, err := f.ask(v)
	if counts {
		f.times = append(f.times, time.Since(start))
	}
	f.short = n < full || err != nil
}

func (f *form) ask(v []float32) (n int, err error) {
	if f.find != nil {
		return f.find(v)
	}
	b := &pgx.Batch{}
	if f.settings {
		b.Queue(indexSettings)
	}
	b.Queue(f.sql, v, f.scopes).Query(func(rows pgx.Rows) error {
		n, err = readPlain(rows)
		return err
	})
	return n, f.pool.SendBatch(context.Background(), b).Close()
}

// readPlain scans rows into variables of the columns' types.
func readPlain(rows pgx.Rows) (n int, err error) {
	var dest []any
	for rows.Next() {
		if dest == nil {
			for _, field := range rows.FieldDescriptions() {
				dest = append(dest, variable(rows.Conn(), field.DataTypeOID))
			}
		}
		if err := rows.Scan(dest...); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

func variable(conn *pgx.Conn, oid uint32) any {
	name := ""
	if kind, ok := conn.TypeMap().TypeForOID(oid); ok {
		name = kind.Name
	}
	switch name {
	case "int2", "int4", "int8":
		return new(int64)
	case "float8":
		return new(float64)
	case "timestamptz":
		return new(*time.Time)
	case "_text":
		return new([]string)
	case "bytea":
		return new([]byte)
	}
	return new(string)
}

const handDistance = `f.embedding OPERATOR(extensions.<=>) $1::float4[]::extensions.vector`

// byHand returns two searches: one compares all vectors that the conditions select, and one uses
// the index.
func byHand(t *testing.T, p place, table, columns, joins, where, inIndex string, scopes []int64) []form {
	t.Helper()
	space := ask[int64](t, p, `SELECT space FROM `+table+` LIMIT 1`)
	all := `SELECT ` + columns + ` FROM ` + table + ` f` + joins + ` WHERE ` + where + ` ORDER BY ` + handDistance + ` LIMIT 100`
	near := fmt.Sprintf(`WITH near AS MATERIALIZED (SELECT f.key, %s AS d FROM %s f WHERE f.space = '%d'::bigint AND CASE WHEN %s THEN true END
		ORDER BY f.embedding::extensions.vector(%d) OPERATOR(extensions.<=>) $1::float4[]::extensions.vector LIMIT 150)
		SELECT %s FROM near n JOIN %s f USING (key)%s ORDER BY n.d LIMIT 100`, handDistance, table, space, inIndex, cloudDimension, columns, table, joins)
	pool := p.pool(t)
	return []form{
		{name: "all", pool: pool, sql: p.sql(all), scopes: scopes},
		{name: "index", pool: pool, sql: p.sql(near), scopes: scopes, settings: true},
	}
}

func factsByHand(t *testing.T, p place, q driver.FactQuery) []form {
	t.Helper()
	scopes := ask[[]int64](t, p, `SELECT array_agg(s.key) FROM weft.mem_scope s WHERE s.tenant = 't' AND $1 IN ('', s.user_id)`, q.Scope.User)
	where := `f.scope = ANY ($2::bigint[]) AND f.trust < 2 AND f.valid_from <= now() AND f.valid_to IS NULL AND (f.expires_at IS NULL OR f.expires_at > now())
		AND f.model = 'm'`
	for _, c := range q.Where {
		where += ` AND (f.metadata ->> 'per_mille')::int < ` + string(c.Value)
	}
	columns := `f.id::text, f.kind, f.content, f.said, f.raw, f.conversation, f.turn, f.trust, f.importance, f.valid_from, f.valid_to, f.superseded_by, f.expires_at,
		f.created_at, f.updated_at, f.version, f.terms, f.model, extensions.vector_send(f.embedding)`
	joins := ``
	if q.AnyUser {
		columns += `, s.tenant, s.workspace, s.user_id, s.agent`
		joins = ` JOIN weft.mem_scope s ON s.key = f.scope`
	}
	return byHand(t, p, `weft.mem_fact`, columns, joins, where, where, scopes)
}

func chunksByHand(t *testing.T, p place, q driver.FactQuery) []form {
	t.Helper()
	shelves := ask[[]int64](t, p, `SELECT array_agg(s.key) FROM weft.mem_shelf s WHERE s.tenant = 't' AND $1 IN ('', s.user_id)`, q.Scope.User)
	const columns = `f.id::text, f.ordinal, f.headings, f.content, f.starts, f.ends, f.tokens, f.model, f.terms, extensions.vector_send(f.embedding), o.id::text,
		s.tenant, s.workspace, s.user_id, s.agent, o.uri, o.title, o.version, o.format, o.trust, o.raw, o.sha256, o.size, o.chunks, o.recipe, o.model, o.revision,
		o.created_at, o.updated_at`
	where, inIndex := `f.shelf = ANY ($2::bigint[]) AND f.model = 'm'`, ``
	for _, c := range q.Where {
		inIndex += ` AND (o.metadata ->> 'per_mille')::int < ` + string(c.Value)
	}
	all := where + inIndex
	if inIndex != `` {
		where += ` AND f.source IN (SELECT o.key FROM weft.mem_source o WHERE ` + strings.TrimPrefix(inIndex, ` AND `) + `)`
	}
	forms := byHand(t, p, `weft.mem_chunk`, columns, ` JOIN weft.mem_source o ON o.key = f.source JOIN weft.mem_shelf s ON s.key = f.shelf`, all, where, shelves)
	first := p.sql(`WITH near AS MATERIALIZED (SELECT f.key, ` + handDistance + ` AS d FROM weft.mem_chunk f WHERE ` + where + ` ORDER BY d LIMIT 100) SELECT ` + columns +
		` FROM near n JOIN weft.mem_chunk f USING (key) JOIN weft.mem_source o ON o.key = f.source JOIN weft.mem_shelf s ON s.key = f.shelf ORDER BY n.d`)
	return append(forms, form{name: "keys first", pool: forms[0].pool, sql: first, scopes: shelves})
}
