package pgmemory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/inmemory"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/pgmemory"
)

// Texts of other programs, and the words by which a search must find them.
var written = []struct{ content, asked string }{
	{"Her children play outside", "playing"},
	{"She met him in a café", "cafe"},
	{"他去了北京", "北京"},
	{"Keine Überraschungen bitte", "Überraschungen"},
	{"The function parseHTTPHeader is slow", "http header"},
	{"Two herons at the pond", "heron"},
}

func recalled(t *testing.T, store driver.FactStore, s driver.Scope, text string) string {
	t.Helper()
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
	assert.NoError(t, err, "new")
	found, err := m.Recall(context.Background(), memory.Question{Reach: s.Only(), Text: text})
	assert.NoError(t, err, "recall "+text)
	list := []string{}
	for _, f := range found {
		list = append(list, f.Item.Content)
	}
	return fmt.Sprint(list)
}

func answered(t *testing.T, store driver.DocumentStore, s driver.Scope, text string) string {
	t.Helper()
	m, err := memory.New(inmemory.Fill(driver.Stores{DocumentStore: store}), memory.Options{})
	assert.NoError(t, err, "new")
	b, err := knowledge.New(m, knowledge.Options{})
	assert.NoError(t, err, "new")
	results, err := b.Search(context.Background(), memory.Question{Reach: s.Only(), Text: text})
	assert.NoError(t, err, "search "+text)
	list := []string{}
	for _, r := range results {
		list = append(list, r.Item.Chunk.Content)
	}
	return fmt.Sprint(list)
}

// The same words find facts and chunks of other programs and of this package.
func TestWrittenBySQLIsFoundByWords(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p, owner := publicPlace(t)
	db, pool := p.served(t), p.pool(t)
	scope := driver.Scope{User: annID}
	const (
		putFact  = `INSERT INTO public.agent_memories (user_id, content, embedding) VALUES ($1, $2, '[1,0]')`
		putChunk = `INSERT INTO public.knowledge_chunks (user_id, content, source, embedding) VALUES ($1, $2, 'notes', '[1,0]')`
	)
	for _, w := range written {
		for _, sql := range []string{putFact, putChunk} {
			_, err := raw(ctx, pool, annID, sql, annID, w.content)
			assert.NoError(t, err, "insert "+w.content)
		}
	}
	unread := `SELECT (SELECT count(*) FROM ` + p.options.Schema + `.mem_fact WHERE terms @> '{""}')::int, (SELECT count(*) FROM ` + p.options.Schema + `.mem_chunk WHERE terms @> '{""}')::int,
		(SELECT h.terms = (SELECT sum(f.word_count) FROM ` + p.options.Schema + `.mem_chunk f) AND h.terms = (SELECT sum(o.terms) FROM ` + p.options.Schema + `.mem_source o) FROM ` + p.options.Schema + `.mem_shelf h)`
	wantUnread := func(facts, chunks int) {
		t.Helper()
		var f, c int
		var sums bool
		err := owner.QueryRow(ctx, unread).Scan(&f, &c, &sums)
		require.NoError(t, err)
		require.Equal(t, facts, f)
		require.Equal(t, chunks, c)
		assert.True(t, sums)
	}
	wantUnread(len(written), len(written))
	// A search of another user, or in a read-only transaction, does not update the terms. The search
	// in a read-only transaction uses the terms of the trigger.
	assert.Equal(t, "[]", recalled(t, as(t, db, bobID), scope, "playing"))

	wantUnread(len(written), len(written))
	err := pgx.BeginTxFunc(ctx, owner, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		o := p.options
		o.Pooling = pgmemory.Direct
		only, err := pgmemory.New(ctx, tx, o)
		assert.NoError(t, err, "new")
		for asked, want := range map[string]string{"pond": "[Two herons at the pond]", "heron": "[]"} {
			got := recalled(t, only.Facts(), scope, asked)
			assert.Equal(t, want, got, "read only: facts: %s finds %s", asked, got)
			got = answered(t, only.Documents(), scope, asked)
			assert.Equal(t, want, got, "read only: chunks: %s finds %s", asked, got)
		}
		return nil
	})
	assert.NoError(t, err, "read only")
	wantUnread(len(written), len(written))

	for _, w := range written {
		want := "[" + w.content + "]"
		got := recalled(t, as(t, db, annID), scope, w.asked)
		assert.Equal(t, want, got, "facts: %s finds %s want %s", w.asked, got, want)
		got = answered(t, knownAs(t, db, annID), scope, w.asked)
		assert.Equal(t, want, got, "chunks: %s finds %s want %s", w.asked, got, want)
	}
	wantUnread(0, 0)

	// Changed rows get new terms, and keep their vectors.
	for _, table := range []string{"agent_memories", "knowledge_chunks"} {
		_, err := raw(ctx, pool, annID, `UPDATE public.`+table+` SET content = 'Many ducks' WHERE content LIKE 'Two herons%'`)
		assert.NoError(t, err, "update")
	}
	wantUnread(1, 1)
	reindexed(t, db, annID, scope, 1)
	wantUnread(0, 0)
	reindexed(t, db, annID, scope, 0)
	assert.Equal(t, "[Many ducks]", recalled(t, as(t, db, annID), scope, "duck"), "facts")
	assert.Equal(t, "[Many ducks]", answered(t, knownAs(t, db, annID), scope, "duck"), "chunks")
	n, err := request[int](pool, annID, `SELECT count(embedding)::int FROM public.agent_memories UNION ALL SELECT count(embedding)::int FROM public.knowledge_chunks`)
	require.NoError(t, err)
	assert.Equal(t, "[5 5]", fmt.Sprint(n), "all vectors except the vectors of rows with changed content")
}

// reindexed reindexes all facts and chunks of a scope. It checks that the given number of each is
// changed with the rights of the user, and none with the rights of bob, who may not change them.
func reindexed(t *testing.T, db *pgmemory.DB, user string, scope driver.Scope, want int) {
	t.Helper()
	for _, who := range []string{bobID, user} {
		if who == bobID && want > 0 {
			defer reindexed(t, db, bobID, scope, 0)
			continue
		}
		m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: as(t, db, who)}), memory.Options{})
		assert.NoError(t, err, "new")
		n, err := m.Reindex(context.Background(), driver.FactQuery{Reach: scope.Only()})
		require.Equal(t, want, n, "facts")
		assert.NoError(t, err, "facts")
		m, err = memory.New(inmemory.Fill(driver.Stores{DocumentStore: knownAs(t, db, who)}), memory.Options{})
		assert.NoError(t, err, "new")
		b, err := knowledge.New(m, knowledge.Options{})
		assert.NoError(t, err, "new")
		n, err = b.Reindex(context.Background(), driver.SourceQuery{Reach: scope.Only()})
		require.Equal(t, want, n, "chunks")
		assert.NoError(t, err, "chunks")
	}
}

// Concurrent writers of rows without terms and concurrent searches do not block each other.
func TestReadWhileWritten(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p, _ := publicPlace(t)
	db, pool := p.served(t), p.pool(t)
	scope := driver.Scope{User: annID}
	failed := make(chan error, 100)
	done := make(chan struct{})
	for w := range 3 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 10 {
				_, err := raw(ctx, pool, annID, `INSERT INTO public.agent_memories (user_id, content) VALUES ($1, $2)`, annID, fmt.Sprintf("herons %d %d", w, i))
				if err == nil {
					_, err = raw(ctx, pool, annID, `INSERT INTO public.knowledge_chunks (user_id, content, source) VALUES ($1, $2, $3)`, annID, fmt.Sprintf("herons %d %d", w, i), fmt.Sprint("n", i%2))
				}
				if err != nil {
					failed <- err
				}
			}
		}()
		go func() {
			defer func() { done <- struct{}{} }()
			for range 10 {
				s := driver.FactSearch{Query: driver.FactQuery{Reach: scope.Only()}, Terms: []string{"heron"}, Limit: 100}
				if _, err := as(t, db, annID).Search(ctx, s); err != nil {
					failed <- err
				}
				k := driver.ChunkSearch{Query: driver.SourceQuery{Reach: scope.Only()}, Terms: []string{"heron"}, Limit: 100}
				if _, err := knownAs(t, db, annID).Search(ctx, k); err != nil {
					failed <- err
				}
			}
		}()
	}
	for range 6 {
		<-done
	}
	close(failed)
	for err := range failed {
		assert.NoError(t, err)
	}
	s := driver.FactSearch{Query: driver.FactQuery{Reach: scope.Only()}, Terms: []string{"heron"}, Limit: 100}
	c, err := as(t, db, annID).Search(ctx, s)
	require.NoError(t, err)
	require.EqualValues(t, 30, c.Frequency[0])
	assert.Len(t, c.Records, 30)
	k := driver.ChunkSearch{Query: driver.SourceQuery{Reach: scope.Only()}, Terms: []string{"heron"}, Limit: 100}
	chunks, err := knownAs(t, db, annID).Search(ctx, k)
	require.NoError(t, err)
	require.EqualValues(t, 30, chunks.Frequency[0])
	assert.Len(t, chunks.Records, 30)
}
