package pgdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/internal/migration"
)

// scriptSchema is the name of the schema in the text of scripts.
const scriptSchema = "weft"

// InSchema replaces the schema "weft" in a statement. The name of the other schema must
// not contain a quote.
func InSchema(schema, text string) string {
	if schema == scriptSchema {
		return text
	}
	return strings.ReplaceAll(text, scriptSchema+".", pgx.Identifier{schema}.Sanitize()+".")
}

// Migrations holds the migrations of a store, for one schema of a database.
type Migrations struct {
	List []migration.Migration
	// Schema is a name without quotes.
	Schema string
	// Table is the name of the table that records the applied migrations.
	Table string
	// Lock is a part of the key of an advisory lock. Each migration holds the lock. The
	// other part of the key is the schema.
	Lock string
	// Foreign is the error for a schema to which other migrations were applied.
	Foreign error
	// Command is the command that applies the migrations with another role. The error for a role that lacks the
	// rights names this command.
	Command string
}

// Read sends a statement and calls fn for each row. A Read that retries the statement
// calls fn again for rows that it has already read.
type Read func(ctx context.Context, sql string, args []any, fn func(pgx.Rows) error) error

const (
	hasTableQuery = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1::text AND c.relname = $2::text)`

	// notesQuery returns the versions and checksums of all applied migrations in one row.
	notesQuery = `SELECT coalesce(array_agg(version ORDER BY version), '{}'), coalesce(array_agg(checksum ORDER BY version), '{}') FROM %s`
)

// Applied returns the number of migrations that were applied to the database.
func (m *Migrations) Applied(ctx context.Context, read Read) (int, error) {
	var found bool
	err := read(ctx, hasTableQuery, []any{m.Schema, m.Table}, func(rows pgx.Rows) error { return rows.Scan(&found) })
	if err != nil || !found {
		return 0, err
	}
	var versions []int
	var checksums []string
	err = read(ctx, fmt.Sprintf(notesQuery, pgx.Identifier{m.Schema, m.Table}.Sanitize()), nil,
		func(rows pgx.Rows) error { return rows.Scan(&versions, &checksums) })
	if err != nil {
		return 0, err
	}
	notes := make([]migration.Note, len(versions))
	for i, version := range versions {
		notes[i] = migration.Note{Version: version, Checksum: checksums[i]}
	}
	n, err := migration.Applied(m.List, notes)
	if err != nil {
		return 0, fmt.Errorf("schema %q: %w: %w", m.Schema, m.Foreign, err)
	}
	return n, nil
}

// Migrate applies the missing migrations. It calls run to send each script. Several
// processes may call Migrate concurrently.
func (m *Migrations) Migrate(ctx context.Context, read Read, run func(ctx context.Context, script string) error) error {
	for {
		done, err := m.Applied(ctx, read)
		if err != nil || done == len(m.List) {
			return err
		}
		if err := run(ctx, m.Script(done)); err != nil {
			return fmt.Errorf("migration %s: %w", m.List[done].Name, Unprivileged(err, m.Command))
		}
	}
}

// Unprivileged returns the error of a migration. If the role lacks a right, the error says to migrate once by command, with the
// role that owns the tables.
func Unprivileged(err error, command string) error {
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refusal.Code != "42501" {
		return err
	}
	return fmt.Errorf("the role of this connection may not make the tables; migrate once with the role that owns them, by %s: %w", command, err)
}

// Script returns migration i of the list, counted from 0, as one statement. The statement is
// atomic. It has no effect if the migration was applied before. It fails if the previous
// migration was not applied, or if a migration with the same number but another text was
// applied.
func (m *Migrations) Script(i int) string {
	one := &m.List[i]
	create := ""
	if one.Version == 1 {
		create = fmt.Sprintf(createTable, m.Schema, pgx.Identifier{m.Schema}.Sanitize(), m.Table)
	}
	// The names of migrations and the checksums contain no quotes.
	return InSchema(m.Schema, fmt.Sprintf(once, m.Schema, m.Lock, m.Table, one.Version, one.Name, one.Checksum, create+one.Script))
}

const (
	// once is a format with the arguments schema, lock, table, version, name, checksum and
	// script. It looks up the table in pg_class. A name cache of the session could be older
	// than the lock.
	once = `DO $once$
DECLARE
  place constant text := '%[1]s';
  latest int := 0;
  noted text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('%[2]s ' || place, 0));
  IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = place AND c.relname = '%[3]s') THEN
    SELECT coalesce(max(version), 0), max(checksum) FILTER (WHERE version = %[4]d) INTO latest, noted FROM weft.%[3]s;
  END IF;
  IF noted = '%[6]s' THEN
    RAISE NOTICE 'migration %[5]s was applied to schema %% before, and is not applied again', place;
    RETURN;
  ELSIF noted IS NOT NULL THEN
    RAISE EXCEPTION 'schema %% has another migration of the number of %[5]s', place USING ERRCODE = 'object_not_in_prerequisite_state';
  ELSIF latest <> %[4]d - 1 THEN
    RAISE EXCEPTION 'schema %% has version %%, and migration %[5]s makes version %[4]d of the one before', place, latest
      USING ERRCODE = 'object_not_in_prerequisite_state';
  END IF;
EXECUTE $script$
%[7]s
INSERT INTO weft.%[3]s (version, name, checksum) VALUES (%[4]d, '%[5]s', '%[6]s');
$script$;
END $once$;
`

	// createTable is a format with the arguments schema, quoted schema and table. It does not
	// use CREATE SCHEMA IF NOT EXISTS. That statement requires the right to create schemas
	// even if the schema exists.
	createTable = `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '%s') THEN CREATE SCHEMA %s; END IF;
END $$;

CREATE TABLE IF NOT EXISTS weft.%s (
  version  int PRIMARY KEY,
  name     text NOT NULL,
  checksum text NOT NULL,
  applied  timestamptz NOT NULL DEFAULT now()
);

`
)
