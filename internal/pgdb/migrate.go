package pgdb

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/migration"
)

// scriptSchema is the schema that scripts are written for.
const scriptSchema = "weft"

// InSchema replaces the schema "weft" in a statement. The name of the other schema must
// not contain a quote.
func InSchema(schema, text string) string {
	if schema == scriptSchema {
		return text
	}
	return strings.ReplaceAll(text, scriptSchema+".", pgx.Identifier{schema}.Sanitize()+".")
}

// Migrations are the migrations of a store for one schema.
type Migrations struct {
	List []migration.Migration
	// Schema is a name without quotes.
	Schema string
	// Table is the table of the schema that records which migrations were applied.
	Table string
	// Lock and the schema name an advisory lock that is held while a migration is applied.
	Lock string
	// Foreign is wrapped by the error for a schema that other migrations have changed.
	Foreign error
}

// Read sends a statement and calls fn for each row. If it sends the statement again, it
// calls fn again for rows that it has already read.
type Read func(ctx context.Context, sql string, args []any, fn func(pgx.Rows) error) error

const (
	hasTableQuery = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1::text AND c.relname = $2::text)`

	// notesQuery returns one row.
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

// Migrate applies the missing migrations. It calls run to send each script. Any number of
// processes may call it concurrently.
func (m *Migrations) Migrate(ctx context.Context, read Read, run func(ctx context.Context, script string) error) error {
	for {
		done, err := m.Applied(ctx, read)
		if err != nil || done == len(m.List) {
			return err
		}
		if err := run(ctx, m.Script(done)); err != nil {
			return fmt.Errorf("migration %s: %w", m.List[done].Name, err)
		}
	}
}

// Script returns the i-th migration as one statement, which takes effect as a whole or not
// at all. It has no effect if the migration was applied before. It fails if the migration
// before it was not applied, or if a migration of the same number with another text was.
func (m *Migrations) Script(i int) string {
	one := &m.List[i]
	create := ""
	if one.Version == 1 {
		create = fmt.Sprintf(createTable, m.Schema, pgx.Identifier{m.Schema}.Sanitize(), m.Table)
	}
	// Names of files and checksums contain no quotes.
	return InSchema(m.Schema, fmt.Sprintf(once, m.Schema, m.Lock, m.Table, one.Version, one.Name, one.Checksum, create+one.Script))
}

const (
	// once has the arguments schema, lock, table, version, name, checksum and script. It looks the
	// table up in pg_class, since the name cache of a session can be older than the lock that it waited for.
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

	// createTable has the arguments schema, quoted schema and table. CREATE SCHEMA IF NOT EXISTS needs
	// the right to create schemas even if the schema exists.
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
