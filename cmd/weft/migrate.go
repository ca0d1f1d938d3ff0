package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/server/runs/pgruns"
	"github.com/weft-go/weft/server/runs/riverqueue"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

const migrateUsage = `usage: weft threads migrate [flags]

Brings the tables of a store to the form of this version of the command, and prints the migrations that it has
applied. Programs of older versions may refuse the store afterwards: migrate with the version that your
programs use, and stop older ones before. weft doctor says whether migrations are pending.

A new SQLite file needs -create. The tables of a server's runs are migrated where they exist, or with -runs, and
those of a queue that servers share (river_*) where they exist, or with -queue.

A memory (mem_*) is not migrated here, but by Open and Migrate of package pgmemory, and Open of sqlitememory, with
the role that owns the tables; if the database has one, the command says so.
`

func runMigrate(ctx context.Context, args []string, std *streams) error {
	c := newCall(std, migrateUsage).ofDatabase().asJSON()
	create := c.createFlag()
	m := migrator{}
	c.flags.BoolVar(&m.runs, "runs", false, "create the tables of a server's runs, too")
	c.flags.BoolVar(&m.queue, "queue", false, "create the tables of the queue that servers share (package riverqueue), too")
	c.flags.BoolVar(&m.supabase, "supabase", false, "create the roles' rights and the policies of a Supabase project, too")
	if err := c.parse(args); err != nil {
		return err
	}
	m.address = c.source.address
	if *create {
		made, err := c.source.create(ctx)
		if err != nil {
			return err
		}
		m.made = made
	}
	run := m.sqlite
	if m.isPostgres() {
		run = m.postgres
	}
	applied, err := run(ctx)
	for _, text := range m.left {
		defer say(c.err, "%s", text)
	}
	if err != nil && len(applied) == 0 {
		return err
	}
	if c.json {
		return errors.Join(err, printJSON(c.out, map[string][]string{"applied": applied}))
	}
	for _, name := range applied {
		say(c.out, "applied %s", name)
	}
	if len(applied) == 0 {
		say(c.out, "The store is up to date.")
	}
	return err
}

// createFlag adds the flag of commands that may make a new file.
func (c *call) createFlag() *bool {
	return c.flags.Bool("create", false, "make the SQLite file if it does not exist")
}

// create makes a SQLite file unless it exists.
func (a address) create(ctx context.Context) (made bool, err error) {
	if a.isPostgres() {
		return false, fmt.Errorf("%w: -create is for a SQLite file; weft threads migrate makes the tables of PostgreSQL", errUsage)
	}
	if err := a.checkPath(); err != nil {
		return false, err
	}
	if _, err := os.Stat(a.db); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	s, err := sqlitecheckpoint.Open(ctx, a.db, sqlitecheckpoint.Options{})
	if err != nil {
		return false, err
	}
	return true, s.Close()
}

// A migrator migrates a store.
type migrator struct {
	address
	runs, queue, supabase bool
	made                  bool // the file is new

	left []string // messages about tables that were not migrated
}

const (
	memoryLeft = "Not migrated: the memory, in the tables mem_*. A program migrates it with pgmemory.Open or pgmemory.Migrate."
	fileLeft   = "Not migrated: the memory, in the tables mem_*. A program migrates it with sqlitememory.Open."
)

// sqlite migrates a file by opening its stores, and returns the names of the applied migrations.
func (m *migrator) sqlite(ctx context.Context) ([]string, error) {
	if m.queue {
		return nil, fmt.Errorf("%w: -queue is for a PostgreSQL database: servers on a SQLite file share no queue", errUsage)
	}
	has, err := m.check(ctx)
	if err != nil {
		return nil, err
	}
	if has("mem_") {
		m.left = append(m.left, fileLeft)
	}
	before, err := fileMigrations(ctx, m.db)
	if err != nil {
		return nil, err
	}
	if m.made {
		before = nil
	}
	s, err := m.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.close(); err != nil {
		return nil, err
	}
	if m.runs {
		r, err := sqliteruns.Open(ctx, m.db, sqliteruns.Options{})
		if err != nil {
			return nil, err
		}
		if err := r.Close(); err != nil {
			return nil, err
		}
	}
	after, err := fileMigrations(ctx, m.db)
	return without(after, before), err
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	out := []string{}
	for _, n := range names {
		if !slices.Contains(others, n) {
			out = append(out, n)
		}
	}
	return out
}

// migrationTables maps each table of applied migrations to its column with their names.
var migrationTables = map[string]string{"cp_migration": "name", "cp_project": "migration", "run_migration": "name"}

// fileMigrations returns the names of the migrations of a SQLite file. It changes nothing.
func fileMigrations(ctx context.Context, file string) (names []string, err error) {
	by, err := tableMigrations(ctx, file)
	for _, table := range sortedKeys(by) {
		names = append(names, by[table]...)
	}
	return names, err
}

// tableMigrations returns the names of the migrations of a SQLite file by the table that has them.
func tableMigrations(ctx context.Context, file string) (names map[string][]string, err error) {
	db, err := readOnly(file)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	names = map[string][]string{}
	for _, table := range sortedKeys(migrationTables) {
		var has bool
		err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?)`, table).Scan(&has)
		if err != nil {
			return nil, err
		}
		if !has {
			continue
		}
		if names[table], err = column(ctx, db, "SELECT name FROM "+table+" ORDER BY version"); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// column returns the texts that a query selects.
func column(ctx context.Context, db *sql.DB, query string) (list []string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}

func (m *migrator) postgres(ctx context.Context) ([]string, error) {
	pool, err := m.pool(ctx)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	before, err := m.migrations(ctx, pool)
	if err != nil {
		return nil, err
	}
	project, err := m.isProject(ctx, pool)
	if err != nil {
		return nil, err
	}
	o := pgcheckpoint.Options{Schema: m.schema}
	if project || m.supabase {
		err = supacheckpoint.Migrate(ctx, pool, supacheckpoint.Options{Checkpoint: o})
	} else {
		err = pgcheckpoint.Migrate(ctx, pool, o)
	}
	if err != nil {
		return nil, err
	}
	if m.runs || slices.ContainsFunc(before, func(n string) bool { return n == "001_runs" }) {
		if err := pgruns.Migrate(ctx, pool, pgruns.Options{Schema: m.schema}); err != nil {
			return nil, err
		}
	}
	has, err := m.hasTable(ctx, pool, "mem_fact")
	if err != nil {
		return nil, err
	}
	if has {
		m.left = append(m.left, memoryLeft)
	}
	after, err := m.migrations(ctx, pool)
	if err != nil {
		return nil, err
	}
	changed, err := m.migrateQueue(ctx, pool)
	return append(without(after, before), changed...), err
}

// migrateQueue migrates the tables of the queue that servers share, if they exist or -queue is given.
func (m *migrator) migrateQueue(ctx context.Context, pool *pgxpool.Pool) (applied []string, err error) {
	has, err := m.hasTable(ctx, pool, "river_job")
	if err != nil || !has && !m.queue {
		return nil, err
	}
	o := riverqueue.Options{Schema: m.schema}
	if done, err := riverqueue.Migrated(ctx, pool, o); done || err != nil {
		return nil, err
	}
	if err := riverqueue.Migrate(ctx, pool, o); err != nil {
		return nil, err
	}
	return []string{"the tables of the queue (river_*)"}, nil
}

// migrations returns the names of the migrations of a PostgreSQL schema.
func (a address) migrations(ctx context.Context, pool *pgxpool.Pool) ([]string, error) {
	schema := cmp.Or(a.schema, defaultSchema)
	var names []string
	for _, table := range sortedKeys(migrationTables) {
		has, err := a.hasTable(ctx, pool, table)
		if err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		if !has {
			continue
		}
		rows, err := pool.Query(ctx, "SELECT "+migrationTables[table]+" FROM "+pgx.Identifier{schema, table}.Sanitize()+" ORDER BY 1")
		if err != nil {
			return nil, err
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("read the migrations: %w", err)
		}
		names = append(names, list...)
	}
	return names, nil
}
