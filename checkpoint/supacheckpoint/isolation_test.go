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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

// catalogue are questions about a schema whose answer is to be nothing.
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
	"policies that ask for the user in every row": `SELECT tablename || ' ' || policyname FROM pg_policies
		WHERE schemaname = $1 AND concat(qual, with_check) ~ 'auth\.' AND concat(qual, with_check) !~ '\( SELECT auth\.uid\(\)'`,
	"policies of a user that are not about the user": `SELECT tablename || ' ' || policyname FROM pg_policies
		WHERE schemaname = $1 AND roles = '{authenticated}' AND
		(qual IS NOT NULL AND qual !~ 'auth\.uid' OR with_check IS NOT NULL AND with_check !~ 'auth\.uid')`,
	"policies for everybody": `SELECT tablename || ' ' || policyname FROM pg_policies
		WHERE schemaname = $1 AND roles && '{public,anon}' AND (cmd <> 'SELECT' OR tablename NOT IN ('cp_migration', 'cp_project'))`,
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

// Every table has row-level security, forced, with policies that ask for the user once, and
// no right for anybody it is not meant for.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	conn := p.conn(t)
	for schema, tables := range map[string]int{p.options.Checkpoint.Schema: 9, "public": 4} {
		if n := ask[int](t, p, `SELECT count(*)::int FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r'`, schema); n != tables {
			t.Errorf("%s has %d tables, and %d were expected", schema, n, tables)
		}
		for what, query := range catalogue {
			rows, err := conn.Query(t.Context(), query, schema)
			if err != nil {
				t.Fatal(err)
			}
			if names, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(names) > 0 {
				t.Errorf("%s: %s: got %v, error %v", schema, what, names, err)
			}
		}
	}
	if anon := ask[bool](t, p, `SELECT has_schema_privilege('anon', $1, 'USAGE, CREATE')`, p.options.Checkpoint.Schema); anon {
		t.Error("anon may use the schema")
	}
}

// The catalogue's questions find what they are about.
func TestCatalogueFinds(t *testing.T) {
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
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), p.sql(change)); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		rows, err := tx.Query(t.Context(), catalogue[what], schema)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(names) == 0 {
			t.Errorf("%s: %s was not found, error %v", change, what, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// What belongs to one user is not there for another, by whatever method.
func TestUsersAreApart(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newPlace(t).open(t)
			anns, bobs := as(t, store, ann), as(t, store, bob)
			putAll(t, anns, "plan", 3)
			held, err := anns.Lease(t.Context(), "plan")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = held.Release(context.Background()) }()                            // its schema is dropped next
			for _, other := range []*supacheckpoint.Store{bobs, forUser(t, store, bob), store} { // the service's own threads are others, too
				wantApart(t, other)
			}
			if c, err := anns.Get(t.Context(), checkpoint.Key{Thread: "plan"}); err != nil || c.ID != stepID(3) || len(c.Lineage) != 3 {
				t.Errorf("got %q with %d deltas, error %v", c.ID, len(c.Lineage), err)
			}
			c := step("plan", 4)
			if err := held.Put(t.Context(), c, c.Parent); err != nil {
				t.Errorf("the lease: %v", err)
			}
			// The service can, for a user that it names.
			forAnn, err := store.For(ann)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := forAnn.Get(t.Context(), checkpoint.Key{Thread: "plan"}); err != nil || c.ID != stepID(4) {
				t.Errorf("the service for ann: got %q, error %v", c.ID, err)
			}
		})
	}
}

// wantApart tries everything with the thread of another.
func wantApart(t *testing.T, s *supacheckpoint.Store) {
	t.Helper()
	ctx := t.Context()
	k := checkpoint.Key{Thread: "plan", ID: stepID(3)}
	_, errTheirs := s.Get(ctx, k)
	_, errNone := s.Get(ctx, checkpoint.Key{Thread: "none", ID: stepID(3)})
	if !errors.Is(errTheirs, checkpoint.ErrNotFound) ||
		strings.ReplaceAll(errTheirs.Error(), "plan", "none") != errNone.Error() {
		t.Errorf("get: got error %v, and for a thread that is not there %v", errTheirs, errNone)
	}
	for what, c := range map[string]struct{ got, want error }{
		"put":       {s.Put(ctx, step("plan", 4), stepID(3)), checkpoint.ErrConflict},
		"writes":    {s.PutWrites(ctx, k, []checkpoint.Write{{Task: "a"}}), checkpoint.ErrNotFound},
		"copy":      {s.CopyThread(ctx, "plan", "mine"), checkpoint.ErrNotFound},
		"delete":    {s.DeleteThread(ctx, "plan"), nil},
		"runs":      {s.DeleteRuns(ctx, "plan", "run"), nil},
		"tag":       {s.Tag(ctx, k, "mine"), checkpoint.ErrNotFound},
		"untag":     {s.Untag(ctx, "plan", "theirs"), nil},
		"as before": {func() error { _, err := s.Session(ctx, "plan"); return err }(), checkpoint.ErrNotFound},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: got error %v want %v", what, c.got, c.want)
		}
	}
	if n, err := s.Prune(ctx, checkpoint.PrunePolicy{}); n != 0 || err != nil {
		t.Errorf("prune: got %d, error %v", n, err)
	}
	if n, err := s.CleanUp(ctx, supacheckpoint.SessionQuery{Statuses: []string{"active"}}); n != 0 || err != nil {
		t.Errorf("clean up: got %d, error %v", n, err)
	}
	for c, err := range s.List(ctx, checkpoint.Query{Thread: "plan", AllNamespaces: true}) {
		t.Errorf("list: got %v, error %v", c.Key, err)
	}
	for c, err := range s.ListThreads(ctx, "") {
		t.Errorf("threads: got %v, error %v", c, err)
	}
	for c, err := range s.Find(ctx, pgcheckpoint.Search{Where: []pgcheckpoint.Condition{pgcheckpoint.Has("team")}}) {
		t.Errorf("find: got %v, error %v", c.Key, err)
	}
	for session, err := range s.Sessions(ctx, supacheckpoint.SessionQuery{}) {
		t.Errorf("sessions: got %v, error %v", session, err)
	}
	if st, err := s.Stats(ctx); st.Threads != 0 || err != nil {
		t.Errorf("stats: got %d threads, error %v", st.Threads, err)
	}
	// A thread of one's own may have the same id, also while the other is leased.
	own, err := s.Lease(ctx, "plan")
	if err != nil {
		t.Fatalf("lease: %v", err)
	}
	if _, err := own.Get(ctx, checkpoint.Key{Thread: "plan"}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("the lease found a checkpoint: %v", err)
	}
	if err := own.Release(ctx); err != nil {
		t.Error(err)
	}
}

// asUser runs SQL as a user might who got hold of a connection: with their role and
// claims, and nothing else. It returns how many rows were touched or seen.
func asUser(t *testing.T, conn *pgx.Conn, user, sql string) (int64, error) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	claims := fmt.Sprintf(`{"sub":%q,"role":"authenticated"}`, user)
	if user == "" {
		claims = ""
	}
	if _, err := tx.Exec(t.Context(), `SELECT set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1, true)`, claims); err != nil {
		t.Fatal(err)
	}
	tag, err := tx.Exec(t.Context(), sql)
	return tag.RowsAffected(), err
}

// The policies hold against any SQL: what is asked for does not come from a store.
func TestHostileSQL(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	store := p.open(t)
	anns := as(t, store, ann)
	putAll(t, anns, "plan", 2)
	if err := anns.PutWrites(t.Context(), checkpoint.Key{Thread: "plan", ID: stepID(2)}, []checkpoint.Write{{Task: "a", Channel: "x"}}); err != nil {
		t.Fatal(err)
	}
	if err := anns.Tag(t.Context(), checkpoint.Key{Thread: "plan", ID: stepID(1)}, "first"); err != nil {
		t.Fatal(err)
	}
	do(t, p, `INSERT INTO weft.cp_space SELECT key, 1, 'x' FROM weft.cp_thread`)
	conn := p.conn(t)
	key := ask[int64](t, p, `SELECT key FROM weft.cp_thread`)
	tables := []string{"cp_thread", "cp_space", "cp_origin", "cp_step", "cp_write", "cp_tag", "cp_session"}
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
			if n, err := asUser(t, conn, user, attack); n != 0 && err == nil {
				t.Errorf("user %q: %s: got %d rows", user, attack, n)
			}
		}
		for _, attack := range refusedAttacks(p, key) {
			if n, err := asUser(t, conn, user, attack); !refused(err) {
				t.Errorf("user %q: %s: got %d rows, error %v, want a refusal", user, attack, n, err)
			}
		}
	}
	// What says nothing of what it did is seen by what is left.
	for _, attack := range []string{
		fmt.Sprintf(`SELECT weft.cp_clear(%d)`, key),
		`SELECT weft.cp_delete(` + thread + `, NULL, 0)`,
		`SELECT weft.cp_put_writes(` + thread + `, NULL, 0, 0, '', '` + stepID(2) + `', ARRAY['a'], ARRAY[0::bigint], ARRAY['x'::bytea])`,
		`SELECT weft.cp_session_clean(NULL, '', NULL, 0, 100)`,
	} {
		if _, err := asUserFor(t, conn, bob, p.sql(attack)); err != nil {
			t.Errorf("%s: %v", attack, err)
		}
	}
	if n, err := asUser(t, conn, ann, p.sql("SELECT * FROM weft.cp_step")); n != 2 || err != nil {
		t.Errorf("ann sees %d of her steps, error %v", n, err)
	}
	if c, err := anns.Get(t.Context(), checkpoint.Key{Thread: "plan"}); err != nil || len(c.Lineage) != 2 || len(c.Writes) != 1 {
		t.Errorf("got %d deltas, %d writes, error %v", len(c.Lineage), len(c.Writes), err)
	}
}

// refusedAttacks write what would belong to ann.
func refusedAttacks(p place, key int64) []string {
	attacks := []string{
		`INSERT INTO weft.cp_thread (tenant, id) VALUES ('` + ann + `', 'new')`,
		`INSERT INTO weft.cp_thread (tenant, id) VALUES ('` + ann + `', 'plan') ON CONFLICT DO NOTHING`,
		`INSERT INTO weft.cp_thread (tenant, id) VALUES ('` + ann + `', 'plan') ON CONFLICT (tenant, id) DO UPDATE SET seq = 9`,
		`INSERT INTO weft.cp_thread (tenant, id) VALUES ('', 'of the service')`,
		`INSERT INTO weft.cp_session (tenant, thread_id) VALUES ('` + ann + `', 'plan') ON CONFLICT (tenant, thread_id) DO UPDATE SET status = 'x'`,
		`INSERT INTO weft.cp_space VALUES ($key, 7, 'y')`,
		`INSERT INTO weft.cp_tag VALUES ($key, 'mine', 1)`,
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

// refused reports whether the database did not allow it.
func refused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	// insufficient_privilege; COPY is not possible at all with row-level security.
	return ok && (e.Code == "42501" || e.Code == "0A000")
}

// count is how often something is done: what a variable says, or else so often.
func count(variable string, usually int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return usually
}

// Users take turns on few connections, with calls that fail and calls that are
// cancelled between. None ever sees what is another's, and no connection remembers.
// WEFT_LEAKS says how many calls.
func TestIdentityDoesNotLeak(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			pool := p.pool(t, 4)
			store, err := supacheckpoint.New(t.Context(), pool, p.options)
			if err != nil {
				t.Fatal(err)
			}
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

// pool opens a pool of so many connections.
func (p place) pool(tb testing.TB, size int32) *pgxpool.Pool {
	tb.Helper()
	config, err := pgcheckpoint.PoolConfig(p.url, p.options.Checkpoint.Pooling)
	if err != nil {
		tb.Fatal(err)
	}
	config.MaxConns = size
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

func leakWorker(t *testing.T, store *supacheckpoint.Store, seed uint64, calls int) {
	random := rand.New(rand.NewPCG(seed, 1))
	for range calls {
		user := userOf(random.IntN(8))
		mine, err := store.As(supacheckpoint.User{ID: user})
		if err != nil {
			t.Error(err)
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		switch random.IntN(9) {
		case 0: // cancelled at some point
			time.AfterFunc(time.Duration(random.IntN(300))*time.Microsecond, cancel)
		case 1: // refused
			_ = mine.Put(ctx, step("t", 1), stepID(9))
		case 2: // the database raises an error
			_ = mine.PutSession(ctx, "t", supacheckpoint.SessionUpdate{Metadata: []byte(`{"a":"\u0000"}`)})
		case 3: // a transaction of the caller's own, of which nobody knows how it ends
			time.AfterFunc(time.Duration(random.IntN(900))*time.Microsecond, cancel)
			_ = mine.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
				var is string
				if err := tx.QueryRow(ctx, `SELECT auth.uid()::text`).Scan(&is); err == nil && is != user {
					t.Errorf("user %s is %s", user, is)
				}
				return nil
			})
		}
		seen := 0
		for thread, err := range mine.ListThreads(ctx, "only ") {
			if err == nil && thread.ID != "only "+user {
				t.Errorf("user %s sees %q", user, thread.ID)
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			seen++
		}
		if seen != 1 && ctx.Err() == nil {
			t.Errorf("user %s sees %d threads want 1", user, seen)
		}
		cancel()
	}
}

// wantNoIdentity looks at every connection of a pool.
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
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c)
		var is string
		err = c.QueryRow(t.Context(), `SELECT concat(nullif(current_user, session_user), current_setting('request.jwt.claims', true),
			current_setting('request.jwt.claim.sub', true), current_setting('request.jwt.claim.role', true))`).Scan(&is)
		if err != nil || is != "" {
			t.Errorf("a connection remembers %q, error %v", is, err)
		}
	}
}

// A connection that was left with an identity has no effect on whose calls they are.
func TestSessionSettingsDoNotCount(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	pool := p.pool(t, 1)
	store, err := supacheckpoint.New(t.Context(), pool, p.options)
	if err != nil {
		t.Fatal(err)
	}
	putAll(t, as(t, store, ann), "plan", 1)
	_, err = pool.Exec(t.Context(), `SELECT set_config('request.jwt.claim.sub', $1, false), set_config('request.jwt.claims', $2, false)`,
		ann, `{"sub":"`+ann+`"}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := as(t, store, bob).Get(t.Context(), checkpoint.Key{Thread: "plan"}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("got error %v want %v", err, checkpoint.ErrNotFound)
	}
	putAll(t, as(t, store, bob), "plan", 1)
}

// What is no user does not become one.
func TestAsRefuses(t *testing.T) {
	t.Parallel()
	store := directPlace(t).open(t)
	for name, u := range map[string]supacheckpoint.User{
		"nobody":                  {},
		"no UUID":                 {ID: "ann"},
		"quoted":                  {ID: "' OR '1'='1"},
		"the service":             {ID: ann, Role: "service_role"},
		"the owner":               {ID: ann, Role: "postgres"},
		"anon":                    {ID: ann, Role: "anon"},
		"another's claims":        {ID: ann, Claims: []byte(`{"sub":"` + bob + `","role":"authenticated"}`)},
		"claims of the service":   {ID: ann, Claims: []byte(`{"sub":"` + ann + `","role":"service_role"}`)},
		"claims without a role":   {ID: ann, Claims: []byte(`{"sub":"` + ann + `"}`)},
		"claims in other letters": {ID: ann, Claims: []byte(`{"SUB":"` + ann + `","Role":"authenticated"}`)},
		"claims that are none":    {ID: ann, Claims: []byte(`ann`)},
	} {
		if _, err := store.As(u); !errors.Is(err, checkpoint.ErrInvalid) {
			t.Errorf("%s: got error %v want %v", name, err, checkpoint.ErrInvalid)
		}
	}
	if _, err := store.For("ann"); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("for: got error %v want %v", err, checkpoint.ErrInvalid)
	}
	if _, err := as(t, store, ann).For(bob); !errors.Is(err, supacheckpoint.ErrRole) {
		t.Errorf("for, of a user: got error %v want %v", err, supacheckpoint.ErrRole)
	}
	upper := as(t, store, strings.ToUpper("aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"))
	putAll(t, upper, "plan", 1)
	if _, err := as(t, store, "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa").Get(t.Context(), checkpoint.Key{Thread: "plan"}); err != nil {
		t.Errorf("one user in two spellings: %v", err)
	}
}
