package supacheckpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const maxValue = 100_000

// Users of the project.
const (
	ann = "11111111-1111-4111-8111-111111111111"
	bob = "22222222-2222-4222-8222-222222222222"
)

// A place is a schema of a test in the project's database.
type place struct {
	database string // for who owns it
	url      string // for who works with it
	options  supacheckpoint.Options
}

// places are the ways to a database.
var places = map[string]func(testing.TB) place{"direct": directPlace, "pooled": pooledPlace}

// directPlace logs in as the user that owns nothing.
func directPlace(tb testing.TB) place {
	tb.Helper()
	p := makePlace(tb)
	p.url = supatest.Authenticator(tb, p.database)
	return p
}

func pooledPlace(tb testing.TB) place {
	tb.Helper()
	p := makePlace(tb)
	p.url = pgtest.WithDatabase(tb, pgtest.PooledURL(tb), p.database)
	p.options.Checkpoint.Pooling = pgcheckpoint.Transaction
	return p
}

func makePlace(tb testing.TB) place {
	tb.Helper()
	database := supatest.Database(tb, nil)
	p := place{database: database, options: supacheckpoint.Options{
		Checkpoint: pgcheckpoint.Options{Schema: pgtest.SchemaIn(tb, database), MaxValue: maxValue},
		Migrated:   true,
	}}
	pool, err := pgxpool.New(context.Background(), database)
	if err != nil {
		tb.Fatal(err)
	}
	defer pool.Close()
	if err := supacheckpoint.Migrate(context.Background(), pool, p.options); err != nil {
		tb.Fatal(err)
	}
	return p
}

// open opens a store that is closed when the test ends.
func (p place) open(tb testing.TB) *supacheckpoint.Store {
	tb.Helper()
	store, err := supacheckpoint.Open(context.Background(), p.url, p.options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(store.Close)
	return store
}

// as returns the store of a user.
func as(tb testing.TB, store *supacheckpoint.Store, user string) *supacheckpoint.Store {
	tb.Helper()
	mine, err := store.As(supacheckpoint.User{ID: user})
	if err != nil {
		tb.Fatal(err)
	}
	return mine
}

func (p place) sql(text string) string {
	return strings.ReplaceAll(text, "weft.", p.options.Checkpoint.Schema+".")
}

// conn opens a connection of the one who owns everything.
func (p place) conn(tb testing.TB) *pgx.Conn {
	tb.Helper()
	return pgtest.Connect(tb, p.database)
}

// ask returns the first column of the first row.
func ask[T any](tb testing.TB, p place, sql string, args ...any) T {
	tb.Helper()
	return pgtest.Ask[T](tb, p.database, p.sql(sql), args...)
}

func do(tb testing.TB, p place, sql string, args ...any) {
	tb.Helper()
	pgtest.Do(tb, p.database, p.sql(sql), args...)
}

func stepID(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// step returns the n-th checkpoint of a thread, which follows the one before.
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

// putAll puts the first n checkpoints of a thread.
func putAll(tb testing.TB, store checkpoint.Store, thread string, n int) {
	tb.Helper()
	for i := range n {
		c := step(thread, i+1)
		if err := store.Put(context.Background(), c, c.Parent); err != nil {
			tb.Fatal(err)
		}
	}
}
