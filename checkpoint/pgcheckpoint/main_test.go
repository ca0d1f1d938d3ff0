package pgcheckpoint_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const maxValue = 100_000

// A place is the schema of a test, and the options to connect to it.
type place struct {
	url     string
	options pgcheckpoint.Options
}

// newPlace creates a schema. The stores of the place connect through PgBouncer if
// WEFT_POSTGRES_POOLED is 1.
func newPlace(tb testing.TB) place {
	tb.Helper()
	return place{url: pgtest.URL(tb), options: pgcheckpoint.Options{
		Schema: pgtest.Schema(tb), MaxValue: maxValue, Pooling: pooling(),
	}}
}

func pooling() pgcheckpoint.Pooling {
	if pgtest.Pooled() {
		return pgcheckpoint.Transaction
	}
	return pgcheckpoint.Detect
}

// pooledPlace creates a schema. The stores of the place connect through PgBouncer.
func pooledPlace(tb testing.TB) place {
	tb.Helper()
	return place{url: pgtest.PooledURL(tb), options: pgcheckpoint.Options{
		Schema: pgtest.Schema(tb), MaxValue: maxValue, Pooling: pgcheckpoint.Transaction,
	}}
}

// open opens a store that is closed when the test ends.
func (p place) open(tb testing.TB) *pgcheckpoint.Store {
	tb.Helper()
	store, err := pgcheckpoint.Open(context.Background(), p.url, p.options)
	require.NoError(tb, err)
	tb.Cleanup(store.Close)
	return store
}

// pool opens a pool as [pgcheckpoint.Open] does.
func (p place) pool(tb testing.TB, changes ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	config, err := pgcheckpoint.PoolConfig(p.url, p.options.Pooling)
	require.NoError(tb, err)
	for _, change := range changes {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

// migrated migrates the schema and returns a store on db.
func (p place) migrated(tb testing.TB, db pgcheckpoint.DB) *pgcheckpoint.Store {
	tb.Helper()
	ctx := context.Background()
	require.NoError(tb, pgcheckpoint.Migrate(ctx, db, p.options))
	store, err := pgcheckpoint.New(ctx, db, p.options)
	require.NoError(tb, err)
	return store
}

// conn opens a connection that does not cache statements.
func (p place) conn(tb testing.TB) *pgx.Conn {
	tb.Helper()
	return pgtest.Connect(tb, p.url)
}

// ask returns the first column of the first row. "weft." in the query is replaced by the
// schema of the place.
func ask[T any](tb testing.TB, p place, sql string, args ...any) T {
	tb.Helper()
	return pgtest.Ask[T](tb, p.url, p.sql(sql), args...)
}

func do(tb testing.TB, p place, sql string, args ...any) {
	tb.Helper()
	pgtest.Do(tb, p.url, p.sql(sql), args...)
}
