package supacheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/internal/supatest"
)

// catalogue has queries that find mistakes in the rights of a schema. Each must return no row.
var catalogue = map[string]string{
	"tables without row-level security that is forced": `SELECT relname FROM pg_class
		WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p') AND NOT (relrowsecurity AND relforcerowsecurity)`,
	"tables without a policy": `SELECT relname FROM pg_class c
		WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p')
		AND NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid)`,
	"what a user may do to tables, without a policy of theirs for it": `SELECT relname || ' ' || v.privilege FROM pg_class c,
		(VALUES ('SELECT', 'r'), ('INSERT', 'a'), ('UPDATE', 'w'), ('DELETE', 'd')) AS v (privilege, cmd)
		WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p') AND has_table_privilege('authenticated', oid, v.privilege)
		AND NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polcmd::text IN ('*', v.cmd)
			AND (cmd NOT IN ('a', 'w') OR polwithcheck IS NOT NULL)
			AND (polroles = ARRAY['authenticated'::regrole::oid] OR v.cmd = 'r' AND relname IN ('cp_migration', 'cp_project')))`,
	"policies that ask for the user in every row": supatest.Policies + `SELECT tablename || ' ' || policyname FROM policies
		WHERE concat(qual, with_check) ~ 'auth\.' AND concat(qual, with_check) !~ '\( SELECT auth\.uid\(\)'`,
	"policies of a user that are not about the user": supatest.Policies + `SELECT tablename || ' ' || policyname FROM policies
		WHERE roles = '{authenticated}' AND
		(qual IS NOT NULL AND qual !~ 'auth\.uid' OR with_check IS NOT NULL AND with_check !~ 'auth\.uid')`,
	"policies for everybody": supatest.Policies + `SELECT tablename || ' ' || policyname FROM policies
		WHERE roles && '{-,anon}' AND (NOT reads OR tablename NOT IN ('cp_migration', 'cp_project'))`,
	"tables that anon may touch": `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p', 'v')
		AND has_table_privilege('anon', oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')`,
	"sequences that anon may touch": `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace
		AND CASE WHEN relkind = 'S' THEN has_sequence_privilege('anon', oid, 'USAGE, SELECT, UPDATE') END`,
	"tables that a user may do more with": `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p')
		AND has_table_privilege('authenticated', oid, 'TRUNCATE, REFERENCES, TRIGGER')`,
	"functions with the rights of their owner": `SELECT proname::text FROM pg_proc WHERE pronamespace = $1::regnamespace AND prosecdef`,
	"functions that anon may call":             `SELECT proname::text FROM pg_proc WHERE pronamespace = $1::regnamespace AND has_function_privilege('anon', oid, 'EXECUTE')`,
	"views":                                    `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('v', 'm')`,
	"foreign keys without an index": `SELECT conrelid::regclass::text || ' ' || conname FROM pg_constraint f WHERE connamespace = $1::regnamespace AND contype = 'f'
		AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = f.conrelid AND indkey[0] = f.conkey[1])`,
}

// Every table forces row-level security. Its policies call auth.uid once per statement, and the
// role anon has no privileges.
func TestEveryTableEnforcesRowLevelSecurity(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	conn := p.conn(t)
	for schema, tables := range map[string]int{p.options.Checkpoint.Schema: 10, "public": 4} {
		n := ask[int](t, p, `SELECT count(*)::int FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'`, schema)
		assert.Equal(t, tables, n, "tables of %s", schema)
		for what, query := range catalogue {
			rows, err := conn.Query(t.Context(), query, schema)
			require.NoError(t, err)
			names, err := pgx.CollectRows(rows, pgx.RowTo[string])
			assert.NoError(t, err, "%s: %s", schema, what)
			assert.Empty(t, names, "%s: %s", schema, what)
		}
	}
	anon := ask[bool](t, p, `SELECT has_schema_privilege('anon', $1, 'USAGE, CREATE')`, p.options.Checkpoint.Schema)
	assert.False(t, anon, "anon has privileges on the schema")
}

// Each query of catalogue finds an example of the mistake that its name describes.
func TestCatalogueQueriesFindMistakes(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	conn := p.conn(t)
	schema := p.options.Checkpoint.Schema
	for what, change := range map[string]string{
		"tables without row-level security that is forced":                `ALTER TABLE weft.cp_tag NO FORCE ROW LEVEL SECURITY`,
		"tables without a policy":                                         `DROP POLICY own ON weft.cp_tag`,
		"what a user may do to tables, without a policy of theirs for it": `GRANT INSERT ON weft.cp_project TO authenticated`,
		"policies that ask for the user in every row":                     `CREATE POLICY slow ON weft.cp_tag TO authenticated USING (auth.uid() IS NOT NULL)`,
		"policies of a user that are not about the user":                  `CREATE POLICY lax ON weft.cp_tag TO authenticated USING (true)`,
		"policies for everybody":                                          `CREATE POLICY lax ON weft.cp_tag USING (true)`,
		"tables that anon may touch":                                      `GRANT SELECT ON weft.cp_tag TO anon`,
		"sequences that anon may touch":                                   `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ` + schema + ` TO anon`,
		"tables that a user may do more with":                             `GRANT TRUNCATE ON weft.cp_tag TO authenticated`,
		"functions with the rights of their owner":                        `ALTER FUNCTION weft.cp_clear SECURITY DEFINER`,
		"functions that anon may call":                                    `GRANT EXECUTE ON FUNCTION weft.cp_clear TO anon`,
		"views":                                                           `CREATE VIEW weft.cp_all AS SELECT * FROM weft.cp_tag`,
		"foreign keys without an index":                                   `CREATE TABLE weft.cp_more (other text REFERENCES weft.cp_project)`,
	} {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), p.sql(change))
		require.NoError(t, err, change)
		rows, err := tx.Query(t.Context(), catalogue[what], schema)
		require.NoError(t, err)
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		assert.NoError(t, err, "%s: %s", change, what)
		assert.NotEmpty(t, names, "%s: %s", change, what)
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

// No method shows or changes another user's thread.
func TestThreadsOfUsersAreSeparate(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newPlace(t).open(t)
			anns, bobs := as(t, store, ann), as(t, store, bob)
			putAll(t, anns, "plan", 3)
			held, err := anns.Lease(t.Context(), "plan")
			require.NoError(t, err)
			defer func() { _ = held.Release(context.Background()) }() // before the schema is dropped
			// The service's own threads are separate, too.
			for _, other := range []*supacheckpoint.Store{bobs, forUser(t, store, bob), store} {
				wantApart(t, other)
			}
			c, err := anns.Get(t.Context(), checkpoint.Key{Thread: "plan"})
			assert.NoError(t, err)
			assert.Equal(t, stepID(3), c.ID)
			assert.Len(t, c.Lineage, 3)
			next := step("plan", 4)
			assert.NoError(t, held.Put(t.Context(), next, next.Parent), "the lease")
			// The service can read the threads of a user that it names.
			forAnn, err := store.For(ann)
			require.NoError(t, err)
			c, err = forAnn.Get(t.Context(), checkpoint.Key{Thread: "plan"})
			assert.NoError(t, err, "the service for ann")
			assert.Equal(t, stepID(4), c.ID, "the service for ann")
		})
	}
}

// wantApart calls every method of s with the id of another user's thread, and checks that s
// does not find or change that thread.
func wantApart(t *testing.T, s *supacheckpoint.Store) {
	t.Helper()
	ctx := t.Context()
	k := checkpoint.Key{Thread: "plan", ID: stepID(3)}
	_, errTheirs := s.Get(ctx, k)
	_, errNone := s.Get(ctx, checkpoint.Key{Thread: "none", ID: stepID(3)})
	require.ErrorIs(t, errTheirs, checkpoint.ErrNotFound, "get")
	assert.EqualError(t, errNone, strings.ReplaceAll(errTheirs.Error(), "plan", "none"), "get")
	for what, c := range map[string]struct{ got, want error }{
		"put":     {s.Put(ctx, step("plan", 4), stepID(3)), checkpoint.ErrConflict},
		"writes":  {s.PutWrites(ctx, k, []checkpoint.Write{{Task: "a"}}), checkpoint.ErrNotFound},
		"copy":    {s.CopyThread(ctx, "plan", "mine"), checkpoint.ErrNotFound},
		"delete":  {s.DeleteThread(ctx, "plan"), nil},
		"runs":    {s.DeleteRuns(ctx, "plan", "run"), nil},
		"tag":     {s.Tag(ctx, k, "mine"), checkpoint.ErrNotFound},
		"untag":   {s.Untag(ctx, "plan", "theirs"), nil},
		"session": {func() error { _, err := s.Session(ctx, "plan"); return err }(), checkpoint.ErrNotFound},
	} {
		assert.ErrorIs(t, c.got, c.want, what)
	}
	n, err := s.Prune(ctx, checkpoint.PrunePolicy{})
	assert.NoError(t, err, "prune")
	assert.Equal(t, 0, n, "prune")
	n, err = s.CleanUp(ctx, supacheckpoint.SessionQuery{Statuses: []string{"active"}})
	assert.NoError(t, err, "clean up")
	assert.Equal(t, 0, n, "clean up")
	for c, err := range s.List(ctx, checkpoint.Query{Thread: "plan", AllNamespaces: true}) {
		assert.Fail(t, "list is not empty", "%v, error %v", c.Key, err)
	}
	for c, err := range s.ListThreads(ctx, "") {
		assert.Fail(t, "threads are not empty", "%v, error %v", c, err)
	}
	for c, err := range s.Find(ctx, pgcheckpoint.Search{Where: []pgcheckpoint.Condition{pgcheckpoint.Has("team")}}) {
		assert.Fail(t, "find is not empty", "%v, error %v", c.Key, err)
	}
	for session, err := range s.Sessions(ctx, supacheckpoint.SessionQuery{}) {
		assert.Fail(t, "sessions are not empty", "%v, error %v", session, err)
	}
	st, err := s.Stats(ctx)
	assert.NoError(t, err, "stats")
	assert.Zero(t, st.Threads, "stats")
	// A user can lease a thread with the same id while the other user's thread is leased.
	own, err := s.Lease(ctx, "plan")
	require.NoError(t, err, "lease")
	_, err = own.Get(ctx, checkpoint.Key{Thread: "plan"})
	assert.ErrorIs(t, err, checkpoint.ErrNotFound, "the lease")
	assert.NoError(t, own.Release(ctx))
}

// asUser runs SQL with only the role and the claims of a user, as an attacker with a connection
// could. It rolls the transaction back. It returns the number of rows that the statement
// returned or changed.
func asUser(t *testing.T, conn *pgx.Conn, user, sql string) (int64, error) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	claims := fmt.Sprintf(`{"sub":%q,"role":"authenticated"}`, user)
	if user == "" {
		claims = ""
	}
	_, err = tx.Exec(t.Context(), `SELECT set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1, true)`, claims)
	require.NoError(t, err)
	tag, err := tx.Exec(t.Context(), sql)
	return tag.RowsAffected(), err
}

// The policies protect the rows of a user also from SQL that no store sends.
func TestPoliciesStopHostileSQL(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	store := p.open(t)
	anns := as(t, store, ann)
	putAll(t, anns, "plan", 2)
	require.NoError(t, anns.PutWrites(t.Context(), checkpoint.Key{Thread: "plan", ID: stepID(2)}, []checkpoint.Write{{Task: "a", Channel: "x"}, {Task: "a", Index: -1, Channel: "$ask"}}))
	require.NoError(t, anns.Tag(t.Context(), checkpoint.Key{Thread: "plan", ID: stepID(1)}, "first"))
	do(t, p, `INSERT INTO weft.cp_space SELECT key, 1, 'x' FROM weft.cp_thread`)
	conn := p.conn(t)
	key := ask[int64](t, p, `SELECT key FROM weft.cp_thread`)
	tables := []string{"cp_thread", "cp_space", "cp_origin", "cp_step", "cp_write", "cp_open", "cp_tag", "cp_session"}
	var attacks []string
	for _, table := range tables {
		column := "thread"
		switch table {
		case "cp_thread":
			column = "tenant"
		case "cp_session":
			column = "tenant"
		}
		full := p.sql("weft." + table)
		attacks = append(attacks,
			"SELECT * FROM "+full,
			"SELECT * FROM "+full+" FOR UPDATE",
			"SELECT a.* FROM "+full+" a JOIN "+full+" b ON true",
			"UPDATE "+full+" SET "+column+" = "+column,
			"UPDATE "+full+" SET "+column+" = "+column+" RETURNING *",
			"DELETE FROM "+full,
			"DELETE FROM "+full+" USING "+full+" b",
			"MERGE INTO "+full+" a USING (SELECT 1) x ON true WHEN MATCHED THEN DELETE",
			"WITH x AS (DELETE FROM "+full+" RETURNING 1) SELECT * FROM x",
		)
	}
	thread := `'` + ann + `', 'plan'`
	for _, attack := range []string{
		`SELECT * FROM weft.cp_load(` + thread + `, '', NULL)`,
		`SELECT * FROM weft.cp_list(` + thread + `, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 10, true)`,
		`SELECT 1 WHERE weft.cp_delete(` + thread + `, NULL, 0) <> 0`,
		`SELECT 1 WHERE weft.cp_copy('` + ann + `', 'plan', 'other') = 0`,
		`SELECT 1 WHERE weft.cp_space_key(` + fmt.Sprint(key) + `, 'x') IS NOT NULL`,
		`SELECT 1 WHERE weft.cp_session_clean(NULL, '', NULL, 0, 100) > 0`,
		`SELECT 1 WHERE weft.cp_session_clean('` + ann + `', '', NULL, 0, 100) > 0`,
	} {
		attacks = append(attacks, p.sql(attack))
	}
	for _, user := range []string{bob, "", "00000000-0000-0000-0000-000000000000"} {
		for _, attack := range attacks {
			if n, err := asUser(t, conn, user, attack); err == nil {
				assert.Zero(t, n, "user %q: %s", user, attack)
			}
		}
		for _, attack := range refusedAttacks(p, key) {
			_, err := asUser(t, conn, user, attack)
			assert.True(t, refused(err), "user %q: %s: got error %v", user, attack, err)
		}
	}
	// These functions do not report what they changed, so check the remaining rows.
	for _, attack := range []string{
		fmt.Sprintf(`SELECT weft.cp_clear(%d)`, key),
		`SELECT weft.cp_delete(` + thread + `, NULL, 0)`,
		`SELECT weft.cp_put_writes(` + thread + `, NULL, 0, 0, '', '` + stepID(2) + `', ARRAY['a'], ARRAY[0::bigint], ARRAY['x'::bytea])`,
		`SELECT weft.cp_session_clean(NULL, '', NULL, 0, 100)`,
	} {
		_, err := asUserFor(t, conn, bob, p.sql(attack))
		assert.NoError(t, err, attack)
	}
	n, err := asUser(t, conn, ann, p.sql("SELECT * FROM weft.cp_step"))
	assert.NoError(t, err)
	assert.Equal(t, int64(2), n, "rows that ann sees")
	c, err := anns.Get(t.Context(), checkpoint.Key{Thread: "plan"})
	assert.NoError(t, err)
	assert.Len(t, c.Lineage, 2)
	assert.Len(t, c.Writes, 2)
}

// refusedAttacks returns statements that write rows of ann or change the schema. PostgreSQL
// must reject each of them.
func refusedAttacks(p place, key int64) []string {
	attacks := []string{
		`INSERT INTO weft.cp_thread (tenant, id) VALUES ('` + ann + `', 'new')`,
		`INSERT INTO weft.cp_thread (tenant, id) VALUES ('` + ann + `', 'plan') ON CONFLICT DO NOTHING`,
		`INSERT INTO weft.cp_thread (tenant, id) VALUES ('` + ann + `', 'plan') ON CONFLICT (tenant, id) DO UPDATE SET seq = 9`,
		`INSERT INTO weft.cp_thread (tenant, id) VALUES ('', 'of the service')`,
		`INSERT INTO weft.cp_session (tenant, thread_id) VALUES ('` + ann + `', 'plan') ON CONFLICT (tenant, thread_id) DO UPDATE SET status = 'x'`,
		`INSERT INTO weft.cp_space VALUES ($key, 7, 'y')`,
		`INSERT INTO weft.cp_tag VALUES ($key, 'mine', 1)`,
		`INSERT INTO weft.cp_open VALUES ($key, 't', -1, 'n', 'paused', '` + ann + `', 'plan', now())`,
		`INSERT INTO weft.cp_open VALUES ($key, 't', -1, 'n', 'paused', '` + bob + `', 'plan', now())`,
		`INSERT INTO weft.cp_write VALUES ($key, 1, 't', 0, '')`,
		`INSERT INTO weft.cp_write VALUES ($key, 2, 'a', 0, '') ON CONFLICT (thread, seq, task, number) DO UPDATE SET data = ''`,
		`INSERT INTO weft.cp_origin (thread, key, digest, run, version) VALUES ($key, 7, 'x', '', '')`,
		`INSERT INTO weft.cp_step (thread, time, step, seq, parent, branch, root, space, origin, epoch, whole, id, source, control, changes)
			VALUES ($key, now(), 1, 3, 2, 1, 1, 0, 1, 0, false, gen_random_uuid(), 'loop', '', '')`,
		`SELECT * FROM weft.cp_lease('` + ann + `', 'plan', gen_random_uuid(), 30, true)`,
		`SELECT weft.cp_session_put('` + ann + `', 'plan', 'done', NULL)`,
		`COPY weft.cp_step FROM STDIN`,
		`TRUNCATE weft.cp_step`,
		`ALTER TABLE weft.cp_step DISABLE ROW LEVEL SECURITY`,
		`DROP POLICY own ON weft.cp_step`,
		`CREATE TABLE weft.mine (x int)`,
		`INSERT INTO weft.cp_migration VALUES (99, 'x', 'x')`,
		`DELETE FROM weft.cp_project`,
	}
	for i, attack := range attacks {
		attacks[i] = strings.ReplaceAll(p.sql(attack), "$key", fmt.Sprint(key))
	}
	return attacks
}

// refused reports whether PostgreSQL rejected a statement for a missing privilege.
func refused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	// 42501 is insufficient_privilege. 0A000 is returned for COPY with row-level security.
	return ok && (e.Code == "42501" || e.Code == "0A000")
}

// count returns the number in an environment variable, or byDefault if it has none.
func count(variable string, byDefault int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return byDefault
}

// Users share a few connections. Some of their calls fail and some are cancelled. No user
// sees another user's thread, and no connection keeps an identity after a call.
// WEFT_LEAKS sets the number of calls.
func TestIdentityDoesNotLeak(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			pool := p.pool(t, 4)
			store, err := supacheckpoint.New(t.Context(), pool, p.options)
			require.NoError(t, err)
			const users = 8
			for u := range users {
				mine := as(t, store, userOf(u))
				putAll(t, mine, "t", 1)
				putAll(t, mine, "only "+userOf(u), 1)
			}
			var wg sync.WaitGroup
			const workers = 8
			for w := range workers {
				wg.Go(func() { leakWorker(t, store, uint64(w), count("WEFT_LEAKS", 2000)/workers) })
			}
			wg.Wait()
			if p.options.Checkpoint.Pooling != pgcheckpoint.Transaction {
				wantNoIdentity(t, pool)
			}
		})
	}
}

func userOf(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// pool opens a pool with size connections.
func (p place) pool(tb testing.TB, size int32) *pgxpool.Pool {
	tb.Helper()
	config, err := pgcheckpoint.PoolConfig(p.url, p.options.Checkpoint.Pooling)
	require.NoError(tb, err)
	config.MaxConns = size
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	return pool
}

// leakWorker makes calls as random users, and checks that each sees only their own thread.
func leakWorker(t *testing.T, store *supacheckpoint.Store, seed uint64, calls int) {
	random := rand.New(rand.NewPCG(seed, 1))
	for range calls {
		user := userOf(random.IntN(8))
		mine, err := store.As(supacheckpoint.User{ID: user})
		if !assert.NoError(t, err) {
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		switch random.IntN(9) {
		case 0: // cancelled at some point
			time.AfterFunc(time.Duration(random.IntN(300))*time.Microsecond, cancel)
		case 1: // a conflict
			_ = mine.Put(ctx, step("t", 1), stepID(9))
		case 2: // the database raises an error
			_ = mine.PutSession(ctx, "t", supacheckpoint.SessionUpdate{Metadata: []byte(`{"a":"\u0000"}`)})
		case 3: // a transaction that is cancelled or committed
			time.AfterFunc(time.Duration(random.IntN(900))*time.Microsecond, cancel)
			_ = mine.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
				var is string
				if err := tx.QueryRow(ctx, `SELECT auth.uid()::text`).Scan(&is); err == nil {
					assert.Equal(t, user, is)
				}
				return nil
			})
		}
		seen := 0
		for thread, err := range mine.ListThreads(ctx, "only ") {
			if err == nil {
				assert.Equal(t, "only "+user, thread.ID)
			} else {
				assert.ErrorIs(t, err, context.Canceled)
			}
			seen++
		}
		if ctx.Err() == nil {
			assert.Equal(t, 1, seen, "threads that user %s sees", user)
		}
		cancel()
	}
}

// wantNoIdentity fails if a connection of the pool still has the role or claims of a user.
func wantNoIdentity(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var held []*pgxpool.Conn
	defer func() {
		for _, c := range held {
			c.Release()
		}
	}()
	for range pool.Config().MaxConns {
		c, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		held = append(held, c)
		var is string
		err = c.QueryRow(t.Context(), `SELECT concat(nullif(current_user, session_user), current_setting('request.jwt.claims', true),
			current_setting('request.jwt.claim.sub', true), current_setting('request.jwt.claim.role', true))`).Scan(&is)
		assert.NoError(t, err)
		assert.Empty(t, is)
	}
}

// The store sets the identity for each call, even if the connection still has the identity of
// another user.
func TestIdentityOfTheConnectionIsIgnored(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	pool := p.pool(t, 1)
	store, err := supacheckpoint.New(t.Context(), pool, p.options)
	require.NoError(t, err)
	putAll(t, as(t, store, ann), "plan", 1)
	_, err = pool.Exec(t.Context(), `SELECT set_config('request.jwt.claim.sub', $1, false), set_config('request.jwt.claims', $2, false)`,
		ann, `{"sub":"`+ann+`"}`)
	require.NoError(t, err)
	_, err = as(t, store, bob).Get(t.Context(), checkpoint.Key{Thread: "plan"})
	assert.ErrorIs(t, err, checkpoint.ErrNotFound)
	putAll(t, as(t, store, bob), "plan", 1)
}

func TestAsRejectsInvalidUsers(t *testing.T) {
	t.Parallel()
	store := directPlace(t).open(t)
	for name, u := range map[string]supacheckpoint.User{
		"no id":                   {},
		"no UUID":                 {ID: "ann"},
		"quoted":                  {ID: "' OR '1'='1"},
		"the service":             {ID: ann, Role: "service_role"},
		"the owner":               {ID: ann, Role: "postgres"},
		"anon":                    {ID: ann, Role: "anon"},
		"another's claims":        {ID: ann, Claims: []byte(`{"sub":"` + bob + `","role":"authenticated"}`)},
		"claims of the service":   {ID: ann, Claims: []byte(`{"sub":"` + ann + `","role":"service_role"}`)},
		"claims without a role":   {ID: ann, Claims: []byte(`{"sub":"` + ann + `"}`)},
		"claims in another case":  {ID: ann, Claims: []byte(`{"SUB":"` + ann + `","Role":"authenticated"}`)},
		"claims that are no JSON": {ID: ann, Claims: []byte(`ann`)},
	} {
		_, err := store.As(u)
		assert.ErrorIs(t, err, checkpoint.ErrInvalid, name)
	}
	_, err := store.For("ann")
	assert.ErrorIs(t, err, checkpoint.ErrInvalid, "For an invalid id")
	_, err = as(t, store, ann).For(bob)
	assert.ErrorIs(t, err, supacheckpoint.ErrRole, "For on the store of a user")
	upper := as(t, store, strings.ToUpper("aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"))
	putAll(t, upper, "plan", 1)
	_, err = as(t, store, "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa").Get(t.Context(), checkpoint.Key{Thread: "plan"})
	assert.NoError(t, err, "an id in capitals is the same user")
}
