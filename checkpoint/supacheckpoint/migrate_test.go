package supacheckpoint_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
)

// emptyPlace returns a place with an empty schema. Its store connects as the owner.
func emptyPlace(tb testing.TB) place {
	tb.Helper()
	database := supatest.Database(tb, nil)
	return place{database: database, url: database, options: supacheckpoint.Options{
		Checkpoint: pgcheckpoint.Options{Schema: pgtest.SchemaIn(tb, database), Pooling: pgcheckpoint.Direct}, Migrated: true,
	}}
}

// apply runs each script in one Exec, as the SQL editor and the CLI of Supabase do.
func apply(tb testing.TB, p place, scripts []pgcheckpoint.Script) {
	tb.Helper()
	conn := p.conn(tb)
	for _, s := range scripts {
		_, err := conn.Exec(context.Background(), s.SQL, pgx.QueryExecModeSimpleProtocol)
		require.NoError(tb, err, s.Name)
	}
}

// The migration files and Migrate have the same effect. Each can be applied again, and
// after the other.
func TestFilesAndMigrateAreInterchangeable(t *testing.T) {
	t.Parallel()
	migrate := func(t *testing.T, p place) {
		require.NoError(t, supacheckpoint.Migrate(t.Context(), p.pool(t, 1), p.options))
	}
	files := func(t *testing.T, p place) {
		scripts, err := supacheckpoint.Scripts(p.options.Checkpoint.Schema)
		require.NoError(t, err)
		apply(t, p, scripts)
	}
	// Like psql, run each statement in its own transaction.
	statements := func(t *testing.T, p place) {
		scripts, err := supacheckpoint.Scripts(p.options.Checkpoint.Schema)
		require.NoError(t, err)
		conn := p.conn(t)
		for _, s := range scripts {
			for _, statement := range pgtest.Statements(s.SQL) {
				_, err := conn.Exec(context.Background(), statement, pgx.QueryExecModeExec)
				require.NoError(t, err, s.Name)
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
			assert.Equal(t, 2, session(t, store, "plan").Checkpoints)
		})
	}
}

// Migrate keeps the checkpoints that pgcheckpoint stored, and adds a session for each thread.
func TestMigrateAddsSessionsToExistingThreads(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	o := p.options.Checkpoint
	o.Tenant = ann
	before, err := pgcheckpoint.Open(t.Context(), p.url, o)
	require.NoError(t, err)
	defer before.Close()
	putAll(t, before, "plan", 3)
	_, err = supacheckpoint.Open(t.Context(), p.url, p.options)
	assert.ErrorIs(t, err, supacheckpoint.ErrNotMigrated, "before Migrate")
	p.options.Migrated = false
	store := as(t, p.open(t), ann)
	s := session(t, store, "plan")
	assert.Equal(t, 3, s.Checkpoints)
	assert.Equal(t, "active", s.Status)
	assert.False(t, s.LastActivity.Before(s.Start))
	c, err := store.Get(t.Context(), checkpoint.Key{Thread: "plan"})
	assert.NoError(t, err)
	assert.Len(t, c.Lineage, 3)
}

// Open creates nothing in a database without the roles of a Supabase project.
func TestOpenRejectsADatabaseThatIsNoProject(t *testing.T) {
	t.Parallel()
	p := place{options: supacheckpoint.Options{Checkpoint: pgcheckpoint.Options{Schema: pgtest.Schema(t), Pooling: pgcheckpoint.Direct}}}
	p.database = pgtest.DirectURL(t)
	_, err := supacheckpoint.Open(t.Context(), p.database, p.options)
	assert.ErrorIs(t, err, checkpoint.ErrInvalid)
	assert.ErrorContains(t, err, "not the database of a Supabase project")
	n := ask[int](t, p, `SELECT count(*)::int FROM pg_class WHERE relnamespace = $1::regnamespace`, p.options.Checkpoint.Schema)
	assert.Equal(t, 0, n, "relations in the schema")
}

func TestOpenNamesTheFirstMissingMigration(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	_, err := supacheckpoint.Open(t.Context(), p.url, p.options)
	assert.ErrorIs(t, err, supacheckpoint.ErrNotMigrated)
	scripts, err := supacheckpoint.Scripts(p.options.Checkpoint.Schema)
	require.NoError(t, err)
	// All migrations of pgcheckpoint, and one of this package.
	apply(t, p, slices.Concat(scripts[:3], scripts[6:8], scripts[9:11]))
	_, err = supacheckpoint.Open(t.Context(), p.url, p.options)
	assert.ErrorIs(t, err, supacheckpoint.ErrNotMigrated)
	assert.ErrorContains(t, err, scripts[3].Name)
}

// Stores that are opened concurrently apply each migration once.
func TestConcurrentOpensMigrateOnce(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	p.options.Migrated = false
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			store, err := supacheckpoint.Open(context.Background(), p.url, p.options)
			if assert.NoError(t, err) {
				store.Close()
			}
		})
	}
	wg.Wait()
	assert.Equal(t, 3, ask[int](t, p, `SELECT count(*)::int FROM weft.cp_project`))
}

// Migrate needs no superuser. It works for a role with fewer privileges than the role
// postgres of a Supabase project. Row-level security also applies to this owner of the tables.
func TestMigrateNeedsNoSuperuser(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	const owner = "weft_test_owner"
	// Roles belong to the whole server, so lock out other tests. The lock ends with its connection.
	do(t, place{database: pgtest.DirectURL(t)}, `SELECT pg_advisory_lock(hashtextextended('weft test owner', 0))`)
	do(t, p, `DO $$ BEGIN
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '`+owner+`') THEN
			CREATE ROLE `+owner+` LOGIN NOSUPERUSER NOBYPASSRLS;
		END IF;
	END $$`)
	do(t, p, `GRANT authenticated, service_role TO `+owner)
	do(t, p, `ALTER SCHEMA `+p.options.Checkpoint.Schema+` OWNER TO `+owner)
	u, err := url.Parse(p.database)
	require.NoError(t, err)
	u.User = url.UserPassword(owner, owner)
	p.url, p.options.Migrated = u.String(), false
	for range 2 {
		store := p.open(t)
		anns := as(t, store, newUser())
		putAll(t, anns, "plan", 2)
		assert.Equal(t, 2, session(t, anns, "plan").Checkpoints)
	}
	conn, err := pgx.Connect(t.Context(), p.url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, table := range []string{"cp_thread", "cp_step", "cp_session"} {
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), p.sql(`SELECT count(*)::int FROM weft.`+table)).Scan(&n), table)
		assert.Equal(t, 0, n, "rows of %s that the owner sees", table)
	}
}

// Open accepts a schema name that must be quoted, and rejects an invalid one.
func TestSchemaNameIsQuotedOrRejected(t *testing.T) {
	t.Parallel()
	p := emptyPlace(t)
	p.options.Checkpoint.Schema, p.options.Migrated = "Weft-of-"+p.options.Checkpoint.Schema, false
	quoted := pgx.Identifier{p.options.Checkpoint.Schema}.Sanitize()
	t.Cleanup(func() { do(t, p, "DROP SCHEMA "+quoted+" CASCADE") })
	store := as(t, p.open(t), ann)
	putAll(t, store, "plan", 2)
	assert.Equal(t, 2, session(t, store, "plan").Checkpoints)
	for _, schema := range []string{`x"; DROP SCHEMA weft; --`, "a b", "a.b", "a$$b", "$do$", "1", strings.Repeat("x", 64), "weft\x00"} {
		p.options.Checkpoint.Schema = schema
		_, err := supacheckpoint.Open(t.Context(), p.url, p.options)
		assert.ErrorIs(t, err, checkpoint.ErrInvalid, "schema %q", schema)
	}
}

func TestNewRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	_, err := supacheckpoint.New(t.Context(), nil, p.options)
	assert.ErrorIs(t, err, checkpoint.ErrInvalid, "no pool")
	pool := p.pool(t, 1)
	o := p.options
	o.Checkpoint.Tenant = ann
	_, err = supacheckpoint.New(t.Context(), pool, o)
	assert.ErrorIs(t, err, checkpoint.ErrInvalid, "a tenant")
	o = p.options
	o.Checkpoint.Before = func(context.Context, *pgx.Batch) error { return nil }
	_, err = supacheckpoint.New(t.Context(), pool, o)
	assert.ErrorIs(t, err, checkpoint.ErrInvalid, "a Before")
	cached, err := pgxpool.New(t.Context(), p.url)
	require.NoError(t, err)
	defer cached.Close()
	o = p.options
	o.Checkpoint.Pooling = pgcheckpoint.Transaction
	_, err = supacheckpoint.New(t.Context(), cached, o)
	assert.ErrorIs(t, err, checkpoint.ErrInvalid, "a pool that caches statements, with Transaction pooling")
}

// The migrations create the missing tables of documents. They do not change the columns,
// policies and grants of tables that a project already has.
func TestMigrateKeepsExistingDocumentTables(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	for range 2 {
		migrateDocuments(t, p)
	}
	scripts, err := supacheckpoint.Scripts("")
	require.NoError(t, err)
	conn := p.conn(t)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	// Use the schema theirs instead of public.
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
		_, err := tx.Exec(t.Context(), s, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err, s)
	}
	var says string
	err = tx.QueryRow(t.Context(), `SELECT concat_ws(' ',
		(SELECT relrowsecurity FROM pg_class WHERE oid = 'theirs.proposals'::regclass),
		(SELECT count(*) FROM pg_policy WHERE polrelid = 'theirs.proposals'::regclass),
		(SELECT count(*) FROM pg_policy WHERE polrelid = 'theirs.proposal_checkpoints'::regclass),
		has_table_privilege('anon', 'theirs.proposal_checkpoints', 'SELECT'),
		has_table_privilege('authenticated', 'theirs.proposals', 'SELECT'),
		(SELECT count(*) FROM pg_policy WHERE polrelid = 'theirs.proposal_sessions'::regclass))`).Scan(&says)
	assert.NoError(t, err)
	assert.Equal(t, "f 0 1 t f 1", says)
}

// Migrations do not wait for the tables of other schemas. Otherwise two migrations could wait for
// each other's tables, which is a deadlock.
func TestMigrateDocumentsWaitsForNoOtherTable(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	do(t, p, `CREATE TABLE weft.other (owner uuid);
		CREATE TABLE weft.mine (id int);
		CREATE POLICY mine ON weft.mine FOR INSERT WITH CHECK (EXISTS (SELECT FROM weft.other WHERE owner = auth.uid()))`)
	locked, err := p.conn(t).Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = locked.Rollback(context.Background()) }()
	_, err = locked.Exec(t.Context(), p.sql(`LOCK TABLE weft.other IN ACCESS EXCLUSIVE MODE`))
	require.NoError(t, err)
	scripts, err := supacheckpoint.Scripts(p.options.Checkpoint.Schema)
	require.NoError(t, err)
	conn := p.conn(t)
	// Without the index, PostgreSQL reads all policies until one fits. None fits the tables of theirs.
	_, err = conn.Exec(t.Context(), `SET lock_timeout = '5s'; SET enable_indexscan = off; SET enable_bitmapscan = off`)
	require.NoError(t, err)
	theirs := p.options.Checkpoint.Schema + "_theirs"
	t.Cleanup(func() { do(t, p, "DROP SCHEMA "+theirs+" CASCADE") })
	last := scripts[len(scripts)-1]
	for _, sql := range []string{
		`CREATE SCHEMA theirs; CREATE TABLE theirs.proposal_sessions (id int); CREATE TABLE theirs.proposal_checkpoints (id int)`,
		strings.ReplaceAll(last.SQL, "public.", "theirs."),
	} {
		_, err := conn.Exec(t.Context(), strings.ReplaceAll(sql, "theirs", theirs), pgx.QueryExecModeSimpleProtocol)
		assert.NoError(t, err, last.Name)
	}
}

// A table of an older version keeps its rows, and its thread ids become unique per user.
// A table with the policies of another program keeps its key.
func TestMigrateMakesThreadIDsOfProposalSessionsUniquePerUser(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	user, proposal := member(t, p)
	scripts, err := supacheckpoint.Scripts("")
	require.NoError(t, err)
	index := slices.IndexFunc(scripts, func(s pgcheckpoint.Script) bool { return s.Name == "20261121090006_proposals" })
	key := slices.IndexFunc(scripts, func(s pgcheckpoint.Script) bool { return s.Name == "20261123090002_proposal_sessions" })
	for name, c := range map[string]struct{ policy, want string }{
		"of this package":    {"", "UNIQUE (thread_id, user_id)"},
		"of another program": {`CREATE POLICY mine ON theirs.proposal_sessions USING (auth.uid() = user_id)`, "UNIQUE (thread_id)"},
	} {
		t.Run(name, func(t *testing.T) {
			tx, err := p.conn(t).Begin(t.Context())
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(context.Background()) }()
			statements := []string{`CREATE SCHEMA theirs`}
			if c.policy != "" {
				statements = append(statements, `CREATE TABLE theirs.proposal_sessions (id bigserial PRIMARY KEY, thread_id text NOT NULL UNIQUE, user_id uuid NOT NULL,
					proposal_id uuid NOT NULL, status text DEFAULT 'active')`, c.policy)
			}
			statements = append(statements, scripts[index].SQL, `INSERT INTO public.proposals SELECT '`+proposal+`', '`+user+`'`,
				`INSERT INTO public.proposal_sessions (thread_id, user_id, proposal_id) VALUES ('t', '`+user+`', '`+proposal+`')`,
				scripts[key].SQL, scripts[key].SQL)
			for _, statement := range statements {
				_, err := tx.Exec(t.Context(), strings.ReplaceAll(statement, "public.", "theirs."), pgx.QueryExecModeSimpleProtocol)
				require.NoError(t, err, statement)
			}
			var got string
			err = tx.QueryRow(t.Context(), `SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c, theirs.proposal_sessions s
				WHERE c.conrelid = 'theirs.proposal_sessions'::regclass AND c.contype = 'u' AND s.thread_id = 't'`).Scan(&got)
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}
