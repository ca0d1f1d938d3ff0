package pgcheckpoint

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

// Every page of the list is read from the index alone, in the order of the index, and with few
// entries that are not on the page. The plan has no sort, and reads no row of the table.
func TestListStatusReadsOnlyTheIndex(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t, nil) // transactions in the database of other tests would keep a vacuum from marking pages
	schema := pgtest.SchemaIn(t, url)
	store, err := Open(t.Context(), url, Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	pgtest.Do(t, url, `INSERT INTO `+schema+`.cp_open (thread, task, number, node, status, tenant, id, time)
		SELECT n, 'task' || m, -1, 'node' || n % 3, CASE n % 10 WHEN 0 THEN 'failed' ELSE 'paused' END, '', 'thread' || to_char(n, 'FM000000'), now()
		FROM generate_series(1, 30000) n, generate_series(1, 2) m`)
	pgtest.Do(t, url, `VACUUM ANALYZE `+schema+`.cp_open`)
	for name, c := range map[string]struct {
		query string
		args  string
	}{
		"first page":            {statusQuery, `'', 'paused', '', '', 128`},
		"deep page":             {statusQuery, `'', 'paused', 'node1', 'thread029000', 128`},
		"failed":                {statusQuery, `'', 'failed', '', '', 128`},
		"node":                  {nodeStatusQuery, `'', 'paused', 'node2', '', 128`},
		"deep page of a node":   {nodeStatusQuery, `'', 'paused', 'node2', 'thread020000', 128`},
		"the node of no thread": {nodeStatusQuery, `'', 'paused', 'node', '', 128`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				plan := explain(t, url, mode, store.sql(c.query), c.args)
				assert.Contains(t, plan, "Index Only Scan using cp_open_status", mode)
				assert.Contains(t, plan, "Heap Fetches: 0", mode)
				for _, bad := range []string{"Sort", "Seq Scan", "Bitmap", "Filter", "HashAggregate"} {
					assert.NotContains(t, plan, bad, mode)
				}
				assert.NotRegexp(t, `rows=\d{4,} loops`, plan, "%s: a page of 128 threads reads a thousand rows", mode)
			}
		})
	}
}

// explain returns the plan with which a query with the parameters of statusQuery was executed.
func explain(t *testing.T, url, mode, query, args string) string {
	t.Helper()
	conn := pgtest.Connect(t, url)
	for _, text := range []string{`SET plan_cache_mode = ` + mode, `PREPARE page AS ` + query} {
		_, err := conn.Exec(t.Context(), text)
		require.NoError(t, err)
	}
	rows, err := conn.Query(t.Context(), `EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) EXECUTE page (`+args+`)`)
	require.NoError(t, err)
	defer rows.Close()
	plan := ""
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan += line + "\n"
	}
	require.NoError(t, rows.Err())
	return plan
}

// A name that is too long for the index does not fail the run. Its thread is not listed.
func TestTooLongNamesAreNotListed(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), pgtest.URL(t), Options{Schema: pgtest.Schema(t)})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	long := fmt.Sprintf("%02000d", 1)
	for _, thread := range []string{long, "t"} {
		key := checkpoint.Key{Thread: thread, ID: "a"}
		require.NoError(t, store.Put(t.Context(), checkpoint.Checkpoint{Key: key}, ""))
		require.NoError(t, store.PutWrites(t.Context(), key, []checkpoint.Write{{Task: long, Index: -1, Channel: "$ask"}}))
	}
	var listed []string
	for one, err := range store.ListStatus(t.Context(), checkpoint.StatusQuery{Status: checkpoint.Paused}) {
		require.NoError(t, err)
		listed = append(listed, one.Thread)
	}
	assert.Equal(t, []string{"t"}, listed)
}
