package pgdb_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPoolConfigOfURLs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		address string
		pooled  *bool
		want    bool
	}{
		{"postgres://h/d", nil, false},
		{"postgres://h:6543/d", nil, true},
		{"postgres://h:6432/d", nil, true},
		{"postgres://aws-0.pooler.supabase.com:5432/d", nil, true},
		{"postgres://ep-pooler.neon.tech/d", nil, true},
		{"postgres://h/d?pgbouncer=true", nil, true},
		{"postgres://h/d?pgbouncer=false", nil, false},
		{"postgres://h:6543/d", new(false), false},
		{"postgres://h/d", new(true), true},
	} {
		t.Run(test.address, func(t *testing.T) {
			t.Parallel()
			config, err := pgdb.PoolConfig(test.address, test.pooled)
			require.NoError(t, err)
			assert.Equal(t, test.want, config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeExec, "without preparing")
			assert.NotContains(t, config.ConnConfig.RuntimeParams, "pgbouncer")
			assert.Equal(t, 5*time.Second, config.ConnConfig.ConnectTimeout)
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			defer pool.Close()
			assert.Equal(t, !test.want, pgdb.Caches(pool))
		})
	}
	_, err := pgdb.PoolConfig("postgres://h:port/d", nil)
	require.Error(t, err)
	assert.True(t, pgdb.Caches(nil))
	assert.False(t, pgdb.Pooled(nil))
}

func TestPoolDetectsATransactionPooler(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		url    string
		pooled *bool
		mode   pgx.QueryExecMode
		extra  int32 // connections beyond the size of the pool
	}{
		"direct":                  {pgtest.DirectURL(t), nil, pgx.QueryExecModeCacheStatement, 1},
		"direct, as configured":   {pgtest.DirectURL(t), new(false), pgx.QueryExecModeCacheStatement, 0},
		"a pooler":                {pgtest.PooledURL(t), nil, pgx.QueryExecModeExec, 1},
		"a pooler, as configured": {pgtest.PooledURL(t), new(true), pgx.QueryExecModeExec, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, err := pgdb.PoolConfig(test.url, test.pooled)
			require.NoError(t, err)
			const conns = 20
			config.MaxConns = conns
			var dialed atomic.Int32
			dial := config.ConnConfig.DialFunc
			config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
				dialed.Add(1)
				return dial(ctx, network, addr)
			}
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			defer pool.Close()
			var all sync.WaitGroup
			for range conns {
				all.Go(func() {
					c, err := pool.Acquire(t.Context())
					if !assert.NoError(t, err) {
						return
					}
					defer c.Release()
					assert.Equal(t, test.mode, c.Conn().Config().DefaultQueryExecMode)
					for i := range 20 {
						var n int
						assert.NoError(t, c.QueryRow(t.Context(), `SELECT $1::int + 1 FROM pg_sleep(0.001)`, i).Scan(&n))
						assert.Equal(t, i+1, n)
					}
				})
			}
			all.Wait()
			assert.LessOrEqual(t, dialed.Load(), conns+test.extra)
		})
	}
}

func TestPoolReturnsTheErrorOfItsFirstConnection(t *testing.T) {
	t.Parallel()
	config, err := pgdb.PoolConfig("postgres://user@127.0.0.1:1/d?sslmode=disable", nil)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	var refused net.Error
	require.ErrorAs(t, pool.Ping(t.Context()), &refused)
}

func TestPauseWaitsUntilItsLimitOrTheEndOfItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.NoError(t, pgdb.Pause(t.Context(), time.Minute))
		assert.LessOrEqual(t, time.Since(start), time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, pgdb.Pause(ctx, time.Hour), context.Canceled)
	})
}
