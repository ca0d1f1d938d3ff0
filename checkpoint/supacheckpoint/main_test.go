package supacheckpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const maxValue = 100_000

// The ids of two users of the project.
const (
	ann = "11111111-1111-4111-8111-111111111111"
	bob = "22222222-2222-4222-8222-222222222222"
)

// A place is the schema of one test in a database with the roles of a Supabase project.
type place struct {
	database string // the URL with which the owner of the schema connects
	url      string // the URL with which the store under test connects
	options  supacheckpoint.Options
}

// places has the two ways to connect to PostgreSQL, by name.
var places = map[string]func(testing.TB) place{"direct": directPlace, "pooled": pooledPlace}

// directPlace returns a place whose store connects without a pooler. It logs in as
// Supabase's role authenticator, which owns nothing.
func directPlace(tb testing.TB) place {
	tb.Helper()
	p := makePlace(tb)
	p.url = supatest.Authenticator(tb, p.database)
	return p
}

// pooledPlace returns a place whose store connects through a PgBouncer.
func pooledPlace(tb testing.TB) place {
	tb.Helper()
	p := makePlace(tb)
	p.url = pgtest.WithDatabase(tb, pgtest.PooledURL(tb), p.database)
	p.options.Checkpoint.Pooling = pgcheckpoint.Transaction
	return p
}

// makePlace returns a migrated place that has no URL for the store yet.
func makePlace(tb testing.TB) place {
	tb.Helper()
	database := supatest.Database(tb, nil)
	p := place{database: database, options: supacheckpoint.Options{
		Checkpoint: pgcheckpoint.Options{Schema: pgtest.SchemaIn(tb, database), MaxValue: maxValue},
		Migrated:   true,
	}}
	pool, err := pgxpool.New(context.Background(), database)
	require.NoError(tb, err)
	defer pool.Close()
	require.NoError(tb, supacheckpoint.Migrate(context.Background(), pool, p.options))
	return p
}

// open opens a store and closes it when the test ends.
func (p place) open(tb testing.TB) *supacheckpoint.Store {
	tb.Helper()
	store, err := supacheckpoint.Open(context.Background(), p.url, p.options)
	require.NoError(tb, err)
	tb.Cleanup(store.Close)
	return store
}

// as returns the store that acts for a user under row-level security.
func as(tb testing.TB, store *supacheckpoint.Store, user string) *supacheckpoint.Store {
	tb.Helper()
	mine, err := store.As(supacheckpoint.User{ID: user})
	require.NoError(tb, err)
	return mine
}

// sql replaces the schema weft of a statement with the schema of the place.
func (p place) sql(text string) string {
	return strings.ReplaceAll(text, "weft.", p.options.Checkpoint.Schema+".")
}

// conn connects as the owner of the schema.
func (p place) conn(tb testing.TB) *pgx.Conn {
	tb.Helper()
	return pgtest.Connect(tb, p.database)
}

// ask runs a query as the owner and returns the first column of its first row.
func ask[T any](tb testing.TB, p place, sql string, args ...any) T {
	tb.Helper()
	return pgtest.Ask[T](tb, p.database, p.sql(sql), args...)
}

// do runs a statement as the owner.
func do(tb testing.TB, p place, sql string, args ...any) {
	tb.Helper()
	pgtest.Do(tb, p.database, p.sql(sql), args...)
}

func stepID(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// step returns checkpoint n of a thread. Its parent is checkpoint n-1.
func step(thread string, n int) checkpoint.Checkpoint {
	c := checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: thread, ID: stepID(n)}, Step: n, Source: checkpoint.Loop, Run: "run", Version: "1",
		Control: []byte(`{"next":["tools"]}`), Metadata: map[string]string{"team": "support"},
		Changes: []checkpoint.Change{{Channel: "messages", Kind: 2, Data: fmt.Appendf(nil, `["message %d"]`, n)}},
	}
	if n > 1 {
		c.Parent = stepID(n - 1)
	}
	return c
}

// putAll stores checkpoints 1 to n of a thread.
func putAll(tb testing.TB, store checkpoint.Store, thread string, n int) {
	tb.Helper()
	for i := range n {
		c := step(thread, i+1)
		require.NoError(tb, store.Put(context.Background(), c, c.Parent))
	}
}
