package pgmemory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/drivertest"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/pgmemory"
)

// The users of the project.
const (
	annID = "11111111-1111-4111-8111-111111111111"
	bobID = "22222222-2222-4222-8222-222222222222"
)

var annScope = driver.Scope{Tenant: "acme", User: annID}

// supabasePlace returns a new schema in a database like that of a Supabase project. Its address is
// for a role that owns no objects.
func supabasePlace(tb testing.TB) place {
	tb.Helper()
	database := supatest.Database(tb, nil)
	p := place{direct: database, options: pgmemory.Options{Schema: pgtest.SchemaIn(tb, database)}}
	p.url = supatest.Authenticator(tb, database)
	if pgtest.Pooled() {
		p.url = pgtest.WithDatabase(tb, pgtest.PooledURL(tb), database)
		p.options.Pooling = pgmemory.Transaction
	}
	pool, err := pgxpool.New(context.Background(), database)
	require.NoError(tb, err)
	defer pool.Close()
	require.NoError(tb, pgmemory.MigrateSupabase(context.Background(), pool, p.options))
	return p
}

// binding gives a call the rights of a user in the tenants of the tests, or, for an empty user, the
// rights of the service role.
func binding(user string) func(context.Context, *pgx.Batch) error {
	return bindingIn(user, "acme", "other", "t")
}

// bindingIn is like binding, with other tenants.
func bindingIn(user string, tenants ...string) func(context.Context, *pgx.Batch) error {
	role, claims := "service_role", `{"role":"service_role"}`
	if user != "" {
		role = "authenticated"
		text, err := json.Marshal(map[string]any{"sub": user, "role": role, "app_metadata": map[string]any{"tenants": tenants}})
		if err != nil {
			panic(err)
		}
		claims = string(text)
	}
	return func(_ context.Context, b *pgx.Batch) error {
		b.Queue(`SELECT set_config('role', $1::text, true), set_config('request.jwt.claims', $2::text, true)`, role, claims)
		return nil
	}
}

// as returns a memory with the rights of a user, on a shared pool.
func as(tb testing.TB, db *pgmemory.DB, user string) driver.FactStore {
	tb.Helper()
	bound, err := pgmemory.Bind(db, binding(user))
	require.NoError(tb, err)
	return bound.Facts()
}

func (p place) served(tb testing.TB, changes ...func(*pgxpool.Config)) *pgmemory.DB {
	tb.Helper()
	o := p.options
	o.Before = binding("")
	db, err := pgmemory.New(context.Background(), p.pool(tb, changes...), o)
	require.NoError(tb, err)
	return db
}

// The suite passes with the service role, under row-level security.
func TestFactsOfServiceRole(t *testing.T) {
	t.Parallel()
	drivertest.RunFacts(t, func(tb testing.TB) driver.FactStore { return supabasePlace(tb).served(tb).Facts() })
}

func contents(tb testing.TB, store driver.FactStore, q driver.FactQuery) []string {
	tb.Helper()
	texts := []string{}
	for r, err := range store.Find(context.Background(), q) {
		require.NoError(tb, err)
		texts = append(texts, r.Content)
	}
	return texts
}

// A user can make all calls in the user's own scope. The scopes of other users appear to be empty.
func TestUsersAreApart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := supabasePlace(t).served(t)
	ann, bob := as(t, db, annID), as(t, db, bobID)
	secret := adding("ann's secret", 1, 0)
	secret.Job = "job"
	_, err := ann.Apply(ctx, annScope, []driver.FactChange{secret})
	assert.NoError(t, err, "ann stores")
	_, err = ann.Apply(ctx, annScope, []driver.FactChange{{Kind: driver.Update, Record: func() driver.FactRecord {
		r := secret.Record
		r.Content = "ann's own secret"
		return r
	}()}})
	assert.NoError(t, err, "ann updates")

	everywhere := driver.FactQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true}, Closed: true, Untrusted: true, Limit: -1}
	for name, q := range map[string]driver.FactQuery{"her scope": {Reach: annScope.Only()}, "all users": everywhere, "by id": {Reach: annScope.Only(), IDs: []string{secret.Record.ID}}} {
		got := contents(t, bob, q)
		assert.Empty(t, got, "bob, %s", name)
		c, err := bob.Search(ctx, driver.FactSearch{Query: q, Terms: []string{"secret"}, Embedding: []float32{1, 0}, Model: "m", Limit: 9})
		require.NoError(t, err, "bob searches, %s", name)
		require.Empty(t, c.Records, "bob searches, %s", name)
		require.EqualValues(t, 0, c.Facts, "bob searches, %s", name)
		require.EqualValues(t, 0, c.Terms, "bob searches, %s", name)
		assert.EqualValues(t, 0, c.Frequency[0], "bob searches, %s", name)
	}
	for _, err := range bob.History(ctx, annScope, secret.Record.ID) {
		t.Errorf("bob: got an event of ann's, error %v", err)
	}
	for name, s := range map[string]driver.Scope{"hers": annScope, "one that is not there": {Tenant: "acme", User: "nobody"}, "of all": {Tenant: "acme"}} {
		_, err := bob.Apply(ctx, s, []driver.FactChange{adding("bob was here")})
		assert.ErrorIs(t, err, pgmemory.ErrDenied, "bob stores in "+name)
		_, err = bob.Apply(ctx, s, []driver.FactChange{{Kind: driver.Delete, Record: driver.FactRecord{Fact: driver.Fact{ID: secret.Record.ID}}}})
		assert.ErrorIs(t, err, pgmemory.ErrDenied, "bob deletes in "+name)
		_, err = bob.Forget(ctx, s)
		assert.ErrorIs(t, err, pgmemory.ErrDenied, "bob forgets "+name)
	}
	n, err := bob.Sweep(ctx, 10)
	require.Equal(t, 0, n, "bob sweeps")
	assert.NoError(t, err, "bob sweeps")
	got := contents(t, ann, everywhere)
	require.Len(t, got, 1, "ann")
	assert.Equal(t, "ann's own secret", got[0], "ann")
	n, err = ann.Forget(ctx, annScope)
	require.Equal(t, 1, n, "ann forgets")
	assert.NoError(t, err, "ann forgets")
	late := adding("late")
	late.Said = time.Now().Add(-time.Hour)
	_, err = ann.Apply(ctx, annScope, []driver.FactChange{late})
	assert.ErrorIs(t, err, driver.ErrForgotten, "late")
	_, err = as(t, db, "").Forget(ctx, driver.Scope{Tenant: "acme"})
	assert.NoError(t, err, "the service forgets all")
}

// One call with the rights of a user removes all data of this user, and no data of another user.
func TestUsersForgetEverythingInOneCall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := supabasePlace(t).served(t)
	bind := func(user string) (*memory.Memory, driver.Scope) {
		bound, err := pgmemory.Bind(db, binding(user))
		require.NoError(t, err)
		m, err := memory.New(bound, memory.Options{})
		require.NoError(t, err)
		s := driver.Scope{Tenant: "acme", User: user}
		_, err = m.Remember(ctx, s, "drinks tea")
		require.NoError(t, err)
		_, err = m.Profile(s).Put(ctx, "settings", []byte(`{"theme":"dark"}`), memory.PutOptions{})
		require.NoError(t, err)
		_, err = m.Conversations().Append(ctx, s, memory.Turn{Messages: []llm.Message{llm.User("hello")}})
		require.NoError(t, err)
		require.NoError(t, bound.Turns().Enqueue(ctx, driver.Turn{Key: "1", Scope: s, Payload: []byte(`{}`), Said: time.Now()}))
		base, err := knowledge.New(m, knowledge.Options{})
		require.NoError(t, err)
		_, troubles, err := knowledge.Collect(base.Ingest(ctx, s, knowledge.Documents(knowledge.Document{URI: "a.txt", Text: "a letter"}), knowledge.IngestOptions{}))
		require.NoError(t, err)
		require.Empty(t, troubles)
		return m, s
	}
	ann, annScope := bind(annID)
	bob, bobScope := bind(bobID)
	_, err := bob.Forget(ctx, annScope)
	require.ErrorIs(t, err, driver.ErrDenied)
	everything := memory.Counts{Facts: 1, Documents: 1, Values: 1, Conversations: 1, Turns: 1}
	got, err := ann.Forget(ctx, annScope)
	require.NoError(t, err)
	assert.Equal(t, everything, got, "Ann had everything after Bob had tried to forget her")
	got, err = bob.Forget(ctx, bobScope)
	require.NoError(t, err)
	assert.Equal(t, everything, got)
}

// tables are the tables with data of users.
var tables = []string{"mem_scope", "mem_fact", "mem_event", "mem_job", "mem_forgotten", "mem_turn"}

// raw runs a statement with the rights of a user, and returns the number of affected rows.
func raw(ctx context.Context, on *pgxpool.Pool, user, sql string, args ...any) (int64, error) {
	var n int64
	err := pgx.BeginFunc(ctx, on, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		if user == "nobody" {
			b.Queue(`SELECT set_config('role', 'authenticated', true)`)
		} else if err := binding(user)(ctx, b); err != nil {
			return err
		}
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}

// A user cannot see or change more with SQL than with the store.
func TestPoliciesHoldForAnySQL(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := supabasePlace(t)
	db := p.served(t)
	secret := adding("ann's secret", 1, 0)
	secret.Job = "job"
	_, err := as(t, db, annID).Apply(ctx, annScope, []driver.FactChange{secret})
	assert.NoError(t, err, "apply")
	_, err = as(t, db, annID).Forget(ctx, driver.Scope{Tenant: "other", User: annID})
	assert.NoError(t, err, "forget")
	_, err = as(t, db, bobID).Apply(ctx, driver.Scope{Tenant: "acme", User: bobID}, []driver.FactChange{adding("bob's")})
	assert.NoError(t, err, "apply")
	pool := p.pool(t)
	digests := func() string {
		var all strings.Builder
		for _, table := range tables {
			all.WriteString(ask[string](t, p, `SELECT coalesce(md5(string_agg(x::text, '' ORDER BY x::text)), '') FROM weft.`+table+` x`))
		}
		return all.String()
	}
	scope := ask[int64](t, p, `SELECT key FROM weft.mem_scope WHERE user_id = '`+annID+`'`)
	before := digests()
	for _, who := range []string{bobID, "nobody"} {
		for _, table := range tables {
			mine := `scope = ` + fmt.Sprint(scope)
			switch table {
			case "mem_scope":
				mine = `user_id = '` + annID + `'`
			case "mem_forgotten":
				mine = `true`
			}
			for _, sql := range []string{
				`SELECT FROM weft.` + table + ` WHERE ` + mine,
				`DELETE FROM weft.` + table + ` WHERE ` + mine,
				`SELECT FROM weft.` + table + ` a CROSS JOIN weft.mem_scope s WHERE s.user_id = '` + annID + `'`,
			} {
				n, err := raw(ctx, pool, who, p.sql(sql))
				require.EqualValues(t, 0, n, "%s: %s", who, sql)
				assert.NoError(t, err, "%s: %s", who, sql)
			}
			n, err := raw(ctx, pool, who, p.sql(`COPY weft.`+table+` TO STDOUT`))
			assert.False(t, n > 3 && err == nil, "%s: copies %d rows of %s", who, n, table)
		}
		for _, sql := range []string{
			`UPDATE weft.mem_fact SET content = 'x' WHERE scope = ` + fmt.Sprint(scope),
			`UPDATE weft.mem_scope SET newest = now() WHERE user_id = '` + annID + `'`,
			`UPDATE weft.mem_forgotten SET at = now()`,
		} {
			n, err := raw(ctx, pool, who, p.sql(sql))
			require.EqualValues(t, 0, n, "%s: %s", who, sql)
			assert.NoError(t, err, "%s: %s", who, sql)
		}
		for _, sql := range []string{
			`INSERT INTO weft.mem_scope (digest, tenant, workspace, user_id, agent, newest)
				VALUES (weft.mem_digest('acme', '', '` + annID + `', ''), 'acme', '', '` + annID + `', '', now()) ON CONFLICT DO NOTHING`,
			// A scope of the user with the digest of another user's scope.
			`INSERT INTO weft.mem_scope (digest, tenant, workspace, user_id, agent, newest)
				VALUES (weft.mem_digest('new', '', '` + annID + `', ''), 'new', '', '` + bobID + `', '', now())`,
			`INSERT INTO weft.mem_job (scope, at, job) VALUES (` + fmt.Sprint(scope) + `, now(), 'x')`,
			`INSERT INTO weft.mem_event (scope, fact, at, kind, was, became, actor) VALUES (` + fmt.Sprint(scope) + `, gen_random_uuid(), now(), '', '', '', '')`,
			`INSERT INTO weft.mem_forgotten (scope, owner, at) VALUES ('x', weft.mem_digest('` + annID + `'), now())`,
			`INSERT INTO weft.mem_forgotten (scope, owner, at) VALUES ('x', weft.mem_digest(''), now())`,
			`UPDATE weft.mem_event SET was = 'x'`,
			`INSERT INTO weft.mem_migration (version, name, checksum) VALUES (9, '', '')`,
			`CREATE TABLE weft.mine (x int)`,
		} {
			_, err := raw(ctx, pool, who, p.sql(sql))
			assert.Error(t, err, "%s: %s", who, sql)
		}
	}
	assert.Equal(t, before, digests(), "something was changed")
}

// Each table has a policy that also applies to its owner, evaluates the user once per statement,
// and does not apply to the role public.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	p := supabasePlace(t)
	schema := p.options.Schema
	bare := ask[[]string](t, p, `SELECT coalesce(array_agg(c.relname::text), '{}') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND EXISTS (SELECT FROM pg_policy q WHERE q.polrelid = c.oid))`, schema)
	assert.Empty(t, bare, "tables without policies")
	slow := ask[[]string](t, p, supatest.Policies+`SELECT coalesce(array_agg(tablename || '.' || policyname), '{}') FROM policies
		WHERE regexp_replace(coalesce(qual, '') || coalesce(with_check, ''), 'SELECT [^()]*(\(VARIADIC ARRAY\[\()?auth\.uid\(\)', '', 'g') LIKE '%auth.uid()%'`, schema)
	assert.Empty(t, slow, "policies that ask for the user for each row")
	open := ask[[]string](t, p, `SELECT coalesce(array_agg(x), '{}') FROM (
		SELECT table_name || ' to ' || grantee AS x FROM information_schema.role_table_grants WHERE table_schema = $1 AND grantee IN ('PUBLIC', 'anon')
		UNION ALL SELECT routine_name || ' to ' || grantee FROM information_schema.routine_privileges WHERE routine_schema = $1 AND grantee IN ('PUBLIC', 'anon')) g`, schema)
	assert.Empty(t, open, "grants to everybody")
	loose := ask[[]string](t, p, `SELECT coalesce(array_agg(p.proname::text), '{}') FROM pg_proc p WHERE p.pronamespace = $1::regnamespace
		AND (p.prosecdef OR NOT EXISTS (SELECT FROM unnest(p.proconfig) c WHERE c LIKE 'search_path=%'))`, schema)
	assert.Empty(t, loose, "functions with others' rights or path")
	// A second migration returns no error.
	pool, err := pgxpool.New(context.Background(), p.direct)
	require.NoError(t, err)
	defer pool.Close()
	assert.NoError(t, pgmemory.MigrateSupabase(context.Background(), pool, p.options), "migrate again")
}

// Users that share a few connections never see each other's data, even after cancelled and failed
// calls. A call does not leave its rights to the next call on a connection.
func TestUsersOnFewConnections(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := supabasePlace(t)
	db := p.served(t, func(c *pgxpool.Config) { c.MaxConns = 4 })
	const users = 8
	rounds := count(t, "WEFT_LEAKS", 1200) / users
	var wg sync.WaitGroup
	for u := range users {
		user := fmt.Sprintf("%08d-1111-4111-8111-111111111111", u)
		scope := driver.Scope{Tenant: "acme", User: user}
		store := as(t, db, user)
		_, err := store.Apply(ctx, scope, []driver.FactChange{adding("secret of " + user)})
		require.NoError(t, err)
		wg.Go(func() {
			for i := range rounds {
				inner, cancel := context.WithCancel(ctx)
				switch i % 10 {
				case 3:
					_, err := store.Apply(inner, driver.Scope{Tenant: "acme", User: annID}, []driver.FactChange{adding("foreign")})
					assert.ErrorIs(t, err, pgmemory.ErrDenied, "foreign")
				case 7:
					go cancel()
					_, err := store.Apply(inner, scope, []driver.FactChange{adding("secret of " + user)})
					assert.False(t, err != nil && !errors.Is(err, context.Canceled))
				default:
					c, err := store.Search(inner, driver.FactSearch{Query: driver.FactQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true}}, Terms: []string{"secret"}, Limit: 50})
					require.NoError(t, err)
					require.Len(t, c.Records, 1)
					assert.Equal(t, "secret of "+user, c.Records[0].Content)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	pool := p.pool(t)
	for range 8 {
		var role, claims string
		require.NoError(t, pool.QueryRow(ctx, `SELECT current_user::text, coalesce(current_setting('request.jwt.claims', true), '')`).Scan(&role, &claims))
		require.NotEqual(t, "authenticated", role)
		assert.Equal(t, "", claims)
	}
}

// The errors for a missing fact and for a fact of another user are the same.
func TestForeignFactsAreMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := newPlace(t).open(t)
	mine := adding("mine")
	_, err := db.Facts().Apply(ctx, ann, []driver.FactChange{mine})
	assert.NoError(t, err, "apply")
	text := func(id string) string {
		_, err := db.Facts().Apply(ctx, driver.Scope{Tenant: "acme", User: "bob"}, []driver.FactChange{{Kind: driver.Close, Record: driver.FactRecord{Fact: driver.Fact{ID: id}}}})
		assert.ErrorIs(t, err, driver.ErrNotFound, "foreign")
		return strings.ReplaceAll(err.Error(), id, "")
	}
	foreign, missing := text(mine.Record.ID), text(newID())
	assert.Equal(t, missing, foreign)
}
