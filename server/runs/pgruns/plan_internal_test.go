package pgruns

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server/runs"
)

// A page of waiting or expired threads is read in the order of an index, and the number of waiting threads from an
// index alone. After the migration, a store of an older version finds its threads.
func TestThreadsOfAStatusAreReadFromAnIndex(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, nil) // in a shared database, transactions of other tests would keep a vacuum from marking pages
	schema := pgtest.SchemaIn(t, url)
	store, err := Open(t.Context(), url, Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	pgtest.Do(t, url, `INSERT INTO `+schema+`.run_record (kind, id, parent, owner, graph, name, folded, status, created, updated, expires, labels)
		SELECT 'thread', 'thread' || n, '', '', 'graph', '', '', CASE n % 10 WHEN 0 THEN 'interrupted' WHEN 1 THEN 'error' ELSE 'idle' END,
		now() + n * interval '1 second', now(), CASE WHEN n % 2 = 0 THEN now() - n * interval '1 second' END, '{}' FROM generate_series(1, 20000) n`)
	interrupted := runs.Query{Kind: runs.Thread, Statuses: []string{"interrupted"}, Limit: 10, Reverse: true}
	wantNewest := func() {
		found, total, err := store.Search(t.Context(), interrupted)
		require.NoError(t, err)
		assert.Equal(t, 2000, total)
		require.Len(t, found, 10)
		assert.Equal(t, "thread20000", found[0].ID)
	}
	wantNewest()
	pgtest.Do(t, url, `DELETE FROM `+schema+`.run_open`)
	pgtest.Do(t, url, pgdb.InSchema(schema, migrations[3].Script)) // the migration fills the table
	wantNewest()

	pgtest.Do(t, url, `INSERT INTO `+schema+`.run_open (thread, state, made) SELECT 'failed' || n, 'error', now() FROM generate_series(1, 50000) n`)
	pgtest.Do(t, url, `VACUUM ANALYZE `+schema+`.run_record, `+schema+`.run_open`)
	expired := runs.Query{Kind: runs.Thread, Expired: time.Now(), Order: runs.ByExpires, Limit: 10}
	for _, c := range []struct {
		query runs.Query
		index string
	}{{interrupted, "run_open_state"}, {expired, "run_record_expires"}} {
		condition, err := conditionOf(&c.query)
		require.NoError(t, err)
		plan := planOf(t, store, url, `SELECT id`+condition.text+orderOf(&c.query)+` LIMIT 10`, condition.args)
		assert.Contains(t, plan, c.index)
		assert.NotContains(t, plan, "Seq Scan")
		if c.index == "run_open_state" { // an index of the time alone needs a sort for equal times
			assert.NotContains(t, plan, "Sort")
		}
		assert.NotRegexp(t, `rows=\d{3,} loops`, plan, "a page of ten reads hundreds of rows")
	}
	plan := planOf(t, store, url, countOpen, []any{"interrupted"})
	assert.Contains(t, plan, "Index Only Scan using run_open_state")
	assert.Contains(t, plan, "Heap Fetches: 0")
}

// planOf executes a query and returns its plan.
func planOf(t *testing.T, store *Store, url, query string, args []any) string {
	t.Helper()
	conn := pgtest.Connect(t, url)
	args = append([]any{pgx.QueryExecModeSimpleProtocol}, args...)
	rows, err := conn.Query(t.Context(), pgdb.InSchema(store.schema, `EXPLAIN (ANALYZE, COSTS off, TIMING off) `+query), args...)
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return fmt.Sprintln(lines)
}

// A search for unfinished runs and busy threads reads no other records, also in a store that was migrated from an older
// version.
func TestUnfinishedRunsAndBusyThreadsAreReadFromAnIndex(t *testing.T) {
	t.Parallel()
	schema, url := pgtest.Schema(t), pgtest.DirectURL(t)
	store, err := Open(t.Context(), url, Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	pgtest.Do(t, url, `INSERT INTO `+schema+`.run_record (kind, id, parent, owner, graph, name, folded, status, created, updated, labels)
		SELECT kind, kind || n, 'thread' || n, 'ada', 'graph', '', '', CASE WHEN n <= 10 THEN live ELSE rest END, now() + n * interval '1 second', now(), '{}'
		FROM generate_series(1, 20000) n, (VALUES ('run', 'running', 'success'), ('thread', 'busy', 'idle')) k (kind, live, rest)`)
	queries := []runs.Query{
		{Kind: runs.Run, Statuses: []string{"pending", "running"}},
		{Kind: runs.Run, Statuses: []string{"pending", "running"}, Owner: new("ada")}, // the limit of a user's runs counts them
		{Kind: runs.Thread, Statuses: []string{"busy"}},
	}
	wantTen := func() {
		for _, q := range queries {
			found, total, err := store.Search(t.Context(), q)
			require.NoError(t, err)
			assert.Equal(t, 10, total)
			assert.Len(t, found, 10)
		}
	}
	wantTen()
	pgtest.Do(t, url, `DELETE FROM `+schema+`.run_live`)
	pgtest.Do(t, url, pgdb.InSchema(schema, migrations[5].Script)) // the migration fills the table
	wantTen()

	pgtest.Do(t, url, `ANALYZE `+schema+`.run_record`)
	for _, q := range queries {
		condition, err := conditionOf(&q)
		require.NoError(t, err)
		plan := planOf(t, store, url, `SELECT id`+condition.text+orderOf(&q)+` LIMIT 100`, condition.args)
		assert.Contains(t, plan, "run_record_pkey")
		assert.NotContains(t, plan, "Seq Scan on run_record")
		assert.NotRegexp(t, `rows=\d{3,} loops`, plan, "ten records are found in hundreds of rows")
		plan = planOf(t, store, url, `SELECT count(*)`+condition.text, condition.args)
		assert.NotRegexp(t, `rows=\d{3,} loops`, plan, "ten records are counted in hundreds of rows")
	}
}

// The table of unfinished runs and busy threads is updated with the records.
func TestLiveRecordsFollowTheRecords(t *testing.T) {
	t.Parallel()
	ctx, schema, url := t.Context(), pgtest.Schema(t), pgtest.DirectURL(t)
	store, err := Open(ctx, url, Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	require.NoError(t, store.Insert(ctx, runs.Record{Kind: runs.Thread, ID: "t", Status: "idle"}, runs.Record{Kind: runs.Run, ID: "r", Parent: "t", Status: "pending"}))
	want := func(list string) {
		t.Helper()
		assert.Equal(t, list, pgtest.Ask[string](t, url, `SELECT coalesce(string_agg(kind || ' ' || id, ', ' ORDER BY kind), '') FROM `+schema+`.run_live`))
	}
	want("run r")
	for _, c := range []struct {
		kind   runs.Kind
		status string
		live   string
	}{
		{runs.Thread, "busy", "run r, thread t"},
		{runs.Run, "running", "run r, thread t"},
		{runs.Run, "success", "thread t"},
		{runs.Thread, "interrupted", ""},
		{runs.Run, "pending", "run r"},
		{runs.Thread, "busy", "run r, thread t"},
	} {
		r, err := store.Get(ctx, c.kind, map[runs.Kind]string{runs.Thread: "t", runs.Run: "r"}[c.kind])
		require.NoError(t, err)
		r.Status = c.status
		_, err = store.Update(ctx, r)
		require.NoError(t, err)
		want(c.live)
	}
	require.NoError(t, store.Delete(ctx, runs.Thread, "t"))
	want("")
}

// The status of a thread in run_open is updated with its record.
func TestListOfAStatusFollowsTheRecords(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, err := Open(ctx, pgtest.DirectURL(t), Options{Schema: pgtest.Schema(t)})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	r := runs.Record{Kind: runs.Thread, ID: "t", Status: "idle", Created: time.Now(), Owner: "ann"}
	require.NoError(t, store.Insert(ctx, r, runs.Record{Kind: runs.Run, ID: "r", Parent: "t", Status: "error"}))
	want := func(status string, owner string, n int) {
		t.Helper()
		q := runs.Query{Kind: runs.Thread, Statuses: []string{status}, Limit: 1}
		if owner != "" {
			q.Filter.Owner = &owner
		}
		found, total, err := store.Search(ctx, q)
		require.NoError(t, err)
		assert.Len(t, found, n)
		assert.Equal(t, n, total)
	}
	for _, status := range []string{"busy", "interrupted", "error", "idle", "interrupted"} {
		got, err := store.Get(ctx, runs.Thread, "t")
		require.NoError(t, err)
		got.Status = status
		_, err = store.Update(ctx, got)
		require.NoError(t, err)
		for _, other := range []string{"busy", "interrupted", "error", "idle"} {
			n := 0
			if other == status {
				n = 1
			}
			want(other, "", n)
			want(other, "ann", n)
			want(other, "bob", 0)
			want(other, "\x00", 0)
		}
	}
	require.NoError(t, store.Delete(ctx, runs.Thread, "t"))
	want("interrupted", "", 0)
}
