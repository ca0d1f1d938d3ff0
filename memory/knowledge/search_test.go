package knowledge_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// library returns a base with some pages.
func library(t testing.TB, o knowledge.Options) *knowledge.Base {
	t.Helper()
	o.Splitter = small
	b := newBase(t, inmemory.NewDocuments(), o)
	ingest(t, b, "kettle.md", manual,
		"tea.md", "# Tea\n\n## Green\n\nGreen tea likes water that does not boil.\n\n## Black\n\nBlack tea wants boiling water.\n\n## Iced\n\nLet it cool, and add ice.\n",
		"notes.txt", "Remember the milk.\n\nThe meeting is on Tuesday.")
	return b
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]knowledge.Options{"words": {}, "words and vectors": {Embedder: newWords()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := library(t, o)
			for text, want := range map[string]string{
				"what do I clean it with, vinegar?": "Use vinegar", "black TEA": "Black tea wants", "Tuesday meetings": "The meeting", "iced": "Let it cool", "kettle filling": "Fill it",
			} {
				results := search(t, b, memory.Question{Text: text})
				require.NotEmpty(t, results, text)
				assert.Contains(t, results[0].Item.Chunk.Content, want, text)
				last := math.Inf(1)
				for _, r := range results {
					s := r.Score
					assert.LessOrEqual(t, math.Abs(s.Keyword+s.Vector+s.Neighbour+s.Recency+s.Importance-s.Total), 1e-9, "%q: score %+v after %v", text, s, last)
					assert.LessOrEqual(t, s.Total, last, "%q: score %+v after %v", text, s, last)
					assert.LessOrEqual(t, s.Total, float64(1), "%q: score %+v after %v", text, s, last)
					last = s.Total
				}
			}
			for _, text := range []string{"", "   ", "?!"} {
				if results := search(t, b, memory.Question{Text: text}); o.Embedder == nil {
					assert.Empty(t, results, "%q", text)
				}
			}
		})
	}
}

func TestSearchLimits(t *testing.T) {
	t.Parallel()
	b := library(t, knowledge.Options{Embedder: newWords()})
	ask := memory.Question{Text: "tea water"}
	all := search(t, b, ask)
	require.GreaterOrEqual(t, len(all), 6)
	ask.Limit = 2
	got := search(t, b, ask)
	require.Len(t, got, 2, "limit")
	assert.Equal(t, all[0].Item.Chunk.ID, got[0].Item.Chunk.ID, "limit")
	ask.Limit, ask.MaxTokens = 0, all[0].Item.Chunk.Tokens+all[1].Item.Chunk.Tokens
	tokens := 0
	for _, r := range search(t, b, ask) {
		tokens += r.Item.Chunk.Tokens
	}
	assert.NotZero(t, tokens)
	assert.LessOrEqual(t, tokens, ask.MaxTokens)
	for i, r := range all {
		assert.Equal(t, i+1, r.Score.Rank, "result %d has the rank %d", i+1, r.Score.Rank)
	}
}

func TestSearchNeighbours(t *testing.T) {
	t.Parallel()
	b := library(t, knowledge.Options{})
	ask, around := memory.Question{Text: "red switch", Limit: 1}, knowledge.Filter{Neighbours: 1}
	r := search(t, b, ask, around)[0]
	require.Len(t, r.Item.Before, 1)
	require.Len(t, r.Item.After, 1)
	assert.Contains(t, r.Item.Before[0].Content, "cold water")
	assert.Contains(t, r.Item.After[0].Content, "vinegar")
	assert.Equal(t, strings.TrimSpace(manual), r.Item.Text())
	around.Neighbours = 5
	all := search(t, b, ask, around)[0].Item
	assert.Len(t, all.Before, 1)
	assert.Len(t, all.After, 1)
	ask.MaxTokens = r.Item.Chunk.Tokens + r.Item.Before[0].Tokens
	r = search(t, b, ask, around)[0]
	require.Len(t, r.Item.Before, 1, "with a budget")
	assert.Empty(t, r.Item.After, "with a budget")
}

func TestResultTextOverlap(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "This is sentence number %d. ", i)
	}
	s := small
	s.Overlap = 15
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Splitter: s})
	ingest(t, b, "a", text.String())
	r := search(t, b, memory.Question{Text: "20", Limit: 1}, knowledge.Filter{Neighbours: 10})[0]
	assert.Equal(t, strings.TrimSpace(text.String()), r.Item.Text())
}

func TestSearchScopes(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{Embedder: newWords()})
	ann := memory.Scope{Tenant: "acme", User: "ann"}
	for _, s := range []memory.Scope{acme, ann, {Tenant: "other"}} {
		d := knowledge.Document{URI: "a", Text: "secret of " + s.String()}
		if s == ann {
			d.Trusted = true
		}
		collect(t, b.Ingest(t.Context(), s, knowledge.Documents(d), knowledge.IngestOptions{}))
	}
	for _, c := range []struct {
		reach memory.Reach
		only  knowledge.Filter
		want  int
	}{
		{ann.Only(), knowledge.Filter{}, 1},
		{ann.Inherit(), knowledge.Filter{}, 2},
		{acme.Only(), knowledge.Filter{}, 1},
		{ann.Inherit(), knowledge.Filter{Trusted: true}, 1},
		{memory.Scope{Tenant: "none"}.Only(), knowledge.Filter{}, 0},
		{ann.Only(), knowledge.Filter{URIs: []string{"b"}}, 0},
		{ann.Only(), knowledge.Filter{Prefix: "a"}, 1},
	} {
		assert.Len(t, search(t, b, memory.Question{Reach: c.reach, Text: "secret"}, c.only), c.want, "%+v, %+v", c.reach, c.only)
	}
	n, err := b.Delete(t.Context(), knowledge.Query{Reach: ann.Only()})
	assert.Equal(t, 1, n, "delete")
	require.NoError(t, err, "delete")
	assert.Equal(t, "a", uris(t, b, acme), "delete")
}

func TestSearchRerank(t *testing.T) {
	t.Parallel()
	fail := false
	rerank := memory.RerankerFunc(func(_ context.Context, query string, texts []string) ([]float64, error) {
		if fail {
			return nil, errSorry
		}
		if !strings.HasPrefix(texts[0], "Tea >") && !strings.HasPrefix(texts[0], "Kettle >") {
			t.Errorf("%q: got %q, want a text below its headings", query, texts[0])
		}
		scores := make([]float64, len(texts))
		for i, text := range texts {
			scores[i] = -float64(len(text))
		}
		if strings.Contains(query, "nan") {
			scores[0] = math.NaN()
		}
		return scores[:len(texts)-strings.Count(query, "short")], nil
	})
	b := library(t, knowledge.Options{Reranker: rerank})
	for _, diversity := range []float64{0, 0.1} {
		results := search(t, b, memory.Question{Text: "water", Diversity: diversity})
		assert.True(t, slices.IsSortedFunc(results, func(x, y memory.Hit[knowledge.Passage]) int { return int(*y.Score.Reranked - *x.Score.Reranked) }))
		assert.GreaterOrEqual(t, len(results), 3)
	}
	for _, text := range []string{"water short", "water nan"} {
		_, err := b.Search(t.Context(), memory.Question{Reach: acme.Only(), Text: text})
		assert.ErrorIs(t, err, memory.ErrInvalid, text)
	}
	fail = true
	_, err := b.Search(t.Context(), memory.Question{Reach: acme.Only(), Text: "water"})
	assert.ErrorIs(t, err, errSorry)
}

func TestSearchDiversity(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]knowledge.Options{"words": {}, "vectors": {Embedder: newWords()}} {
		b := newBase(t, inmemory.NewDocuments(), o)
		ingest(t, b, "a", "The port is 5432.", "b", "The port is 5432.", "c", "The port is 5432.", "d", "The port of a harbour has ships in it, and cranes.")
		plain := search(t, b, memory.Question{Text: "port", Limit: 2})
		diverse := search(t, b, memory.Question{Text: "port", Limit: 2, Diversity: 0.7})
		assert.Equal(t, "b", plain[1].Item.Source.URI, name)
		assert.Equal(t, "a", diverse[0].Item.Source.URI, name)
		assert.Equal(t, "d", diverse[1].Item.Source.URI, name)
	}
}

func TestSearchInvalid(t *testing.T) {
	t.Parallel()
	b := library(t, knowledge.Options{Embedder: newWords()})
	for _, q := range []memory.Question{
		{Limit: -1},
		{MaxTokens: -1},
		{Diversity: 1.1},
		{Diversity: math.NaN()},
		{MinSimilarity: math.NaN()},
		{MinSimilarity: 1.5},
		{Reach: memory.Scope{Tenant: "\x00"}.Only()},
	} {
		q.Text = "x"
		_, err := b.Search(t.Context(), q)
		require.ErrorIs(t, err, memory.ErrInvalid, "%+v", q)
		require.ErrorContains(t, err, "knowledge: search: ", "%+v", q)
	}
	for _, only := range [][]knowledge.Filter{
		{{Neighbours: 11}},
		{{Neighbours: -1}},
		{{Prefix: "\xff"}},
		{{URIs: make([]string, 1001)}},
		{{URIs: []string{"\x00"}}},
		{{Where: []memory.Condition{{}}}},
		{{}, {}},
	} {
		_, err := b.Search(t.Context(), memory.Question{Reach: acme.Only(), Text: "x"}, only...)
		require.ErrorIs(t, err, memory.ErrInvalid, "%+v", only)
	}
	_, err := b.Search(t.Context(), memory.Question{Text: "x", Embedding: []float32{1}})
	assert.ErrorIs(t, err, memory.ErrDimension)
	_, err = library(t, knowledge.Options{}).Search(t.Context(), memory.Question{Text: "x", Embedding: []float32{1}})
	assert.ErrorIs(t, err, memory.ErrInvalid, "a vector without an embedder")
	bad := knowledge.Query{Reach: memory.Scope{Tenant: "\xff"}.Only()}
	_, deleted := b.Delete(t.Context(), bad)
	_, _, ingested := knowledge.Collect(b.Ingest(t.Context(), bad.Scope, documents(), knowledge.IngestOptions{}))
	_, _, reembedded := knowledge.Collect(b.Reembed(t.Context(), bad))
	var listed error
	for _, listed = range b.Sources(t.Context(), bad) {
	}
	for i, err := range []error{deleted, ingested, reembedded, listed} {
		assert.ErrorIs(t, err, memory.ErrInvalid, "call %d", i)
	}
}

func TestNewInvalid(t *testing.T) {
	t.Parallel()
	nameless := newWords()
	nameless.model = ""
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(t, err)
	for _, o := range []knowledge.Options{
		{Embedder: nameless},
		{Batch: -1},
		{Parallel: -1},
		{MaxSize: -1},
		{Quota: driver.SourceQuota{Chunks: -1}},
		{Weights: memory.Weights{Vector: -1}},
		{Weights: memory.Weights{Keyword: math.NaN()}},
		{Weights: memory.Weights{HalfLife: -1}},
		{Splitter: split.Splitter{Size: 5}},
	} {
		_, err := knowledge.New(m, o)
		assert.ErrorIs(t, err, memory.ErrInvalid, "%+v", o)
	}
	_, err = knowledge.New(nil, knowledge.Options{})
	assert.ErrorIs(t, err, memory.ErrInvalid, "no store")
}

func TestChunks(t *testing.T) {
	t.Parallel()
	b := library(t, knowledge.Options{})
	for s, err := range b.Sources(t.Context(), knowledge.Query{Reach: acme.Only(), URIs: []string{"kettle.md"}}) {
		require.NoError(t, err)
		n := 0
		for c, err := range b.Chunks(t.Context(), s) {
			require.NoError(t, err)
			assert.Equal(t, n, c.Ordinal)
			assert.Equal(t, manual[c.Start:c.End], c.Content)
			n++
		}
		assert.Equal(t, s.Chunks, n)
		assert.Equal(t, 3, n)
	}
}
