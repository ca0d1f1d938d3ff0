package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const countSchemas = `SELECT count(*)::int FROM pg_namespace WHERE nspname = $1`

func TestSchemaExistsUntilTheTestEnds(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("while it is used", func(t *testing.T) {
		name = pgtest.Schema(t)
		assert.NotEqual(t, name, pgtest.Schema(t))
		assert.Equal(t, 1, pgtest.Ask[int](t, pgtest.URL(t), countSchemas, name))
	})
	assert.Zero(t, pgtest.Ask[int](t, pgtest.URL(t), countSchemas, name))
}

func TestDatabaseIsSharedAndPrepared(t *testing.T) {
	t.Parallel()
	prepare := func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `CREATE EXTENSION vector`)
		return err
	}
	database := pgtest.Database(t, prepare)
	assert.Equal(t, database, pgtest.Database(t, prepare))
	const distance = `SELECT ('[1,2]'::vector <-> '[1,3]'::vector)::int`
	for _, url := range []string{database, pgtest.WithDatabase(t, pgtest.PooledURL(t), database)} {
		assert.Equal(t, 1, pgtest.Ask[int](t, url, distance), url)
	}
	schema := pgtest.SchemaIn(t, database)
	assert.Equal(t, 1, pgtest.Ask[int](t, database, countSchemas, schema))
}
