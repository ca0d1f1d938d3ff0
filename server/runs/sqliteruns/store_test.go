package sqliteruns_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/runstest"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(tb testing.TB, path string, o sqliteruns.Options) *sqliteruns.Store {
	tb.Helper()
	store, err := sqliteruns.Open(context.Background(), path, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, store.Close()) })
	return store
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(testing.TB) string{
		"file":   func(tb testing.TB) string { tb.Helper(); return filepath.Join(tb.TempDir(), "runs.db") },
		"memory": func(testing.TB) string { return sqliteruns.Memory },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runstest.Run(t, func(tb testing.TB) runs.Store { tb.Helper(); return open(tb, path(tb), sqliteruns.Options{}) })
		})
	}
}

func TestStoreIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	first, err := sqliteruns.Open(t.Context(), path, sqliteruns.Options{})
	require.NoError(t, err)
	require.NoError(t, first.Insert(t.Context(), runs.Record{Kind: runs.Run, ID: "r", Parent: "t"}))
	require.NoError(t, first.Append(t.Context(), "t", []runs.Event{{Seq: 1, Run: "r"}, {Seq: 2, Run: "r"}}))
	require.NoError(t, first.Close())
	second := open(t, path, sqliteruns.Options{})
	_, err = second.Get(t.Context(), runs.Run, "r")
	require.NoError(t, err)
	last, _, err := second.Last(t.Context(), "t")
	require.NoError(t, err)
	assert.Equal(t, int64(2), last)
}

func TestFullFileIsToldAndStaysReadable(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "runs.db"), sqliteruns.Options{MaxSize: 300 << 10})
	large := make([]byte, 10<<10)
	for i := range large {
		large[i] = '1'
	}
	var err error
	n := int64(0)
	for ; err == nil; n++ {
		err = store.Append(t.Context(), "t", []runs.Event{{Seq: n + 1, Run: "r", Data: large}})
	}
	require.ErrorIs(t, err, sqliteruns.ErrFull)
	events, err := store.Events(t.Context(), "t", 0, 0)
	require.NoError(t, err)
	assert.Len(t, events, int(n-1))
}

// In a store with many threads, the searches of a user read only the user's own ones.
func TestSearchesOfAUserUseIndexes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	open(t, path, sqliteruns.Options{})
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	for where, indexes := range map[string][]string{
		`run_record WHERE kind = 'thread' AND owner = 'ann'`: {"run_record_owner"},
		`run_record INDEXED BY run_record_parent WHERE kind = 'run' AND parent IN (SELECT id FROM run_record WHERE kind = 'thread' AND owner = 'ann')`: {"run_record_owner", "run_record_parent"},
	} {
		rows, err := db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN SELECT id FROM `+where+` ORDER BY created DESC, id DESC LIMIT 10`)
		require.NoError(t, err)
		plan := ""
		for rows.Next() {
			var id, parent, unused int
			var step string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
			plan += step + "\n"
		}
		require.NoError(t, rows.Err())
		for _, index := range indexes {
			assert.Contains(t, plan, index, where)
		}
	}
}
