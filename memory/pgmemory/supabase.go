package pgmemory

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed supabase/migrations/*.sql
var supabaseFiles embed.FS

// SupabaseScripts returns what a Supabase project needs besides [Scripts], in this order: row-level
// security, by which a user sees and changes the scopes whose [memory.Scope.User] is the user's id
// alone, and what is for programs in other languages, in schema public: the tables agent_memories,
// knowledge_chunks, agent_conversations and user_context, and the functions match_memories, match_knowledge,
// get_conversation and save_conversation. They are named as the Supabase CLI wants them, and each can be run again.
//
// The tables are views, with which PostgreSQL allows no ON CONFLICT on columns. It is not needed: to insert a session or a
// user that is there is to update it.
//
// [memory.Scope.User]: https://pkg.go.dev/github.com/weft-go/weft/memory#Scope
func SupabaseScripts(schema string) ([]Script, error) {
	o := Options{Schema: schema}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("pgmemory: scripts: %w", err)
	}
	names, err := fs.Glob(supabaseFiles, "supabase/migrations/*.sql")
	if err != nil {
		return nil, fmt.Errorf("pgmemory: scripts: %w", err)
	}
	list := make([]Script, 0, len(names))
	for _, file := range names {
		text, err := fs.ReadFile(supabaseFiles, file)
		if err != nil {
			return nil, fmt.Errorf("pgmemory: scripts: %w", err)
		}
		sql := strings.ReplaceAll(string(text), "\r\n", "\n") // as a checkout may have it
		list = append(list, Script{Name: strings.TrimSuffix(path.Base(file), ".sql"), SQL: inSchema(schema, sql)})
	}
	return list, nil
}

// inSchema puts a schema into a script.
func inSchema(schema, text string) string {
	if schema == "" || schema == defaultSchema {
		return text
	}
	quoted := pgx.Identifier{schema}.Sanitize()
	text = strings.ReplaceAll(text, defaultSchema+".", quoted+".")
	text = strings.ReplaceAll(text, "SCHEMA "+defaultSchema, "SCHEMA "+quoted)
	return strings.ReplaceAll(text, "'"+defaultSchema+"'", "'"+quoted+"'")
}

// MigrateSupabase does what [Migrate] does, and then runs those of the [SupabaseScripts] that are for row-level
// security. Any number of processes may do so at once. It needs the rights of the role postgres.
func MigrateSupabase(ctx context.Context, on Conn, o Options) error {
	return migrateSupabase(ctx, on, o, func(s Script) bool { return !strings.HasSuffix(s.Name, "_security") })
}

// MigratePublic does what [MigrateSupabase] does, and makes what is for programs in other languages besides: it runs
// all of the [SupabaseScripts].
func MigratePublic(ctx context.Context, on Conn, o Options) error {
	return migrateSupabase(ctx, on, o, func(Script) bool { return false })
}

// supabaseLock is held until the transaction ends, which a pooler respects.
const supabaseLock = `SELECT pg_advisory_xact_lock(hashtextextended('weft memory supabase', 0))`

func migrateSupabase(ctx context.Context, on Conn, o Options, without func(Script) bool) error {
	o.Before = nil
	d, err := makeDB(on, o)
	if err == nil {
		err = d.migrate(ctx)
	}
	if err == nil {
		err = d.runSupabase(ctx, without)
	}
	if err != nil {
		return fmt.Errorf("pgmemory: migrate for Supabase: %w", classify(err))
	}
	return nil
}

func (d *DB) runSupabase(ctx context.Context, without func(Script) bool) error {
	scripts, err := SupabaseScripts(d.schema)
	if err != nil {
		return err
	}
	scripts = slices.DeleteFunc(scripts, without)
	return d.labour(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, supabaseLock, pgx.QueryExecModeExec); err != nil {
			return err
		}
		for _, s := range scripts {
			if _, err := tx.Exec(ctx, s.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
				return fmt.Errorf("migration %s: %w", s.Name, err)
			}
		}
		return nil
	})
}
