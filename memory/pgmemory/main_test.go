package pgmemory_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"

	"github.com/weft-go/weft/memory/pgmemory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

// A place is the schema of a test, with the addresses of its database.
type place struct {
	url     string
	direct  string // address for the owner of the schema
	options pgmemory.Options
}

// newPlace returns a new schema. An environment variable can select connections through PgBouncer.
func newPlace(tb testing.TB) place {
	tb.Helper()
	if pgtest.Pooled() {
		return pooledPlace(tb)
	}
	return directPlace(tb)
}

func directPlace(tb testing.TB) place {
	tb.Helper()
	return place{pgtest.DirectURL(tb), pgtest.DirectURL(tb), pgmemory.Options{Schema: pgtest.Schema(tb), Pooling: pgmemory.Direct}}
}

func pooledPlace(tb testing.TB) place {
	tb.Helper()
	return place{pgtest.PooledURL(tb), pgtest.DirectURL(tb), pgmemory.Options{Schema: pgtest.Schema(tb), Pooling: pgmemory.Transaction}}
}

// open opens a memory that is closed when the test ends.
func (p place) open(tb testing.TB) *pgmemory.DB {
	tb.Helper()
	db, err := pgmemory.Open(context.Background(), p.url, p.options)
	require.NoError(tb, err)
	tb.Cleanup(db.Close)
	return db
}

// pool opens a pool in the same way as [pgmemory.Open].
func (p place) pool(tb testing.TB, changes ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	config, err := pgmemory.PoolConfig(p.url, p.options.Pooling)
	require.NoError(tb, err)
	for _, change := range changes {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

// migrated migrates the schema, and returns a memory on the connection.
func (p place) migrated(tb testing.TB, on pgmemory.Conn) *pgmemory.DB {
	tb.Helper()
	require.NoError(tb, pgmemory.Migrate(context.Background(), on, p.options))
	db, err := pgmemory.New(context.Background(), on, p.options)
	require.NoError(tb, err)
	return db
}

func (p place) sql(text string) string {
	return strings.ReplaceAll(text, "weft.", p.options.Schema+".")
}

// conn opens a connection that caches no statements.
func (p place) conn(tb testing.TB) *pgx.Conn {
	tb.Helper()
	return pgtest.Connect(tb, p.direct)
}

// ask returns the first column of the first row. It replaces "weft." with the schema of the place.
func ask[T any](tb testing.TB, p place, sql string, args ...any) T {
	tb.Helper()
	return pgtest.Ask[T](tb, p.direct, p.sql(sql), args...)
}

func do(tb testing.TB, p place, sql string, args ...any) {
	tb.Helper()
	pgtest.Do(tb, p.direct, p.sql(sql), args...)
}
