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

// SupabaseScripts returns the migrations that a Supabase project needs in addition to [Scripts], oldest first. An empty
// schema means "weft". The scripts have the names that the Supabase CLI requires. Each is idempotent. If a script is
// run again, all later scripts must be run again too.
//
// The scripts whose names end in "_security" set up row-level security: a user can read and write the scopes whose
// [memory.Scope.User] is the id of the user, in the tenants of the claim app_metadata.tenants. They also limit sizes,
// and add quotas.
//
// The other scripts are for programs in other languages. They create the views agent_memories, knowledge_chunks,
// agent_conversations, user_context and user_quota in the schema public, and the functions match_memories,
// match_knowledge, get_conversation, save_conversation, forget_me and forget_user. The first four views do not support
// ON CONFLICT. Instead, an INSERT of an existing session or user updates the row.
//
// The section "Who may read and write what" of docs/supabase.md lists the rights of each role.
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
		sql := strings.ReplaceAll(string(text), "\r\n", "\n") // from a checkout on Windows
		list = append(list, Script{Name: strings.TrimSuffix(path.Base(file), ".sql"), SQL: inSchema(schema, sql)})
	}
	return list, nil
}

// inSchema replaces the default schema in a script.
func inSchema(schema, text string) string {
	if schema == "" || schema == defaultSchema {
		return text
	}
	quoted := pgx.Identifier{schema}.Sanitize()
	text = strings.ReplaceAll(text, defaultSchema+".", quoted+".")
	text = strings.ReplaceAll(text, "SCHEMA "+defaultSchema, "SCHEMA "+quoted)
	return strings.ReplaceAll(text, "'"+defaultSchema+"'", "'"+quoted+"'")
}

// MigrateSupabase calls [Migrate], and then runs the [SupabaseScripts] whose names end in "_security". Several processes may
// call it concurrently. It needs the rights of the role postgres.
func MigrateSupabase(ctx context.Context, on Conn, o Options) error {
	return migrateSupabase(ctx, on, o, func(s Script) bool { return !strings.HasSuffix(s.Name, "_security") })
}

// MigratePublic calls [Migrate], and then runs all [SupabaseScripts]. Several processes may call it concurrently. It needs the
// rights of the role postgres.
func MigratePublic(ctx context.Context, on Conn, o Options) error {
	return migrateSupabase(ctx, on, o, func(Script) bool { return false })
}

// supabaseLock takes a lock until the transaction ends, so it also works behind a transaction pooler.
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
	return d.labour(ctx, func(ctx context.Context, tx Conn) error {
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
