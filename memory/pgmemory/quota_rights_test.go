package pgmemory_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/memory/inmemory"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

const overQuota = "WQ001"

// The statements of docs/supabase.md set the quota of users without a row, and the tenants into which a user may write.
func TestTheStatementsOfTheGuideToSupabase(t *testing.T) {
	t.Parallel()
	p, _ := publicPlace(t)
	pool := p.pool(t)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		return string(text)
	}
	require.Empty(t, answer(t, pool, service, read("quota.sql")))
	assert.Equal(t, "1000", answer(t, pool, service, `SELECT max_facts FROM public.user_quota WHERE user_id = ''`))

	do(t, p, `INSERT INTO auth.users (id, raw_app_meta_data) VALUES ($1, '{"provider":"email"}')`, annID)
	defer do(t, p, `DELETE FROM auth.users WHERE id = $1`, annID)
	put := `INSERT INTO public.agent_memories (tenant_id, user_id, content) VALUES ('acme', '` + annID + `', 'a fact')`
	claims := func() asker {
		var claims map[string]any
		require.NoError(t, json.Unmarshal([]byte(ask[string](t, p, `SELECT raw_app_meta_data::text FROM auth.users WHERE id = $1`, annID)), &claims))
		return tokenOf(annID, "app_metadata", claims)
	}
	assert.Equal(t, denied, answer(t, pool, claims(), put), "before")
	do(t, p, read("tenants.sql"), annID)
	assert.Empty(t, answer(t, pool, claims(), put))
}

// The quota of a user applies to SQL and to Go, and to the user and the service. Users without a row have the default
// quota.
func TestQuotasHoldForSQL(t *testing.T) {
	t.Parallel()
	p, _ := publicPlace(t)
	pool := p.pool(t)
	do := func(who asker, sql, want string) {
		t.Helper()
		assert.Equal(t, want, answer(t, pool, who, p.sql(sql)), sql)
	}
	fact := `INSERT INTO public.agent_memories (user_id, content) SELECT ` + ofBob + `, 'fact ' || gen_random_uuid() FROM generate_series(1, `
	do(bobUser, fact+`5)`, "")
	do(service, `INSERT INTO public.user_quota VALUES (`+ofBob+`, 10, 3, 2, 1), ('', 3, NULL, NULL, NULL)`, "")
	do(service, `INSERT INTO public.user_quota (user_id, max_facts) VALUES (`+ofBob+`, 10) ON CONFLICT (user_id) DO UPDATE SET max_facts = excluded.max_facts`, "")
	do(bobUser, `SELECT max_facts FROM public.user_quota ORDER BY user_id`, "3|10")
	do(bobUser, fact+`2000)`, overQuota)
	do(bobUser, `SELECT count(*) FROM public.agent_memories`, "5")
	do(bobUser, fact+`5)`, "")
	do(bobUser, fact+`1)`, overQuota)
	do(service, fact+`1)`, overQuota)
	db := p.served(t)
	facts, err := memory.New(inmemory.Fill(driver.Stores{FactStore: as(t, db, bobID)}), memory.Options{})
	require.NoError(t, err)
	_, err = facts.Store(t.Context(), driver.Scope{User: bobID}, driver.Fact{Content: "one more by Go", Trust: driver.Stated})
	assert.ErrorIs(t, err, driver.ErrQuota)
	do(annUser, `INSERT INTO public.agent_memories (user_id, content) SELECT `+ofAnn+`, 'fact ' || i FROM generate_series(1, 4) i`, overQuota)
	do(service, `INSERT INTO public.agent_memories (content) SELECT 'of nobody ' || i FROM generate_series(1, 20) i`, "")
	do(bobUser, `DELETE FROM public.agent_memories WHERE content LIKE 'fact%'`, "")
	do(bobUser, fact+`10)`, "")

	for _, c := range []struct{ sql, want string }{
		{`SELECT public.save_conversation('s', '[{"type":"human","data":{"content":"1"}},{"type":"human","data":{"content":"2"}},{"type":"human","data":{"content":"3"}}]') IS NULL`, "false"},
		{`SELECT public.save_conversation('s2', '[{"type":"human","data":{"content":"4"}}]')`, overQuota},
		{`SELECT public.save_conversation('s', '[{"type":"human","data":{"content":"1"}},{"type":"ai","data":{"content":"b"}}]') IS NULL`, "false"},
		{`SELECT public.save_conversation('s2', '[]') IS NULL`, "false"},
		{`SELECT public.save_conversation('s3', '[]') IS NULL`, "false"},
		{`SELECT public.save_conversation('s4', '[]')`, overQuota}, // a session without messages
		{`INSERT INTO public.knowledge_chunks (user_id, source, content) SELECT ` + ofBob + `, 's', 'chunk ' || i FROM generate_series(1, 3) i`, overQuota},
		{`INSERT INTO public.knowledge_chunks (user_id, source, content) SELECT ` + ofBob + `, 's' || i, 'chunk ' || i FROM generate_series(1, 2) i`, ""},
		{`INSERT INTO public.user_context (preferences) VALUES ('1')`, ""},
		{`INSERT INTO public.user_context (preferences) VALUES ('2')`, ""},
		{`INSERT INTO public.user_context (agent_id, preferences) VALUES ('a', '2')`, overQuota},
	} {
		do(bobUser, c.sql, c.want)
	}
}

// Transactions that insert at the same time do not exceed the quota together.
func TestQuotasHoldForConcurrentInserts(t *testing.T) {
	t.Parallel()
	p, _ := publicPlace(t)
	pool := p.pool(t)
	answer(t, pool, service, `INSERT INTO public.user_quota (user_id, max_facts) VALUES (`+ofBob+`, 10)`)
	var stored, refused atomic.Int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for range 5 {
				_, err := raw(context.Background(), pool, bobID, `INSERT INTO public.agent_memories (user_id, agent_id, content) VALUES ($1, $2, gen_random_uuid()::text)`, bobID, string(rune('a'+w)))
				switch sqlState(err) {
				case "":
					stored.Add(1)
				case overQuota:
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	assert.Equal(t, [2]int64{10, 30}, [2]int64{stored.Load(), refused.Load()})
}

// rows counts the rows of a user in each table, by a mark in the texts.
func rows(t *testing.T, p place, mark string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{"mem_scope", "mem_fact", "mem_event", "mem_turn", "mem_session", "mem_message", "mem_value_scope", "mem_value", "mem_shelf", "mem_source", "mem_chunk"} {
		if n := ask[int](t, p, `SELECT count(*) FROM weft.`+table+` x WHERE x::text LIKE '%' || $1 || '%'`, mark); n > 0 {
			counts[table] = n
		}
	}
	return counts
}

// forget_me removes all data of the user, including the history of deleted rows, and no data of other users. Plan and
// usage are kept until the service calls forget_user.
func TestUsersForgetThemselves(t *testing.T) {
	t.Parallel()
	p, _ := publicPlace(t)
	pool := p.pool(t)
	for _, id := range []string{annID, bobID} {
		of := "'" + id + "'"
		for _, s := range []step{
			{tokenOf(id), `INSERT INTO public.agent_memories (user_id, content, agent_id) VALUES (` + of + `, 'fact of ` + id + `', 'a'), (` + of + `, 'illness of ` + id + `', NULL)`, ""},
			{tokenOf(id), `DELETE FROM public.agent_memories WHERE content LIKE 'illness%'`, ""},
			{inTenants(id, "acme"), `INSERT INTO public.agent_memories (user_id, content, tenant_id) VALUES (` + of + `, 'in a tenant, of ` + id + `', 'acme')`, ""},
			{tokenOf(id), `SELECT weft.mem_enqueue('{}', weft.mem_digest('', '', ` + of + `, ''), ARRAY['', '', ` + of + `, ''], '{}', 'n', now(), 'turn of ` + id + `') IS NULL`, "false"},
			{tokenOf(id), `SELECT public.save_conversation('s', ` + said("human", `"content":"message of `+id+`"`) + `) IS NULL`, "false"},
			{tokenOf(id), `INSERT INTO public.knowledge_chunks (user_id, source, content) VALUES (` + of + `, 'source', 'chunk of ` + id + `')`, ""},
			{service, `INSERT INTO public.user_context (user_id, plan, usage, preferences) VALUES (` + of + `, 'pro', '9', '"preference of ` + id + `"')`, ""},
		} {
			assert.Equal(t, s.want, answer(t, pool, s.who, p.sql(s.sql)), s.sql)
		}
	}
	require.Equal(t, 2, rows(t, p, "illness of "+bobID)["mem_event"], "history of a deleted fact")
	anns := rows(t, p, annID)
	assert.NotContains(t, []string{"", "0", denied}, answer(t, pool, bobUser, `SELECT public.forget_me()`))
	assert.Equal(t, map[string]int{"mem_value_scope": 1}, rows(t, p, bobID))
	assert.Equal(t, "pro 9", answer(t, pool, bobUser, `SELECT plan || ' ' || usage FROM public.user_context WHERE preferences IS NULL`))
	assert.Equal(t, anns, rows(t, p, annID))
	assert.Equal(t, "0", answer(t, pool, bobUser, `SELECT public.forget_me()`))

	assert.NotContains(t, []string{"", "0", denied}, answer(t, pool, service, `SELECT public.forget_user(`+ofBob+`)`))
	assert.Empty(t, rows(t, p, bobID))
	assert.Equal(t, anns, rows(t, p, annID))
	assert.Equal(t, "", answer(t, pool, bobUser, `SELECT plan FROM public.user_context`))
	// A fact that was said before forget_me and arrives later is rejected.
	late := adding("late")
	late.Said = time.Now().Add(-time.Hour)
	_, err := as(t, p.served(t), bobID).Apply(t.Context(), driver.Scope{User: bobID}, []driver.FactChange{late})
	assert.ErrorIs(t, err, driver.ErrForgotten)
}

// A migrated database of an older version keeps its rows, even rows that are larger than a new limit or in a tenant
// without a claim.
func TestOlderDatabasesMigrateForward(t *testing.T) {
	t.Parallel()
	p, owner := publicPlace(t)
	ctx := t.Context()
	old := p
	old.options.Schema += "_old"
	t.Cleanup(func() {
		_, err := owner.Exec(context.Background(), `DROP SCHEMA IF EXISTS `+old.options.Schema+` CASCADE`)
		assert.NoError(t, err)
	})
	// The views in the schema public refer to the schema of the last migration.
	_, err := owner.Exec(ctx, `DROP VIEW public.agent_memories, public.agent_conversations, public.user_context, public.knowledge_chunks, public.user_quota`)
	require.NoError(t, err)
	require.NoError(t, pgmemory.Migrate(ctx, owner, old.options))
	scripts, err := pgmemory.SupabaseScripts(old.options.Schema)
	require.NoError(t, err)
	for _, s := range scripts {
		if s.Name < "20261123" {
			_, err := owner.Exec(ctx, s.SQL, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err, s.Name)
		}
	}
	pool := old.pool(t)
	for _, s := range []step{
		{bobUser, `INSERT INTO public.agent_memories (user_id, tenant_id, content) VALUES (` + ofBob + `, 'acme', 'old fact') RETURNING content`, "old fact"},
		{bobUser, `INSERT INTO public.knowledge_chunks (user_id, source, content) VALUES (` + ofBob + `, 's', repeat('w ', 70000)) RETURNING source`, "s"},
		{bobUser, `SELECT public.save_conversation('s', ` + said("system", `"content":"old"`) + `) IS NULL`, "false"},
		{bobUser, `INSERT INTO public.user_context (plan) VALUES ('pro') RETURNING plan`, "pro"},
	} {
		require.Equal(t, s.want, answer(t, pool, s.who, old.sql(s.sql)), s.sql)
	}
	for range 2 {
		require.NoError(t, pgmemory.MigratePublic(ctx, owner, old.options))
		for _, s := range []step{
			{bobUser, `SELECT content FROM public.agent_memories`, "old fact"},
			{bobUser, `SELECT octet_length(content) FROM public.knowledge_chunks`, "140000"},
			{bobUser, `SELECT public.get_conversation('s') #>> '{0,type}'`, "system"},
			{bobUser, `SELECT plan FROM public.user_context`, "pro"},
			{bobUser, `UPDATE public.user_context SET plan = 'enterprise'`, denied},
			{service, `SELECT content FROM public.match_knowledge('[1]', 5)`, ""},
		} {
			assert.Equal(t, s.want, answer(t, pool, s.who, s.sql), s.sql)
		}
	}
	assert.NotEqual(t, "0", answer(t, pool, bobUser, `SELECT public.forget_me()`))
	assert.Equal(t, "", answer(t, pool, bobUser, `SELECT content FROM public.knowledge_chunks`))
}
