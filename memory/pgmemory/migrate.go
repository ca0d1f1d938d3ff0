package pgmemory

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are those of this version, oldest first.
var migrations = mustMigrations(migrationFiles)

// A migration brings a schema to the next version.
type migration struct {
	version  int
	name     string
	script   string
	checksum string
}

func mustMigrations(files fs.FS) []migration {
	names, err := fs.Glob(files, "migration/*.sql") // sorted
	if err != nil {
		panic(err)
	}
	list := make([]migration, 0, len(names))
	for i, file := range names {
		b, err := fs.ReadFile(files, file)
		if err != nil {
			panic(err)
		}
		name := strings.TrimSuffix(path.Base(file), ".sql")
		number, _, _ := strings.Cut(name, "_")
		version, err := strconv.Atoi(number)
		if err != nil || version != i+1 {
			panic("pgmemory: migration " + file + " is out of order")
		}
		// A checkout may have changed the ends of lines.
		script := strings.ReplaceAll(string(b), "\r\n", "\n")
		sum := sha256.Sum256([]byte(script))
		list = append(list, migration{version, name, script, hex.EncodeToString(sum[:])})
	}
	return list
}

// A Script is a migration as plain SQL, for those who apply theirs by other means
// than [Migrate]. It notes in the table mem_migration that it was applied.
type Script struct {
	// Name begins with the number of the migration: "001_facts".
	Name string
	// SQL is to be run in one transaction.
	SQL string
}

// Scripts returns the migrations for a schema, oldest first. An empty schema
// stands for that of [Options].
func Scripts(schema string) ([]Script, error) {
	o := Options{Schema: schema}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("pgmemory: scripts: %w", err)
	}
	if schema == "" {
		schema = defaultSchema
	}
	d := &DB{schema: schema, quoted: pgx.Identifier{schema}.Sanitize()}
	scripts := make([]Script, 0, len(migrations))
	for _, m := range migrations {
		scripts = append(scripts, Script{Name: m.name, SQL: d.sql(m.sql(d.schema, d.quoted))})
	}
	return scripts, nil
}

// sql is the whole of a migration. Names and checksums need no quoting.
func (m *migration) sql(schema, quoted string) string {
	begin := ""
	if m.version == 1 {
		// CREATE SCHEMA IF NOT EXISTS takes a right even when there is one.
		begin = fmt.Sprintf(createMigrations, schema, quoted)
	}
	return begin + m.script + fmt.Sprintf(insertMigration, m.version, m.name, m.checksum)
}

const (
	createMigrations = `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '%s') THEN CREATE SCHEMA %s; END IF;
END $$;

CREATE TABLE IF NOT EXISTS weft.mem_migration (
  version  int PRIMARY KEY,
  name     text NOT NULL,
  checksum text NOT NULL,
  applied  timestamptz NOT NULL DEFAULT now()
);

`
	insertMigration = `
INSERT INTO weft.mem_migration (version, name, checksum) VALUES (%d, '%s', '%s');
`

	// hasMigrationsQuery asks the table: what a session remembers of names may be
	// older than the lock for which it has waited.
	hasMigrationsQuery = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1::text AND c.relname = 'mem_migration')`
	migrationsQuery = `SELECT version, checksum FROM weft.mem_migration WHERE version > $1::int ORDER BY version`

	// migrateLock is held until the transaction ends, which a pooler respects.
	migrateLock = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))`
)

// Migrate brings the schema of the options to this version, each step in a
// transaction of its own, and does nothing if that is done. Any number of
// processes may do so at once; one that ends midway leaves a step done or not
// begun. It needs the rights to make the schema, tables and functions, and, unless that
// is there, the extension vector, which it then makes in a schema named "extensions".
func Migrate(ctx context.Context, on Conn, o Options) error {
	d, err := makeDB(on, o)
	if err == nil {
		err = d.migrate(ctx)
	}
	if err != nil {
		return fmt.Errorf("pgmemory: migrate: %w", classify(err))
	}
	return nil
}

func (d *DB) migrate(ctx context.Context) error {
	for {
		done, err := d.applied(ctx, d.link)
		if err != nil || done == len(migrations) {
			return err
		}
		err = d.link.retry(ctx, labour, anyFault, func(ctx context.Context) error {
			return pgx.BeginFunc(ctx, d.link.on, func(tx pgx.Tx) error { return d.applyNext(ctx, tx) })
		})
		if err != nil {
			return err
		}
	}
}

// applyNext applies one migration, unless another process has been quicker.
func (d *DB) applyNext(ctx context.Context, tx pgx.Tx) error {
	inside := &link{on: tx, mode: []any{pgx.QueryExecModeExec}, timeout: labour}
	if err := d.link.enter(ctx, tx); err != nil {
		return err
	}
	err := inside.query(ctx, migrateLock, []any{"weft memory " + d.schema}, func(pgx.Rows) error { return nil })
	if err != nil {
		return err
	}
	done, err := d.applied(ctx, inside)
	if err != nil || done == len(migrations) {
		return err
	}
	m := migrations[done]
	if _, err := tx.Exec(ctx, d.sql(m.sql(d.schema, d.quoted)), pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("migration %s: %w", m.name, err)
	}
	return nil
}

// applied returns how many of the migrations the database has.
func (d *DB) applied(ctx context.Context, l *link) (int, error) {
	var found bool
	err := l.read(ctx, hasMigrationsQuery, []any{d.schema}, func() {}, func(rows pgx.Rows) error { return rows.Scan(&found) })
	if err != nil || !found {
		return 0, err
	}
	n := 0
	err = l.read(ctx, d.sql(migrationsQuery), []any{0}, func() { n = 0 }, func(rows pgx.Rows) error {
		var version int
		var checksum string
		if err := rows.Scan(&version, &checksum); err != nil {
			return err
		}
		switch {
		case version > len(migrations):
			return fmt.Errorf("schema %q has version %d, and this package knows %d: %w", d.schema, version, len(migrations), ErrFormat)
		case version != n+1 || checksum != migrations[n].checksum:
			return fmt.Errorf("version %d of schema %q is not the one of this package: %w", version, d.schema, ErrFormat)
		}
		n++
		return nil
	})
	return n, err
}

// checkVersion returns an error unless the database has this version.
func (d *DB) checkVersion(ctx context.Context) error {
	done, err := d.applied(ctx, d.link)
	if err == nil && done < len(migrations) {
		err = fmt.Errorf("schema %q has version %d of %d: %w", d.schema, done, len(migrations), ErrNotMigrated)
	}
	return err
}
