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

// migrations are the migrations of this version, oldest first.
var migrations = migration.MustRead(migrationFiles, "migration")

func migrationsOf(schema string) *pgdb.Migrations {
	return &pgdb.Migrations{List: migrations, Schema: schema, Table: "cp_migration", Lock: "weft checkpoint", Foreign: checkpoint.ErrFormat, Command: "weft threads migrate"}
}

// A Script is a migration as plain SQL, for programs that do not use [Migrate]. It
// records in the table cp_migration that it was applied.
type Script struct {
	// Name begins with the number of the migration: "001_checkpoint".
	Name string
	// SQL is one statement, so it takes effect as a whole or not at all. If it was applied
	// already, it changes nothing and raises a notice. It fails if the previous migration
	// is missing, or if a migration with the same number and another text was applied.
	SQL string
}

// Scripts returns the migrations for a schema, oldest first. An empty schema means
// "weft".
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

// Migrate applies the missing migrations to the schema of the options. Each migration has
// its own transaction. Any number of processes may call Migrate concurrently. It needs the
// rights to create the schema, tables and functions.
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
		return s.retry(ctx, maintenanceTimeout, func(t try) error {
			return s.link.begin(ctx, t.limit, func(ctx context.Context, tx pgx.Tx) error {
				_, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
				return err
			})
		})
	})
}

// checkVersion returns [ErrNotMigrated] unless the database has this version.
func (s *Store) checkVersion(ctx context.Context) error {
	done, err := migrationsOf(s.schema).Applied(ctx, s.query)
	if err == nil && done < len(migrations) {
		err = fmt.Errorf("schema %q has version %d, and this package needs version %d: %w", s.schema, done, len(migrations), ErrNotMigrated)
	}
	return err
}
