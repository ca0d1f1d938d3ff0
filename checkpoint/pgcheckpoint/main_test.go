package pgcheckpoint_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const maxValue = 100_000

// A place is a schema of a test, and how to reach it.
type place struct {
	url     string
	options pgcheckpoint.Options
}

// newPlace takes a schema, through a PgBouncer if the environment asks for it.
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

// pooledPlace takes a schema through a PgBouncer.
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
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(store.Close)
	return store
}

// pool opens a pool as [pgcheckpoint.Open] does.
func (p place) pool(tb testing.TB, changes ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	config, err := pgcheckpoint.PoolConfig(p.url, p.options.Pooling)
	if err != nil {
		tb.Fatal(err)
	}
	for _, change := range changes {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// migrated returns a store on a pool of the test's.
func (p place) migrated(tb testing.TB, db pgcheckpoint.DB) *pgcheckpoint.Store {
	tb.Helper()
	ctx := context.Background()
	if err := pgcheckpoint.Migrate(ctx, db, p.options); err != nil {
		tb.Fatal(err)
	}
	store, err := pgcheckpoint.New(ctx, db, p.options)
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

// conn opens a connection that caches nothing.
func (p place) conn(tb testing.TB) *pgx.Conn {
	tb.Helper()
	return pgtest.Connect(tb, p.url)
}

// ask returns the first column of the first row. The schema of the place stands
// for "weft.".
func ask[T any](tb testing.TB, p place, sql string, args ...any) T {
	tb.Helper()
	return pgtest.Ask[T](tb, p.url, p.sql(sql), args...)
}

func do(tb testing.TB, p place, sql string, args ...any) {
	tb.Helper()
	pgtest.Do(tb, p.url, p.sql(sql), args...)
}
