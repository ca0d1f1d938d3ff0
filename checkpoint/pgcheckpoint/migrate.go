package pgcheckpoint

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/pgdb"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are those of this version, oldest first.
var migrations = migration.MustRead(migrationFiles, "migration")

func migrationsOf(schema string) *pgdb.Migrations {
	return &pgdb.Migrations{List: migrations, Schema: schema, Table: "cp_migration", Lock: "weft checkpoint", Foreign: checkpoint.ErrFormat}
}

// A Script is a migration as plain SQL, for those who apply theirs by other means
// than [Migrate]. It notes in the table cp_migration that it was applied.
type Script struct {
	// Name begins with the number of the migration: "001_checkpoint".
	Name string
	// SQL is one statement, so it takes effect as a whole or not at all. Run once more, it
	// changes nothing, and the database says so in a notice. It fails where the migration before
	// it is missing, or where one of its number has another text.
	SQL string
}

// Scripts returns the migrations for a schema, oldest first. An empty schema
// stands for that of [Options].
func Scripts(schema string) ([]Script, error) {
	o := Options{Schema: schema}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("pgcheckpoint: scripts: %w", err)
	}
	all := migrationsOf(o.schema())
	scripts := make([]Script, 0, len(migrations))
	for i, m := range migrations {
		scripts = append(scripts, Script{Name: m.Name, SQL: all.Script(i)})
	}
	return scripts, nil
}

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
	return migrationsOf(s.schema).Migrate(ctx, s.query, func(ctx context.Context, script string) error {
		return s.retry(ctx, func(bool) error {
			return s.link.begin(ctx, labour, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
				return err
			})
		})
	})
}

// checkVersion returns an error unless the database has this version.
func (s *Store) checkVersion(ctx context.Context) error {
	done, err := migrationsOf(s.schema).Applied(ctx, s.query)
	if err == nil && done < len(migrations) {
		err = fmt.Errorf("schema %q has version %d of %d: %w", s.schema, done, len(migrations), ErrNotMigrated)
	}
	return err
}
