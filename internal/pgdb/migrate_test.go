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

	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/internal/pgtest"
)

var errForeign = errors.New("of another version")

// migrationsOf numbers scripts.
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

// A place is a schema.
type place struct {
	schema string
	pool   *pgxpool.Pool
	notice func() string // the last one
}

func newPlace(t *testing.T) place {
	t.Helper()
	config, err := pgdb.PoolConfig(pgtest.URL(t), nil)
	if err != nil {
		t.Fatal(err)
	}
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
	if p.pool, err = pgxpool.NewWithConfig(t.Context(), config); err != nil {
		t.Fatal(err)
	}
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

// has wants so many migrations, and the rows of the table a.
func (p place) has(t *testing.T, m *pgdb.Migrations, migrations, rows int) {
	t.Helper()
	if n, err := m.Applied(t.Context(), p.read); err != nil || n != migrations {
		t.Errorf("got %d migrations, error %v, want %d", n, err, migrations)
	}
	var there bool
	n := 0
	err := p.pool.QueryRow(t.Context(), `SELECT to_regclass($1::text) IS NOT NULL`, pgx.QueryExecModeExec, p.schema+".a").Scan(&there)
	if err == nil && there {
		err = p.pool.QueryRow(t.Context(), `SELECT count(*) FROM `+p.schema+`.a`, pgx.QueryExecModeExec).Scan(&n)
	}
	if err != nil || n != rows {
		t.Errorf("got %d rows, error %v, want %d", n, err, rows)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	all := migrationsOf(p.schema, first, second)
	p.has(t, all, 0, 0)
	for range 2 {
		if err := p.migrate(migrationsOf(p.schema, first)); err != nil {
			t.Fatal(err)
		}
		p.has(t, all, 1, 0)
	}
	for range 2 {
		if err := p.migrate(all); err != nil {
			t.Fatal(err)
		}
		p.has(t, all, 2, 2)
	}
	for name, other := range map[string]*pgdb.Migrations{
		"a newer database": migrationsOf(p.schema, first),
		"another text":     migrationsOf(p.schema, first, second+" "),
	} {
		err := p.migrate(other)
		if !errors.Is(err, errForeign) || !errors.Is(err, migration.ErrSchema) || !strings.Contains(err.Error(), p.schema) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	p.has(t, all, 2, 2)
}

// A schema that is not there is made, also one of a name that has to be quoted.
func TestMigrateMakesTheSchema(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.schema += "-Quoted"
	quoted := pgx.Identifier{p.schema}.Sanitize()
	t.Cleanup(func() {
		if err := p.run(context.Background(), "DROP SCHEMA "+quoted+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	all := migrationsOf(p.schema, first, second)
	if err := p.migrate(all); err != nil {
		t.Fatal(err)
	}
	p.schema = quoted
	p.has(t, all, 2, 2)
}

// A script that fails leaves nothing of itself, and what was before it stays.
func TestMigrateFails(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	broken := migrationsOf(p.schema, first, second+` INSERT INTO weft.nothing VALUES (1);`)
	for range 2 {
		err := p.migrate(broken)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "42P01" || !strings.Contains(err.Error(), "migration 002_x: ") {
			t.Errorf("got error %v, want one that names the migration", err)
		}
		p.has(t, broken, 1, 0)
	}
	if err := p.migrate(migrationsOf(p.schema, first, second)); err != nil {
		t.Fatal(err)
	}
	p.has(t, migrationsOf(p.schema, first, second), 2, 2)

	lost := errors.New("lost")
	failing := func(context.Context, string, []any, func(pgx.Rows) error) error { return lost }
	if err := broken.Migrate(t.Context(), failing, p.run); !errors.Is(err, lost) {
		t.Errorf("got error %v want %v", err, lost)
	}
}

// Those who migrate at once apply each migration once.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	all := migrationsOf(p.schema, first, second)
	var together sync.WaitGroup
	for range 20 {
		together.Go(func() {
			if err := p.migrate(all); err != nil {
				t.Error(err)
			}
		})
	}
	together.Wait()
	p.has(t, all, 2, 2)
}

// A script says when there is nothing left for it to do, and why it may not do anything. It is one
// statement: the extended protocol takes no more.
func TestScript(t *testing.T) {
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
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "55000" || !strings.Contains(e.Message, why) || !strings.Contains(e.Message, p.schema) {
			t.Errorf("%s: got error %v want %q", name, err, why)
		}
	}
	refused("nothing before it", all.Script(1), "has version 0, and migration 002_x makes version 2 of the one before")
	p.has(t, all, 0, 0)
	for i := range all.List {
		if err := run(all.Script(i)); err != nil || p.notice() != "" {
			t.Fatalf("got error %v, notice %q", err, p.notice())
		}
	}
	for i, m := range all.List {
		if err := run(all.Script(i)); err != nil || !strings.HasPrefix(p.notice(), "migration "+m.Name+" was applied to schema "+p.schema+" before") {
			t.Errorf("again: got error %v, notice %q", err, p.notice())
		}
	}
	p.has(t, all, 2, 2)
	refused("another text", migrationsOf(p.schema, first+" ").Script(0), "has another migration of the number of 001_x")
	if err := p.migrate(all); err != nil {
		t.Fatal(err)
	}
	p.has(t, all, 2, 2)
}
