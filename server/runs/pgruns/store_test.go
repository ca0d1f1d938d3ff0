package pgruns_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/runstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

func open(tb testing.TB, url, schema string) *pgruns.Store {
	tb.Helper()
	store, err := pgruns.Open(context.Background(), url, pgruns.Options{Schema: schema})
	require.NoError(tb, err)
	tb.Cleanup(store.Close)
	return store
}

// The store passes the suite on a direct connection and through PgBouncer in transaction mode. All cases share one pool,
// and each has its own schema.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(testing.TB) string{"direct": pgtest.DirectURL, "pooled": pgtest.PooledURL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := pgcheckpoint.PoolConfig(url(t), pgcheckpoint.Detect)
			require.NoError(t, err)
			config.MaxConns = 8
			pool, err := pgxpool.NewWithConfig(context.Background(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			runstest.Run(t, func(tb testing.TB) runs.Store {
				tb.Helper()
				o := pgruns.Options{Schema: pgtest.Schema(tb)}
				require.NoError(tb, pgruns.Migrate(context.Background(), pool, o))
				store, err := pgruns.New(context.Background(), pool, o)
				require.NoError(tb, err)
				return store
			})
		})
	}
}

func TestNewRequiresMigrations(t *testing.T) {
	t.Parallel()
	config, err := pgcheckpoint.PoolConfig(pgtest.DirectURL(t), pgcheckpoint.Direct)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = pgruns.New(t.Context(), pool, pgruns.Options{Schema: pgtest.Schema(t)})
	require.ErrorIs(t, err, pgruns.ErrNotMigrated)
	_, err = pgruns.New(t.Context(), pool, pgruns.Options{Schema: `a"b`})
	require.ErrorContains(t, err, "other characters")
}

// The tables can be in one schema with the tables of the checkpoints.
func TestSchemaIsSharedWithCheckpoints(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	checkpoints, err := pgcheckpoint.Open(t.Context(), pgtest.DirectURL(t), pgcheckpoint.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(checkpoints.Close)
	store := open(t, pgtest.DirectURL(t), schema)
	require.NoError(t, store.Insert(t.Context(), runs.Record{Kind: runs.Run, ID: "r"}))
	again := open(t, pgtest.DirectURL(t), schema)
	_, err = again.Get(t.Context(), runs.Run, "r")
	require.NoError(t, err)
	_, n, err := again.Search(t.Context(), runs.Query{Kind: runs.Run, Name: "\x00"})
	require.NoError(t, err)
	assert.Zero(t, n)
}

// The database server closes the connections of the store repeatedly. Each batch of events, and each change of a record
// with it, takes effect once.
func TestLostConnectionsRepeatNoBatch(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	url := pgtest.DirectURL(t)
	store := open(t, url+"&application_name="+schema, schema)
	r := runs.Record{Kind: runs.Run, ID: "r", Parent: "t"}
	require.NoError(t, store.Insert(t.Context(), r))
	now, ended := make(chan struct{}, 1), make(chan int)
	go func() {
		killed := 0
		for range now {
			killed += pgtest.Ask[int](t, url, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1`, schema)
		}
		ended <- killed
	}()
	const n = 300
	for i := range int64(n) {
		if i%10 == 0 {
			select {
			case now <- struct{}{}:
			default:
			}
		}
		r.Revision = i + 1
		batch := []runs.Event{{Seq: 2*i + 1, Run: "r"}, {Seq: 2*i + 2, Run: "r"}}
		require.NoError(t, store.Append(t.Context(), "t", batch, r), "batch %d", i)
	}
	close(now)
	t.Logf("%d connections were ended", <-ended)
	events, err := store.Events(t.Context(), "t", 0, 0)
	require.NoError(t, err)
	require.Len(t, events, 2*n)
	got, err := store.Get(t.Context(), runs.Run, "r")
	require.NoError(t, err)
	assert.Equal(t, int64(n+1), got.Revision)
}
