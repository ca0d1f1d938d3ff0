package pgmemory_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

const (
	readContext   = `SELECT plan || ' ' || usage || ' ' || preferences FROM public.user_context WHERE user_id = $1`
	insertContext = `INSERT INTO public.user_context (user_id, plan, usage, preferences) VALUES ($1, $2, $3::jsonb, $4::jsonb) RETURNING user_id`
)

func TestUserContextBySQL(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p, _ := publicPlace(t)
	db, pool := p.served(t), p.pool(t)
	bound, err := pgmemory.Bind(db, binding(annID))
	require.NoError(t, err)
	users, err := memory.New(bound, memory.Options{})
	require.NoError(t, err)
	service, err := memory.New(db, memory.Options{})
	require.NoError(t, err)
	ann := driver.Scope{User: annID}
	summary := func(want string) {
		t.Helper()
		c, err := agentmemory.LoadContext(ctx, users, ann)
		got := c.Summary()
		require.Equal(t, want, got)
		assert.NoError(t, err)
	}

	t.Run("what others wrote is known", func(t *testing.T) {
		summary(agentmemory.NoContext)
		one(t, pool, "", insertContext, annID, "pro", `{"requests": 9.0}`, `"short answers"`)
		summary("Plan: pro\nUsage: requests: 9.0\nPreferences: short answers")
		one(t, pool, "", insertContext, annID, "enterprise", nil, nil) // as an upsert
		summary("Plan: enterprise\nUsage: requests: 9.0\nPreferences: short answers")
		one(t, pool, "", `UPDATE public.user_context SET usage = NULL WHERE user_id = $1 RETURNING user_id`, annID)
		one(t, pool, annID, `UPDATE public.user_context SET preferences = '{"drink": "tea"}' WHERE user_id = $1 RETURNING user_id`, annID)
		summary("Plan: enterprise\nPreferences: drink: tea")
		one(t, pool, annID, `INSERT INTO public.user_context (preferences) VALUES ('{"drink": "water"}') RETURNING plan`)
		one(t, pool, "", `INSERT INTO public.user_context (user_id, plan) VALUES ($1, 'free') RETURNING plan`, annID)
		summary("Plan: free\nPreferences: drink: water")
	})

	t.Run("what is known here is read by others", func(t *testing.T) {
		_, err := agentmemory.StoreContext(ctx, service, ann, agentmemory.Context{Plan: "pro", Usage: agentmemory.Text("9 of 10"), Preferences: json.RawMessage(`{"a":[1.50]}`)})
		assert.NoError(t, err, "set")
		_, err = users.Profile(ann).Patch(ctx, "context", json.RawMessage(`{"more":"stays"}`), 0)
		assert.NoError(t, err, "patch")
		for _, who := range []string{annID, ""} {
			assert.Equal(t, `pro "9 of 10" {"a": [1.50]}`, one(t, pool, who, readContext, annID))
		}
		one(t, pool, "", `UPDATE public.user_context SET plan = 'free' WHERE user_id = $1 RETURNING user_id`, annID)
		d, err := users.Profile(ann).Get(ctx, "context")
		require.NoError(t, err)
		assert.True(t, sameJSON(string(d.Value), `{"plan":"free","usage":"9 of 10","preferences":{"a":[1.5]},"more":"stays"}`))
	})

	t.Run("both may write at once", func(t *testing.T) {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 10 {
					if w%2 == 0 {
						_, err := users.Profile(ann).Patch(ctx, "context", fmt.Appendf(nil, `{"w%d":%d}`, w, i), 0)
						assert.NoError(t, err, "patch")
						continue
					}
					_, err := request[string](pool, "", insertContext, annID, nil, nil, fmt.Sprintf(`{"w%d": %d}`, w, i))
					assert.NoError(t, err, "insert")
				}
			})
		}
		wg.Wait()
		d, err := users.Profile(ann).Get(ctx, "context")
		require.NoError(t, err)
		require.False(t, !strings.Contains(string(d.Value), `"w0":9`) && !strings.Contains(string(d.Value), `"w0": 9`))
		require.Contains(t, string(d.Value), `9}`)
		assert.Contains(t, string(d.Value), `stays`)
	})

	t.Run("others' is out of reach", func(t *testing.T) {
		for name, c := range map[string]struct{ who, sql, want string }{
			"insert": {bobID, `INSERT INTO public.user_context (user_id, plan) VALUES ($1, 'free') RETURNING user_id`, "42501"},
			"update": {bobID, `UPDATE public.user_context SET preferences = '1' WHERE user_id = $1 RETURNING user_id`, ""},
			"delete": {bobID, `DELETE FROM public.user_context WHERE user_id = $1 RETURNING user_id`, ""},
			"read":   {bobID, `SELECT plan FROM public.user_context WHERE user_id = $1`, ""},
			"rename": {"", `UPDATE public.user_context SET user_id = 'x' WHERE user_id = $1`, "0A000"},
			"nobody": {"", `INSERT INTO public.user_context (plan) SELECT 'free' WHERE $1::text IS NOT NULL`, "23502"},
			"large":  {annID, `UPDATE public.user_context SET preferences = to_jsonb(repeat('x', 70000)) WHERE user_id = $1`, "54000"},
		} {
			got, err := request[string](pool, c.who, c.sql, annID)
			require.Equal(t, c.want, sqlState(err), name)
			assert.Empty(t, got, name)
		}
		one(t, pool, annID, `DELETE FROM public.user_context WHERE user_id = $1 RETURNING user_id`, annID)
		summary("Plan: free\nUsage: 9 of 10")
		one(t, pool, "", `DELETE FROM public.user_context WHERE user_id = $1 RETURNING user_id`, annID)
		summary(agentmemory.NoContext)
		for item, err := range bound.Values().Find(ctx, ann, driver.ValueSelection{}) {
			t.Errorf("got %+v, error %v want nothing", item, err)
		}
	})
}
