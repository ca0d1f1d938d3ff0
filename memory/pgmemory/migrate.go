package pgmemory

import (
	"cmp"
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/pgdb"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

// migrations are the migrations of this version, oldest first.
var migrations = migration.MustRead(migrationFiles, "migration")

func migrationsOf(schema string) *pgdb.Migrations {
	return &pgdb.Migrations{List: migrations, Schema: schema, Table: "mem_migration", Lock: "weft memory", Foreign: ErrFormat, Command: "pgmemory.Migrate"}
}

// A Script is a migration as plain SQL, for programs that do not use [Migrate] or
// [MigrateSupabase]. A second run has no effect.
type Script struct {
	// Name begins with the number of the migration: "001_facts".
	Name string
	// SQL must run in one transaction.
	SQL string
}

// Scripts returns the migrations for a schema, oldest first. An empty schema means "weft".
//
// Each script is one statement, so it takes effect as a whole or not at all. It records itself in
// the table mem_migration. If it was applied before, it changes nothing and raises a notice. It
// fails if the previous migration is missing, or if a migration with the same number and another
// text was applied.
func Scripts(schema string) ([]Script, error) {
	o := Options{Schema: schema}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("pgmemory: scripts: %w", err)
	}
	all := migrationsOf(cmp.Or(schema, defaultSchema))
	scripts := make([]Script, 0, len(migrations))
	for i, m := range migrations {
		scripts = append(scripts, Script{Name: m.Name, SQL: all.Script(i)})
	}
	return scripts, nil
}

// Migrate applies the missing migrations to the schema of the options, each in its own transaction.
// Several processes may call it concurrently. If it is interrupted, call it again. It needs the
// rights to create the schema, tables and functions. If the extension vector is missing, Migrate
// creates it in a schema named "extensions", and needs the right to do so. It returns [ErrNoPgvector] if
// the server does not have it.
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
	return noPgvector(migrationsOf(d.schema).Migrate(ctx, d.readRows, func(ctx context.Context, script string) error {
		return d.labour(ctx, func(ctx context.Context, tx Conn) error {
			if err := d.link.enter(ctx, tx); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol)
			return err
		})
	}))
}

// labour calls fn in a transaction with the time limit of a migration. It may call fn again after a fault.
func (d *DB) labour(ctx context.Context, fn func(ctx context.Context, tx Conn) error) error {
	return d.link.retry(ctx, labour, pgdb.AnyFault, func(ctx context.Context) error {
		return d.link.begin(ctx, func(tx Conn) error { return fn(ctx, tx) })
	})
}

// readRows runs a query that may be sent again, without a reset between attempts.
func (d *DB) readRows(ctx context.Context, sql string, args []any, fn func(pgx.Rows) error) error {
	return d.link.read(ctx, sql, args, func() {}, fn)
}

// checkVersion returns [ErrNotMigrated] if migrations of this version are missing.
func (d *DB) checkVersion(ctx context.Context) error {
	done, err := migrationsOf(d.schema).Applied(ctx, d.readRows)
	if err == nil && done < len(migrations) {
		err = fmt.Errorf("schema %q has version %d of %d: %w", d.schema, done, len(migrations), ErrNotMigrated)
	}
	return err
}
