package knowledge_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// chunks returns the chunks of the only source of a store.
func chunks(t *testing.T, b *knowledge.Base, store driver.DocumentStore) []knowledge.Chunk {
	t.Helper()
	var list []knowledge.Chunk
	for s, err := range b.Sources(t.Context(), knowledge.Query{Reach: acme.Only()}) {
		require.NoError(t, err)
		for c, err := range store.Chunks(t.Context(), []driver.ChunkSpan{{Scope: acme, Source: s.ID, To: s.Chunks}}) {
			require.NoError(t, err)
			list = append(list, c)
		}
	}
	return list
}

func TestIngestKeepsEqualChunksAfterAChangeOfTheSplitter(t *testing.T) {
	t.Parallel()
	store, e := watch(), newWords()
	text := "# A\n\n" + strings.Repeat("A sentence of some words. ", 30) + "\n\n# B\n\nShort.\n\n# C\n\n" + strings.Repeat("Another sentence. ", 30)
	base := newBase(t, store, knowledge.Options{Embedder: e, Splitter: split.Splitter{Size: 300, Small: -1}})
	require.Equal(t, 3, ingest(t, base, "a.md", text).Embedded)
	before := chunks(t, base, store)

	base = newBase(t, store, knowledge.Options{Embedder: e, Splitter: split.Splitter{Size: 310, Small: -1}})
	report := ingest(t, base, "a.md", text)
	assert.Equal(t, 1, report.Updated)
	assert.Zero(t, report.Embedded)
	assert.Equal(t, before, chunks(t, base, store))
	assert.Equal(t, 1, ingest(t, base, "a.md", text).Unchanged)

	base = newBase(t, store, knowledge.Options{Embedder: e, Splitter: split.Splitter{Size: 100, Small: -1}})
	report = ingest(t, base, "a.md", text)
	assert.Equal(t, 1, report.Updated)
	assert.Equal(t, report.Chunks-1, report.Embedded, "the section that is still one chunk is not embedded again")
}

func TestIngestStoresTheTokensOfANewCounter(t *testing.T) {
	t.Parallel()
	store, e := watch(), newWords()
	ingest(t, newBase(t, store, knowledge.Options{Embedder: e}), "a.md", "# A\n\nSome words.")
	double := split.CounterFunc(func(text string) int { return 2 * split.Estimate.Count(text) })
	base := newBase(t, store, knowledge.Options{Embedder: e, Splitter: split.Splitter{Counter: double}})
	ingest(t, base, "a.md", "# A\n\nSome words.")
	c := chunks(t, base, store)
	require.Len(t, c, 1)
	assert.Equal(t, double(c[0].Content), c[0].Tokens)
}
