package supacheckpoint

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

//go:embed supabase/migrations/*.sql
var migrationFiles embed.FS

const migrationFolder = "supabase/migrations"

// Scripts returns the migrations of this package for a schema, oldest first. An empty
// schema means "weft". They are the files of supabase/migrations, with the names that
// the Supabase CLI requires. Each is idempotent.
func Scripts(schema string) ([]pgcheckpoint.Script, error) {
	if _, err := pgcheckpoint.Scripts(schema); err != nil { // it checks the name of the schema
		return nil, fmt.Errorf("supacheckpoint: scripts: %w", err)
	}
	names, err := fs.Glob(migrationFiles, migrationFolder+"/*.sql")
	if err != nil {
		return nil, fmt.Errorf("supacheckpoint: scripts: %w", err)
	}
	list := make([]pgcheckpoint.Script, 0, len(names))
	for _, file := range names {
		text, err := fs.ReadFile(migrationFiles, file)
		if err != nil {
			return nil, fmt.Errorf("supacheckpoint: scripts: %w", err)
		}
		sql := strings.ReplaceAll(string(text), "\r\n", "\n") // from a checkout on Windows
		list = append(list, pgcheckpoint.Script{Name: strings.TrimSuffix(path.Base(file), ".sql"), SQL: inSchema(schema, sql)})
	}
	return list, nil
}

const defaultSchema = "weft"

// inSchema replaces the default schema in a statement.
func inSchema(schema, text string) string {
	if schema == "" || schema == defaultSchema {
		return text
	}
	text = strings.ReplaceAll(text, defaultSchema+".", pgx.Identifier{schema}.Sanitize()+".")
	text = strings.ReplaceAll(text, "SCHEMA "+defaultSchema, "SCHEMA "+pgx.Identifier{schema}.Sanitize())
	text = strings.ReplaceAll(text, "place constant text := '"+defaultSchema+"'", "place constant text := '"+schema+"'")
	return strings.ReplaceAll(text, "nspname = '"+defaultSchema+"'", "nspname = '"+schema+"'")
}

// Migrate applies the missing migrations. Several processes may call it concurrently. It
// needs the rights of the role postgres. It creates the tables of [Agents] and [Proposals]
// only if [Options.Documents] is set.
func Migrate(ctx context.Context, pool *pgxpool.Pool, o Options) error {
	if err := migrate(ctx, pool, o); err != nil {
		return fmt.Errorf("supacheckpoint: migrate: %w", err)
	}
	return nil
}

func migrate(ctx context.Context, pool *pgxpool.Pool, o Options) error {
	if err := checkProject(ctx, pool, o); err != nil {
		return err
	}
	o.Checkpoint.Before = nil
	if err := pgcheckpoint.Migrate(ctx, pool, o.Checkpoint); err != nil {
		return err
	}
	names := ownMigrations
	if o.Documents {
		names = append(slices.Clone(names), documentMigrations...)
	}
	return apply(ctx, pool, o, names)
}

// isProjectQuery reports whether the database has a function and the roles of every
// Supabase project.
const isProjectQuery = `SELECT EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
	WHERE n.nspname = 'auth' AND p.proname = 'uid')
	AND 4 = (SELECT count(*) FROM pg_roles WHERE rolname IN ('anon', 'authenticated', 'service_role', 'authenticator'))`

// checkProject returns an error if the database does not belong to a Supabase project.
func checkProject(ctx context.Context, pool *pgxpool.Pool, o Options) error {
	l, is := newLink(pool, &o), false
	err := l.again(ctx, defaultTimeout, func(ctx context.Context) error {
		return pool.QueryRow(ctx, isProjectQuery, pgx.QueryExecModeExec).Scan(&is)
	})
	if err == nil && !is {
		err = fmt.Errorf("this is not the database of a Supabase project: it lacks auth.uid() or the roles: %w", checkpoint.ErrInvalid)
	}
	return err
}

// The migrations that pgcheckpoint does not have.
var (
	ownMigrations = []string{
		"20261121090003_weft_security", "20261121090004_weft_sessions", "20261126090003_weft_status_security",
	}
	documentMigrations = []string{
		"20261121090005_agent_checkpoints", "20261121090006_proposals", "20261123090002_proposal_sessions",
	}
)

const (
	// migrateLock is held until the transaction ends. All schemas share one lock, because
	// they share the tables in the schema public.
	migrateLock = `SELECT pg_advisory_xact_lock(hashtextextended('weft supabase', 0))`

	// hasProjectQuery has the parameter schema. It reports whether the schema has the table
	// cp_project.
	hasProjectQuery = `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1::text AND c.relname = 'cp_project')`
	projectQuery = `SELECT migration FROM weft.cp_project`
)

// apply runs the named migrations that are not recorded as applied, in one transaction.
func apply(ctx context.Context, pool *pgxpool.Pool, o Options, names []string) error {
	schema := cmp.Or(o.Checkpoint.Schema, defaultSchema)
	scripts, err := Scripts(schema)
	if err != nil {
		return err
	}
	l := newLink(pool, &o)
	return l.again(ctx, longTimeout, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, migrateLock, pgx.QueryExecModeExec); err != nil {
				return err
			}
			done, err := applied(ctx, tx, schema)
			if err != nil {
				return err
			}
			for _, s := range scripts {
				if !slices.Contains(names, s.Name) || slices.Contains(done, s.Name) {
					continue
				}
				if _, err := tx.Exec(ctx, s.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
					return fmt.Errorf("migration %s: %w", s.Name, err)
				}
			}
			return nil
		})
	})
}

// applied returns the names of the migrations that are recorded as applied.
func applied(ctx context.Context, tx pgx.Tx, schema string) ([]string, error) {
	var exists bool
	err := tx.QueryRow(ctx, hasProjectQuery, pgx.QueryExecModeExec, schema).Scan(&exists)
	if err != nil || !exists {
		return nil, err
	}
	rows, err := tx.Query(ctx, inSchema(schema, projectQuery), pgx.QueryExecModeExec)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// checkMigrated returns [ErrNotMigrated] if a migration is missing.
func (s *Store) checkMigrated(ctx context.Context) error {
	var done []string
	err := s.query(ctx, projectQuery, nil, func(rows pgx.Rows) error {
		var name string
		err := rows.Scan(&name)
		done = append(done, name)
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range ownMigrations {
		if !slices.Contains(done, name) {
			return fmt.Errorf("the migration %s is missing: %w", name, ErrNotMigrated)
		}
	}
	return nil
}
