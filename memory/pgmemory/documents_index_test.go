package pgmemory_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/pgmemory"
)

// A search of many chunks uses the index, and finds and counts all matching chunks.
func TestKnowledgeByIndex(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.Exact = 100
	quick := p.open(t)
	p.options.Exact = 1_000_000
	exact := p.open(t)
	r := rand.New(rand.NewPCG(1, 2))
	vector := func() []float32 { return []float32{r.Float32() - 0.5, r.Float32() - 0.5, r.Float32() - 0.5} }
	for i := range 20 {
		s := document(fmt.Sprintf("%c/%d", 'a'+i%2, i), 100, vector)
		s.Source.Metadata = fmt.Appendf(nil, `{"n":%d}`, i)
		scope := docs
		if i >= 15 {
			scope.User = fmt.Sprint("user ", i)
		}
		swapIn(t, quick.Documents(), scope, s)
	}
	require.NoError(t, quick.Index(ctx, "m", 3))
	for _, c := range []struct {
		name  string
		query driver.SourceQuery
	}{
		{"a scope", driver.SourceQuery{Reach: docs.Only()}},
		{"all of a tenant", driver.SourceQuery{Reach: driver.Reach{Scope: docs, AnyUser: true}}},
		{"a user and all", driver.SourceQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme", User: "user 17"}, Inherit: true}}},
		{"a user", driver.SourceQuery{Reach: driver.Scope{Tenant: "acme", User: "user 17"}.Only()}},
		{"half", driver.SourceQuery{Reach: docs.Only(), Prefix: "a/"}},
		{"one source", driver.SourceQuery{Reach: docs.Only(), Where: []driver.Condition{driver.Where("n", driver.Equal, 3)}}},
		{"nothing", driver.SourceQuery{Reach: driver.Scope{Tenant: "other"}.Only()}},
	} {
		for _, limit := range []int{1, 30, 5000} {
			hits, wanted := 0, 0
			for range 20 { // the first searches learn the size of the selection and of the index
				s := driver.ChunkSearch{Query: c.query, Embedding: vector(), Model: "m", Limit: limit}
				got, err := quick.Documents().Search(ctx, s)
				assert.NoError(t, err, "search")
				want, err := exact.Documents().Search(ctx, s)
				assert.NoError(t, err, "search")
				require.Len(t, got.Records, len(want.Records), "%s, limit %d", c.name, limit)
				require.Equal(t, want.Chunks, got.Chunks, "%s, limit %d", c.name, limit)
				found := chunkContents(got)
				for content := range chunkContents(want) {
					wanted++
					if found[content] {
						hits++
					}
				}
			}
			assert.GreaterOrEqual(t, float64(hits), 0.95*float64(wanted), "%s, limit %d", c.name, limit)
		}
	}
	quick.Close()
	wantScans(t, p, "mem_chunk_near_%")
}

// A search with the index finds swapped chunks. Vectors of another dimension have their own index.
func TestKnowledgeIndexFollows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.Exact = 10
	db := p.open(t)
	store := db.Documents()
	n := float32(0)
	vector := func() []float32 { n++; return []float32{n, 1} }
	swapIn(t, store, docs, document("a", 100, vector), document("b", 100, func() []float32 { return []float32{1, 2, 3} }))
	for _, dimension := range []int{2, 3} {
		require.NoError(t, db.Index(ctx, "m", dimension))
	}
	next := document("a", 70, vector) // enough chunks for COPY
	next.Source.Revision = 1
	swapIn(t, store, docs, next)
	for range 3 {
		c, err := store.Search(ctx, driver.ChunkSearch{Query: driver.SourceQuery{Reach: docs.Only()}, Embedding: []float32{1, 1}, Model: "m", Limit: 70})
		assert.NoError(t, err, "search")
		want := map[string]bool{}
		for _, r := range next.Chunks {
			want[r.Content] = true
		}
		assert.Equal(t, want, chunkContents(c))
	}
}

// If the database lacks a function or a table, the error names it.
func TestKnowledgeIsNotMigrated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	db := p.open(t)
	for _, c := range []struct {
		drop string
		do   func() error
	}{
		{`DROP FUNCTION weft.mem_remove`, func() error { _, err := db.Documents().Delete(ctx, driver.SourceQuery{}); return err }},
		{`DROP FUNCTION weft.mem_enqueue`, func() error { return db.Turns().Enqueue(ctx, turn("1", ann)) }},
		{`DROP FUNCTION weft.mem_swap`, func() error {
			return db.Documents().Swap(ctx, driver.SourceChange{Swaps: []driver.SourceSwap{document("a", 1, nil)}})
		}},
		{`DROP TABLE weft.mem_chunk`, func() error {
			_, err := db.Documents().Search(ctx, driver.ChunkSearch{Terms: []string{"x"}, Limit: 1})
			return err
		}},
		{`DROP TABLE weft.mem_turn`, func() error { _, err := db.Turns().Count(ctx); return err }},
		{`DROP TABLE weft.mem_shelf CASCADE`, func() error {
			var last error
			for _, last = range db.Documents().Sources(ctx, driver.SourceQuery{}) {
			}
			return last
		}},
	} {
		err := c.do()
		assert.NoError(t, err, "before %s: %v", c.drop, err)
		do(t, p, c.drop)
		err = c.do()
		assert.ErrorIs(t, err, pgmemory.ErrNotMigrated, c.drop)
	}
}

// A search by words finds and counts the same in large and small selections.
func TestKnowledgeByWordsOfMany(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	p.options.Exact = 100
	many := p.open(t)
	p.options.Exact = 1_000_000
	few := p.open(t)
	for i := range 10 {
		swapIn(t, many.Documents(), docs, document(fmt.Sprintf("%c/%d", 'a'+i%2, i), 100, nil))
	}
	for _, q := range []driver.SourceQuery{{Reach: docs.Only()}, {Reach: docs.Only(), Prefix: "b/"}, {Reach: driver.Reach{Scope: docs, Inherit: true}}} {
		s := driver.ChunkSearch{Query: q, Terms: []string{"part", "b/7", "42", "none", "a/2"}, Limit: 20}
		want, err := few.Documents().Search(ctx, s)
		assert.NoError(t, err, "search")
		for range 3 {
			got, err := many.Documents().Search(ctx, s)
			assert.NoError(t, err, "search")
			require.Equal(t, want.Frequency, got.Frequency)
			require.Equal(t, want.Terms, got.Terms)
			require.Equal(t, chunkContents(want), chunkContents(got))
			assert.Len(t, got.Records, 20)
		}
	}
}
