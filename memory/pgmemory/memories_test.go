package pgmemory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/inmemory"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

func TestMemoriesBySQL(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p, owner := publicPlace(t)
	db, pool := p.served(t), p.pool(t)
	store := as(t, db, annID)
	scope := driver.Scope{Workspace: "w1", User: annID}
	insert := `INSERT INTO public.agent_memories (user_id, workspace_id, memory_type, content, conversation_id, metadata, embedding)
		VALUES ($1, 'w1', 'preference', $2, 'c1', '{"n": 1}', '[1,0,0]')`

	t.Run("what is written is remembered", func(t *testing.T) {
		n, err := raw(ctx, pool, annID, insert, annID, "Likes green tea.")
		require.EqualValues(t, 1, n, "insert")
		require.NoError(t, err, "insert")
		c, err := store.Search(ctx, driver.FactSearch{Query: driver.FactQuery{Reach: scope.Only(), Where: []driver.Condition{driver.Where("n", driver.Equal, 1)}}, Terms: []string{"green"}, Limit: 5})
		require.NoError(t, err)
		require.Len(t, c.Records, 1)
		require.Equal(t, "Likes green tea.", c.Records[0].Content)
		require.Equal(t, "c1", c.Records[0].Conversation)
		assert.Equal(t, driver.Preference, c.Records[0].Kind)
		m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
		assert.NoError(t, err, "new")
		stored, err := m.Store(ctx, scope, driver.Fact{Kind: driver.Preference, Content: "Likes  green tea", Trust: driver.Stated})
		require.NoError(t, err)
		assert.True(t, stored[0].Existed)
		_, err = raw(ctx, pool, bobID, insert, annID, "Foreign.")
		assert.Error(t, err, "bob writes for ann")
		_, err = raw(ctx, pool, annID, `INSERT INTO public.agent_memories (user_id, memory_type, content) VALUES ($1, 'wonder', 'x')`, annID)
		assert.Error(t, err, "got no error for a type that there is not")
		for _, blank := range []string{"", " \n\t"} {
			_, err := raw(ctx, pool, annID, insert, annID, blank)
			assert.Error(t, err, "got no error for a memory that says %q", blank)
		}
	})

	t.Run("what is the same as in Go", func(t *testing.T) {
		m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: as(t, db, bobID)}), memory.Options{})
		assert.NoError(t, err, "new")
		for here, there := range map[string]string{
			"Likes Zo\u00eb's caf\u00e9.":  "Likes Zoe\u0308\u2019s  cafe\u0301", // NFC and NFD
			`Says "maybe" - and waits`:     "Says \u201cmaybe\u201d \u2013 and waits.",
			"Lives in a co-operative":      "Lives in a co\u2010oper\u00adative\ufeff",
			"Prefers C++ to C, and 1.5 kg": "Prefers C++ to C,  and 1.5 kg.",
		} {
			n, err := raw(ctx, pool, bobID, insert, bobID, there)
			require.EqualValues(t, 1, n, "insert of %q", there)
			require.NoError(t, err, "insert of %q", there)
			stored, err := m.Store(ctx, driver.Scope{Workspace: "w1", User: bobID}, driver.Fact{Kind: driver.Preference, Content: here, Trust: driver.Stated})
			require.NoError(t, err, "%q beside %q", here, there)
			assert.True(t, stored[0].Existed, "%q beside %q: got %+v, error %v want the same memory", here, there, stored, err)
		}
		_, err = raw(ctx, pool, bobID, `DELETE FROM public.agent_memories WHERE user_id = $1`, bobID)
		assert.NoError(t, err, "delete")
	})

	t.Run("what is remembered is matched", func(t *testing.T) {
		_, err := store.Apply(ctx, scope, []driver.FactChange{adding("drives a van", 0, 1, 0), adding("two numbers", 0, 1)})
		assert.NoError(t, err, "apply")
		unsafe := adding("a document said so", 0, 1, 0)
		unsafe.Record.Trust = driver.Untrusted
		_, err = store.Apply(ctx, scope, []driver.FactChange{unsafe})
		assert.NoError(t, err, "apply")
		_, err = as(t, db, "").Apply(ctx, driver.Scope{}, []driver.FactChange{adding("known to all", 0, 1, 0.1)})
		assert.NoError(t, err, "apply")
		for _, c := range []struct{ who, args, want string }{
			{annID, `'[0,1,0]', 5, '` + annID + `'`, "[drives a van Likes green tea.]"},
			{annID, `'[0,1,0]', 1, '` + annID + `'`, "[drives a van]"},
			{annID, `'[0,1,0]'`, "[drives a van Likes green tea.]"},
			{annID, `query_embedding => '[0,1,0]', filter_model => 'm'`, "[drives a van]"},
			{annID, `'[0,1]', 5`, "[two numbers]"},
			{"", `'[0,1,0]', 5, '*'`, "[drives a van known to all Likes green tea.]"},
			{"", `'[0,1,0]', 5, ''`, "[known to all]"},
			{bobID, `'[0,1,0]', 5`, "[]"},
			{"", `'[0,1,0]', 5, '` + annID + `', true`, "[drives a van known to all Likes green tea.]"},
			{"", `'[0,1,0]', 5, '` + bobID + `'`, "[]"},
		} {
			got := matched(ctx, t, pool, c.who, c.args)
			assert.Equal(t, c.want, got, "%q matches %s", c.who, c.args)
		}
		o := p.options
		o.Pooling = pgmemory.Direct
		owned, err := pgmemory.New(ctx, owner, o)
		assert.NoError(t, err, "new")
		assert.NoError(t, owned.Index(ctx, "m", 3), "index")
		for args, want := range map[string]string{
			`query_embedding => '[0,1,0]', filter_model => 'm', match_count => 1, filter_user_id => '*'`: "[drives a van]",
			`query_embedding => '[0,1,0]', filter_model => 'm', match_count => 9, filter_user_id => '*'`: "[drives a van known to all]",
		} {
			got := matched(ctx, t, pool, "", args)
			assert.Equal(t, want, got, "by the index: %s", args)
		}
	})

	t.Run("what Go would refuse is refused", func(t *testing.T) {
		for name, c := range map[string]struct{ sql, want string }{
			"long content":  {`INSERT INTO public.agent_memories (user_id, content) VALUES (auth.uid()::text, repeat('x', 20000))`, "22001"},
			"long metadata": {`INSERT INTO public.agent_memories (user_id, content, metadata) VALUES (auth.uid()::text, 'x', jsonb_build_object('x', repeat('x', 20000)))`, "22001"},
			"a list":        {`INSERT INTO public.agent_memories (user_id, content, metadata) VALUES (auth.uid()::text, 'x', '[1]')`, "22023"},
			"a long name":   {`INSERT INTO public.agent_memories (user_id, agent_id, content) VALUES (auth.uid()::text, repeat('x', 600), 'x')`, "22001"},
			"a change":      {`UPDATE public.agent_memories SET metadata = '"x"' WHERE content = 'drives a van'`, "22023"},
		} {
			_, err := raw(ctx, pool, annID, c.sql)
			assert.Equal(t, c.want, sqlState(err), name)
		}
	})

	t.Run("what is changed or deleted is so", func(t *testing.T) {
		for _, c := range []struct{ who, sql string }{
			{bobID, `UPDATE public.agent_memories SET content = 'x'`},
			{bobID, `DELETE FROM public.agent_memories`},
		} {
			n, err := raw(ctx, pool, c.who, c.sql)
			require.EqualValues(t, 0, n, "bob: %s", c.sql)
			assert.NoError(t, err, "bob: %s", c.sql)
		}
		n, err := raw(ctx, pool, annID, `UPDATE public.agent_memories SET content = 'drives a bus' WHERE content = 'drives a van'`)
		assert.Equal(t, int64(1), n, "update")
		assert.NoError(t, err, "update")
		n, err = raw(ctx, pool, annID, `DELETE FROM public.agent_memories WHERE memory_type = 'preference'`)
		assert.Equal(t, int64(1), n, "delete")
		assert.NoError(t, err, "delete")
		found := map[string]bool{}
		for r, err := range store.Find(ctx, driver.FactQuery{Reach: scope.Only()}) {
			assert.NoError(t, err, "find")
			found[r.Content] = r.Embedding != nil
		}
		require.Len(t, found, 2)
		require.False(t, found["drives a bus"])
		assert.True(t, found["two numbers"])
	})
}

func matched(ctx context.Context, t *testing.T, pool *pgxpool.Pool, who, args string) string {
	t.Helper()
	texts := []string{}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		if err := binding(who)(ctx, b); err != nil {
			return err
		}
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT content FROM public.match_memories(`+args+`)`, pgx.QueryExecModeExec)
		if err != nil {
			return err
		}
		texts, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	assert.NoError(t, err, "%s: %v", args, err)
	return fmt.Sprint(texts)
}
