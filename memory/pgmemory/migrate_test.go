package pgmemory_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			db, err := pgmemory.Open(context.Background(), p.url, p.options)
			if errs[i] = err; err == nil {
				db.Close()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		assert.NoError(t, err, "migrate")
	}
	assert.GreaterOrEqual(t, ask[int](t, p, `SELECT count(*) FROM weft.mem_migration`), 2)
}

// withoutPgvector simulates a server without pgvector: it replaces the name of the extension in each statement.
type withoutPgvector struct{ pgmemory.Conn }

type txWithoutPgvector struct{ pgx.Tx }

func (c withoutPgvector) Begin(ctx context.Context) (pgx.Tx, error) {
	tx, err := c.Conn.Begin(ctx)
	return txWithoutPgvector{tx}, err
}

func (t txWithoutPgvector) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	sql = strings.ReplaceAll(sql, "extname = 'vector'", "extname = 'novector'")
	return t.Tx.Exec(ctx, strings.ReplaceAll(sql, "EXTENSION IF NOT EXISTS vector", "EXTENSION IF NOT EXISTS novector"), args...)
}

func TestMigrateWithoutPgvectorSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	err := pgmemory.Migrate(context.Background(), withoutPgvector{p.pool(t)}, p.options)
	require.ErrorIs(t, err, pgmemory.ErrNoPgvector)
	assert.ErrorContains(t, err, "postgresql-17-pgvector")
	assert.ErrorContains(t, err, "novector", "the error of the database")
}

func TestNewRefusesAnotherVersion(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	pool := p.pool(t)
	_, err := pgmemory.New(ctx, pool, p.options)
	assert.ErrorIs(t, err, pgmemory.ErrNotMigrated, "an empty schema")
	p.migrated(t, pool)
	do(t, p, `INSERT INTO weft.mem_migration (version, name, checksum) VALUES (99, 'later', '')`)
	_, err = pgmemory.New(ctx, pool, p.options)
	assert.ErrorIs(t, err, pgmemory.ErrFormat, "a newer version")
	do(t, p, `DELETE FROM weft.mem_migration WHERE version = 99`)
	do(t, p, `UPDATE weft.mem_migration SET checksum = 'other' WHERE version = 1`)
	_, err = pgmemory.New(ctx, pool, p.options)
	assert.ErrorIs(t, err, pgmemory.ErrFormat, "another script")
	assert.ErrorIs(t, pgmemory.Migrate(ctx, pool, p.options), pgmemory.ErrFormat, "migrate")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	pool := newPlace(t).pool(t)
	for name, o := range map[string]pgmemory.Options{
		"schema":  {Schema: `x"; DROP SCHEMA public; --`},
		"digit":   {Schema: "1x"},
		"pooling": {Pooling: 9},
		"facts":   {MaxFacts: -1},
		"exact":   {Exact: -1},
		"timeout": {Timeout: -1},
	} {
		_, err := pgmemory.New(context.Background(), pool, o)
		assert.ErrorIs(t, err, driver.ErrInvalid, name)
	}
	_, err := pgmemory.New(context.Background(), nil, pgmemory.Options{})
	assert.ErrorIs(t, err, driver.ErrInvalid, "no database")
	_, err = pgmemory.Scripts(`x"`)
	assert.ErrorIs(t, err, driver.ErrInvalid, "scripts")
}

// The scripts have the same effect as Migrate.
func TestScripts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.Schema += "-Quoted" // the scripts create the schema
	conn := p.conn(t)
	t.Cleanup(func() { do(t, p, `DROP SCHEMA "`+p.options.Schema+`" CASCADE`) })
	scripts, err := pgmemory.Scripts(p.options.Schema)
	require.NoError(t, err)
	for _, s := range append(scripts, scripts...) { // the second run has no effect
		_, err := conn.Exec(ctx, s.SQL, pgx.QueryExecModeSimpleProtocol)
		assert.NoError(t, err, s.Name)
	}
	db, err := pgmemory.New(ctx, p.pool(t), p.options)
	require.NoError(t, err)
	scope := driver.Scope{User: "ann"}
	_, err = db.Facts().Apply(ctx, scope, []driver.FactChange{adding("tea", 1, 2)})
	assert.NoError(t, err, "apply")
	c, err := db.Facts().Search(ctx, driver.FactSearch{Query: driver.FactQuery{Reach: scope.Only()}, Terms: []string{"tea"}, Embedding: []float32{1, 2}, Model: "m", Limit: 5})
	require.NoError(t, err)
	assert.Len(t, c.Records, 1)
}
