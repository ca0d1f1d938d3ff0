package pgdb_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/internal/pgtest"
)

var errForeign = errors.New("of another version")

// migrationsOf returns migrations with these scripts, numbered from 1.
func migrationsOf(schema string, scripts ...string) *pgdb.Migrations {
	files := fstest.MapFS{}
	for i, script := range scripts {
		files["m/00"+string(rune('1'+i))+"_x.sql"] = &fstest.MapFile{Data: []byte(script)}
	}
	return &pgdb.Migrations{List: migration.MustRead(files, "m"), Schema: schema, Table: "migration", Lock: "weft test", Foreign: errForeign}
}

const (
	first = `-- A quote ' and one in dollars.
CREATE TABLE weft.a (n int);
CREATE FUNCTION weft.f() RETURNS int LANGUAGE sql AS $$ SELECT count(*)::int FROM weft.a $$;`
	second = `INSERT INTO weft.a SELECT 1 + weft.f(); INSERT INTO weft.a SELECT 1 + weft.f();`
)

// A place is a schema with a pool of connections to its database.
type place struct {
	schema string
	pool   *pgxpool.Pool
	notice func() string // returns the last notice
}

func newPlace(t *testing.T) place {
	t.Helper()
	config, err := pgdb.PoolConfig(pgtest.URL(t), nil)
	require.NoError(t, err)
	var mu sync.Mutex
	last := ""
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		last = n.Message
	}
	p := place{schema: pgtest.Schema(t), notice: func() string {
		mu.Lock()
		defer mu.Unlock()
		return last
	}}
	p.pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(p.pool.Close)
	return p
}

func (p place) read(ctx context.Context, sql string, args []any, fn func(pgx.Rows) error) error {
	rows, err := p.pool.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (p place) run(ctx context.Context, script string) error {
	_, err := p.pool.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (p place) migrate(m *pgdb.Migrations) error {
	return m.Migrate(context.Background(), p.read, p.run)
}

// has checks the number of applied migrations and the number of rows in the table a.
func (p place) has(t *testing.T, m *pgdb.Migrations, migrations, rows int) {
	t.Helper()
	applied, err := m.Applied(t.Context(), p.read)
	assert.NoError(t, err)
	assert.Equal(t, migrations, applied)
	var there bool
	n := 0
	err = p.pool.QueryRow(t.Context(), `SELECT to_regclass($1::text) IS NOT NULL`, pgx.QueryExecModeExec, p.schema+".a").Scan(&there)
	if err == nil && there {
		err = p.pool.QueryRow(t.Context(), `SELECT count(*) FROM `+p.schema+`.a`, pgx.QueryExecModeExec).Scan(&n)
	}
	require.NoError(t, err)
	assert.Equal(t, rows, n)
}

func TestMigrateAppliesMissingMigrations(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	all := migrationsOf(p.schema, first, second)
	p.has(t, all, 0, 0)
	for range 2 {
		require.NoError(t, p.migrate(migrationsOf(p.schema, first)))
		p.has(t, all, 1, 0)
	}
	for range 2 {
		require.NoError(t, p.migrate(all))
		p.has(t, all, 2, 2)
	}
	for name, other := range map[string]*pgdb.Migrations{
		"a newer database": migrationsOf(p.schema, first),
		"another text":     migrationsOf(p.schema, first, second+" "),
	} {
		err := p.migrate(other)
		assert.ErrorIs(t, err, errForeign, name)
		assert.ErrorIs(t, err, migration.ErrSchema, name)
		assert.Contains(t, err.Error(), p.schema, name)
	}
	p.has(t, all, 2, 2)
}

func TestMigrateCreatesASchemaWithAQuotedName(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.schema += "-Quoted"
	quoted := pgx.Identifier{p.schema}.Sanitize()
	t.Cleanup(func() {
		assert.NoError(t, p.run(context.Background(), "DROP SCHEMA "+quoted+" CASCADE"))
	})
	all := migrationsOf(p.schema, first, second)
	require.NoError(t, p.migrate(all))
	p.schema = quoted
	p.has(t, all, 2, 2)
}

func TestFailedMigrationHasNoEffect(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	broken := migrationsOf(p.schema, first, second+` INSERT INTO weft.nothing VALUES (1);`)
	for range 2 {
		err := p.migrate(broken)
		var e *pgconn.PgError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, "42P01", e.Code)
		assert.ErrorContains(t, err, "migration 002_x: ")
		p.has(t, broken, 1, 0)
	}
	require.NoError(t, p.migrate(migrationsOf(p.schema, first, second)))
	p.has(t, migrationsOf(p.schema, first, second), 2, 2)

	lost := errors.New("lost")
	failing := func(context.Context, string, []any, func(pgx.Rows) error) error { return lost }
	assert.ErrorIs(t, broken.Migrate(t.Context(), failing, p.run), lost)
}

func TestConcurrentMigrateAppliesEachMigrationOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	all := migrationsOf(p.schema, first, second)
	var together sync.WaitGroup
	for range 20 {
		together.Go(func() {
			assert.NoError(t, p.migrate(all))
		})
	}
	together.Wait()
	p.has(t, all, 2, 2)
}

// A script raises a notice if it was applied before, and an error if it cannot be applied.
// The test sends it in the extended protocol, which accepts only one statement.
func TestScriptRaisesNoticesAndErrors(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	all := migrationsOf(p.schema, first, second)
	run := func(script string) error {
		_, err := p.pool.Exec(t.Context(), script, pgx.QueryExecModeExec)
		return err
	}
	refused := func(name, script, why string) {
		t.Helper()
		err := run(script)
		var e *pgconn.PgError
		require.ErrorAs(t, err, &e, name)
		assert.Equal(t, "55000", e.Code, name)
		assert.Contains(t, e.Message, why, name)
		assert.Contains(t, e.Message, p.schema, name)
	}
	refused("nothing before it", all.Script(1), "has version 0, and migration 002_x makes version 2 of the one before")
	p.has(t, all, 0, 0)
	for i := range all.List {
		require.NoError(t, run(all.Script(i)))
		require.Empty(t, p.notice())
	}
	for i, m := range all.List {
		require.NoError(t, run(all.Script(i)))
		assert.True(t, strings.HasPrefix(p.notice(), "migration "+m.Name+" was applied to schema "+p.schema+" before"), p.notice())
	}
	p.has(t, all, 2, 2)
	refused("another text", migrationsOf(p.schema, first+" ").Script(0), "has another migration of the number of 001_x")
	require.NoError(t, p.migrate(all))
	p.has(t, all, 2, 2)
}
