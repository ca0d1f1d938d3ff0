package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const countSchemas = `SELECT count(*)::int FROM pg_namespace WHERE nspname = $1`

func TestSchema(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("while it is used", func(t *testing.T) {
		name = pgtest.Schema(t)
		if other := pgtest.Schema(t); other == name {
			t.Errorf("two tests got the schema %s", name)
		}
		if n := pgtest.Ask[int](t, pgtest.URL(t), countSchemas, name); n != 1 {
			t.Errorf("got %d schemas of the name %s, want 1", n, name)
		}
	})
	if n := pgtest.Ask[int](t, pgtest.URL(t), countSchemas, name); n != 0 {
		t.Errorf("the schema %s is still there", name)
	}
}

func TestDatabase(t *testing.T) {
	t.Parallel()
	prepare := func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `CREATE EXTENSION vector`)
		return err
	}
	database := pgtest.Database(t, prepare)
	if again := pgtest.Database(t, prepare); again != database {
		t.Errorf("got another database, %s, want %s", again, database)
	}
	const distance = `SELECT ('[1,2]'::vector <-> '[1,3]'::vector)::int`
	for _, url := range []string{database, pgtest.WithDatabase(t, pgtest.PooledURL(t), database)} {
		if d := pgtest.Ask[int](t, url, distance); d != 1 {
			t.Errorf("%s: got distance %d want 1", url, d)
		}
	}
	schema := pgtest.SchemaIn(t, database)
	if n := pgtest.Ask[int](t, database, countSchemas, schema); n != 1 {
		t.Errorf("got %d schemas of the name %s, want 1", n, schema)
	}
}
