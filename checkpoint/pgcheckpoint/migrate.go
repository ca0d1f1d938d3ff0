package pgcheckpoint

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

	"github.com/weft-go/weft/checkpoint"
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
			panic("pgcheckpoint: migration " + file + " is out of order")
		}
		// A checkout may have changed the ends of lines.
		script := strings.ReplaceAll(string(b), "\r\n", "\n")
		sum := sha256.Sum256([]byte(script))
		list = append(list, migration{version, name, script, hex.EncodeToString(sum[:])})
	}
	return list
}

// A Script is a migration as plain SQL, for those who apply theirs by other means
// than [Migrate]. It notes in the table cp_migration that it was applied.
type Script struct {
	// Name begins with the number of the migration: "001_checkpoint".
	Name string
	// SQL is to be run in one transaction.
	SQL string
}

// Scripts returns the migrations for a schema, oldest first. An empty schema
// stands for that of [Options].
func Scripts(schema string) ([]Script, error) {
	o := Options{Schema: schema}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("pgcheckpoint: scripts: %w", err)
	}
	s := &Store{schema: o.schema(), quoted: pgx.Identifier{o.schema()}.Sanitize()}
	scripts := make([]Script, 0, len(migrations))
	for _, m := range migrations {
		scripts = append(scripts, Script{Name: m.name, SQL: s.sql(m.sql(s.schema, s.quoted))})
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

CREATE TABLE IF NOT EXISTS weft.cp_migration (
  version  int PRIMARY KEY,
  name     text NOT NULL,
  checksum text NOT NULL,
  applied  timestamptz NOT NULL DEFAULT now()
);

`
	insertMigration = `
INSERT INTO weft.cp_migration (version, name, checksum) VALUES (%d, '%s', '%s');
`

	// hasMigrationsQuery asks the table: what a session remembers of names may be
	// older than the lock for which it has waited.
	hasMigrationsQuery = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1::text AND c.relname = 'cp_migration')`
	migrationsQuery = `SELECT version, checksum FROM weft.cp_migration WHERE version > $1::int ORDER BY version`

	// lockQuery is held until the transaction ends, which a pooler respects.
	lockQuery = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))`
)

// Migrate brings the schema of the options to this version, each step in a
// transaction of its own, and does nothing if that is done. Any number of
// processes may do so at once; one that ends midway leaves a step done or not
// begun. It needs the rights to make the schema, tables and functions.
func Migrate(ctx context.Context, db DB, o Options) error {
	s, err := makeStore(db, o)
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		return fmt.Errorf("pgcheckpoint: migrate: %w", err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context) error {
	for {
		var done int
		err := s.retry(ctx, func(bool) error {
			return patiently(ctx, s.timeout, func(ctx context.Context) (err error) {
				done, err = s.applied(ctx, s.link)
				return err
			})
		})
		if err != nil || done == len(migrations) {
			return err
		}
		err = s.retry(ctx, func(bool) error {
			return s.link.transaction(ctx, labour, s.applyNext)
		})
		if err != nil {
			return err
		}
	}
}

// applyNext applies one migration, unless another process has been quicker.
func (s *Store) applyNext(ctx context.Context, tx *link) error {
	if err := tx.query(ctx, lockQuery, []any{"weft checkpoint " + s.schema}, ignoreRow); err != nil {
		return err
	}
	done, err := s.applied(ctx, tx)
	if err != nil || done == len(migrations) {
		return err
	}
	m := migrations[done]
	if err := tx.script(ctx, s.sql(m.sql(s.schema, s.quoted))); err != nil {
		return fmt.Errorf("migration %s: %w", m.name, err)
	}
	return nil
}

func ignoreRow(pgx.Rows) error { return nil }

// applied returns how many of the migrations the database has.
func (s *Store) applied(ctx context.Context, l *link) (int, error) {
	var found bool
	err := l.query(ctx, hasMigrationsQuery, []any{s.schema}, func(rows pgx.Rows) error {
		return rows.Scan(&found)
	})
	if err != nil || !found {
		return 0, err
	}
	n := 0
	err = l.query(ctx, s.sql(migrationsQuery), []any{0}, func(rows pgx.Rows) error {
		var version int
		var checksum string
		if err := rows.Scan(&version, &checksum); err != nil {
			return err
		}
		switch {
		case version > len(migrations):
			return fmt.Errorf("schema %q has version %d, and this package knows %d: %w",
				s.schema, version, len(migrations), checkpoint.ErrFormat)
		case version != n+1 || checksum != migrations[n].checksum:
			return fmt.Errorf("version %d of schema %q is not the one of this package: %w",
				version, s.schema, checkpoint.ErrFormat)
		}
		n++
		return nil
	})
	return n, err
}

// checkVersion returns an error unless the database has this version.
func (s *Store) checkVersion(ctx context.Context) error {
	return s.retry(ctx, func(bool) error {
		return patiently(ctx, s.timeout, func(ctx context.Context) error {
			done, err := s.applied(ctx, s.link)
			if err == nil && done < len(migrations) {
				err = fmt.Errorf("schema %q has version %d of %d: %w", s.schema, done, len(migrations), ErrNotMigrated)
			}
			return err
		})
	})
}
