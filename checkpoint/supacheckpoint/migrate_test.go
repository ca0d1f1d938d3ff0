package supacheckpoint_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

// emptyPlace is a schema in which nothing is.
func emptyPlace(tb testing.TB) place {
	tb.Helper()
	database := supatest.Database(tb, nil)
	return place{database: database, url: database, options: supacheckpoint.Options{
		Checkpoint: pgcheckpoint.Options{Schema: pgtest.SchemaIn(tb, database), Pooling: pgcheckpoint.Direct}, Migrated: true,
	}}
}

// apply runs scripts as the SQL editor and the CLI do.
func apply(tb testing.TB, p place, scripts []pgcheckpoint.Script) {
	tb.Helper()
	conn := p.conn(tb)
	for _, s := range scripts {
		if _, err := conn.Exec(context.Background(), s.SQL, pgx.QueryExecModeSimpleProtocol); err != nil {
			tb.Fatalf("%s: %v", s.Name, err)
		}
	}
}

// The files of the migrations and Migrate do the same, in any order and again.
func TestMigrations(t *testing.T) {
	t.Parallel()
	migrate := func(t *testing.T, p place) {
		if err := supacheckpoint.Migrate(t.Context(), p.pool(t, 1), p.options); err != nil {
			t.Fatal(err)
		}
	}
	files := func(t *testing.T, p place) {
		scripts, err := supacheckpoint.Scripts(p.options.Checkpoint.Schema)
		if err != nil {
			t.Fatal(err)
		}
		apply(t, p, scripts)
	}
	// As psql does, which sends each statement in a transaction of its own.
	statements := func(t *testing.T, p place) {
		scripts, err := supacheckpoint.Scripts(p.options.Checkpoint.Schema)
		if err != nil {
			t.Fatal(err)
		}
		conn := p.conn(t)
		for _, s := range scripts {
			for _, statement := range pgtest.Statements(s.SQL) {
				if _, err := conn.Exec(context.Background(), statement, pgx.QueryExecModeExec); err != nil {
					t.Fatalf("%s: %v", s.Name, err)
				}
			}
		}
	}
	for name, ways := range map[string][]func(*testing.T, place){
		"by hand, twice":       {statements, statements},
		"files":                {files},
		"files twice":          {files, files},
		"Migrate twice":        {migrate, migrate},
		"files, then Migrate":  {files, migrate},
		"Migrate, then files":  {migrate, files},
		"both, and once again": {migrate, files, migrate, files},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := emptyPlace(t)
			for _, way := range ways {
				way(t, p)
			}
			user := p
			user.url = supatest.Authenticator(t, p.database)
			store := as(t, user.open(t), ann)
			putAll(t, store, "plan", 2)
			for _, way := range ways {
				way(t, p)
			}
			if s := session(t, store, "plan"); s.Checkpoints != 2 {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// A database that has checkpoints already gets the rest, with sessions for them.
func TestMigrateWhatIsThere(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	o := p.options.Checkpoint
	o.Tenant = ann
	before, err := pgcheckpoint.Open(t.Context(), p.url, o)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	putAll(t, before, "plan", 3)
	if _, err := supacheckpoint.Open(t.Context(), p.url, p.options); !errors.Is(err, supacheckpoint.ErrNotMigrated) {
		t.Errorf("before: got error %v want %v", err, supacheckpoint.ErrNotMigrated)
	}
	p.options.Migrated = false
	store := as(t, p.open(t), ann)
	if s := session(t, store, "plan"); s.Checkpoints != 3 || s.Status != "active" || s.LastActivity.Before(s.Start) {
		t.Errorf("got %+v", s)
	}
	if c, err := store.Get(t.Context(), checkpoint.Key{Thread: "plan"}); err != nil || len(c.Lineage) != 3 {
		t.Errorf("got %d deltas, error %v", len(c.Lineage), err)
	}
}

// A database that is no project's is left as it is.
func TestNoProject(t *testing.T) {
	t.Parallel()
	p := place{options: supacheckpoint.Options{Checkpoint: pgcheckpoint.Options{Schema: pgtest.Schema(t), Pooling: pgcheckpoint.Direct}}}
	p.database = pgtest.DirectURL(t)
	_, err := supacheckpoint.Open(t.Context(), p.database, p.options)
	if !errors.Is(err, checkpoint.ErrInvalid) || !strings.Contains(err.Error(), "not the database of a Supabase project") {
		t.Errorf("got error %v", err)
	}
	if n := ask[int](t, p, `SELECT count(*)::int FROM pg_class WHERE relnamespace = $1::regnamespace`, p.options.Checkpoint.Schema); n != 0 {
		t.Errorf("it has made %d things", n)
	}
}

func TestNotMigrated(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	if _, err := supacheckpoint.Open(t.Context(), p.url, p.options); !errors.Is(err, supacheckpoint.ErrNotMigrated) {
		t.Errorf("got error %v want %v", err, supacheckpoint.ErrNotMigrated)
	}
	scripts, err := supacheckpoint.Scripts(p.options.Checkpoint.Schema)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, p, append(scripts[:3:3], scripts[6])) // the migrations of pgcheckpoint, and the first one of this package
	_, err = supacheckpoint.Open(t.Context(), p.url, p.options)
	if !errors.Is(err, supacheckpoint.ErrNotMigrated) || !strings.Contains(err.Error(), scripts[3].Name) {
		t.Errorf("got error %v, want one that names %s", err, scripts[3].Name)
	}
}

// Many processes that start together migrate once.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	p.options.Migrated = false
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			store, err := supacheckpoint.Open(context.Background(), p.url, p.options)
			if err != nil {
				t.Error(err)
				return
			}
			store.Close()
		})
	}
	wg.Wait()
	if n := ask[int](t, p, `SELECT count(*)::int FROM weft.cp_project`); n != 2 {
		t.Errorf("noted %d migrations want 2", n)
	}
}

// The role postgres of a project is no superuser. One with less than its rights is enough,
// who is under the policies also as the owner of the tables.
func TestMigrateAsOwner(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	const owner = "weft_test_owner"
	// Roles belong to the whole server. The lock is held until its connection ends.
	do(t, place{database: pgtest.DirectURL(t)}, `SELECT pg_advisory_lock(hashtextextended('weft test owner', 0))`)
	do(t, p, `DO $$ BEGIN
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '`+owner+`') THEN
			CREATE ROLE `+owner+` LOGIN NOSUPERUSER NOBYPASSRLS;
		END IF;
	END $$`)
	do(t, p, `GRANT authenticated, service_role TO `+owner)
	do(t, p, `ALTER SCHEMA `+p.options.Checkpoint.Schema+` OWNER TO `+owner)
	u, err := url.Parse(p.database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(owner, owner)
	p.url, p.options.Migrated = u.String(), false
	for range 2 {
		store := p.open(t)
		anns := as(t, store, newUser())
		putAll(t, anns, "plan", 2)
		if s := session(t, anns, "plan"); s.Checkpoints != 2 {
			t.Errorf("got %+v", s)
		}
	}
	conn, err := pgx.Connect(t.Context(), p.url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, table := range []string{"cp_thread", "cp_step", "cp_session"} {
		var n int
		if err := conn.QueryRow(t.Context(), p.sql(`SELECT count(*)::int FROM weft.`+table)).Scan(&n); err != nil || n != 0 {
			t.Errorf("the owner sees %d rows of %s, error %v", n, table, err)
		}
	}
}

// A schema of another name, which has to be quoted, works as well.
func TestSchemaName(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	p.options.Checkpoint.Schema, p.options.Migrated = "Weft-of-"+p.options.Checkpoint.Schema, false
	quoted := pgx.Identifier{p.options.Checkpoint.Schema}.Sanitize()
	t.Cleanup(func() { do(t, p, "DROP SCHEMA "+quoted+" CASCADE") })
	store := as(t, p.open(t), ann)
	putAll(t, store, "plan", 2)
	if s := session(t, store, "plan"); s.Checkpoints != 2 {
		t.Errorf("got %+v", s)
	}
	for _, schema := range []string{`x"; DROP SCHEMA weft; --`, "a b", "a.b", "a$$b", "$do$", "1", strings.Repeat("x", 64), "weft\x00"} {
		p.options.Checkpoint.Schema = schema
		if _, err := supacheckpoint.Open(t.Context(), p.url, p.options); !errors.Is(err, checkpoint.ErrInvalid) {
			t.Errorf("schema %q: got error %v want %v", schema, err, checkpoint.ErrInvalid)
		}
	}
}

// What does not belong to this package's user is refused when a store is made.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	if _, err := supacheckpoint.New(t.Context(), nil, p.options); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("no pool: got error %v want %v", err, checkpoint.ErrInvalid)
	}
	pool := p.pool(t, 1)
	o := p.options
	o.Checkpoint.Tenant = ann
	if _, err := supacheckpoint.New(t.Context(), pool, o); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("a tenant: got error %v want %v", err, checkpoint.ErrInvalid)
	}
	o = p.options
	o.Checkpoint.Before = func(context.Context, *pgx.Batch) error { return nil }
	if _, err := supacheckpoint.New(t.Context(), pool, o); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("a Before: got error %v want %v", err, checkpoint.ErrInvalid)
	}
	cached, err := pgxpool.New(t.Context(), p.url)
	if err != nil {
		t.Fatal(err)
	}
	defer cached.Close()
	o = p.options
	o.Checkpoint.Pooling = pgcheckpoint.Transaction
	if _, err := supacheckpoint.New(t.Context(), cached, o); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("statements that are cached, behind a pooler: got error %v want %v", err, checkpoint.ErrInvalid)
	}
}

// The documents' tables are made where they are missing, and left alone where a project
// has them already, with policies and grants of its own.
func TestMigrateDocuments(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	for range 2 {
		migrateDocuments(t, p)
	}
	scripts, err := supacheckpoint.Scripts("")
	if err != nil {
		t.Fatal(err)
	}
	conn := p.conn(t)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	// A schema of its own in the place of public.
	const before = `CREATE TABLE theirs.proposals (id uuid PRIMARY KEY, title text, proposal_id text);
CREATE TABLE theirs.proposal_checkpoints (id bigserial PRIMARY KEY, thread_id text NOT NULL, user_id uuid NOT NULL REFERENCES auth.users (id),
	proposal_id uuid NOT NULL REFERENCES theirs.proposals (id), checkpoint_data jsonb NOT NULL, metadata jsonb DEFAULT '{}',
	created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now(), UNIQUE (thread_id, user_id));
CREATE INDEX idx_proposal_checkpoints_thread_id ON theirs.proposal_checkpoints (thread_id);
ALTER TABLE theirs.proposal_checkpoints ENABLE ROW LEVEL SECURITY;
CREATE POLICY "Users can only access their own checkpoints" ON theirs.proposal_checkpoints USING (auth.uid() = user_id);
GRANT SELECT ON theirs.proposal_checkpoints TO anon;`
	statements := []string{"CREATE SCHEMA theirs", before}
	for _, s := range scripts[4:6] {
		sql := strings.ReplaceAll(s.SQL, "public.", "theirs.")
		statements = append(statements, sql, sql)
	}
	for _, s := range statements {
		if _, err := tx.Exec(t.Context(), s, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%v: %s", err, s)
		}
	}
	var says string
	err = tx.QueryRow(t.Context(), `SELECT concat_ws(' ',
		(SELECT relrowsecurity FROM pg_class WHERE oid = 'theirs.proposals'::regclass),
		(SELECT count(*) FROM pg_policy WHERE polrelid = 'theirs.proposals'::regclass),
		(SELECT count(*) FROM pg_policy WHERE polrelid = 'theirs.proposal_checkpoints'::regclass),
		has_table_privilege('anon', 'theirs.proposal_checkpoints', 'SELECT'),
		has_table_privilege('authenticated', 'theirs.proposals', 'SELECT'),
		(SELECT count(*) FROM pg_policy WHERE polrelid = 'theirs.proposal_sessions'::regclass))`).Scan(&says)
	if err != nil || says != "f 0 1 t f 1" {
		t.Errorf("got %q, error %v", says, err)
	}
}
