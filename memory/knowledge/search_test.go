package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

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
				if len(results) == 0 || !strings.Contains(results[0].Item.Chunk.Content, want) {
					t.Errorf("%q: got %+v, want %q first", text, results, want)
					continue
				}
				last := math.Inf(1)
				for _, r := range results {
					s := r.Score
					if sum := s.Keyword + s.Vector + s.Neighbour + s.Recency + s.Importance; math.Abs(sum-s.Total) > 1e-9 || s.Total > last || s.Total > 1 {
						t.Errorf("%q: score %+v after %v", text, s, last)
					}
					last = s.Total
				}
			}
			for _, text := range []string{"", "   ", "?!"} {
				if results := search(t, b, memory.Question{Text: text}); o.Embedder == nil && len(results) > 0 {
					t.Errorf("%q: got %d results", text, len(results))
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
	if len(all) < 6 {
		t.Fatalf("got %d results, want more", len(all))
	}
	ask.Limit = 2
	if got := search(t, b, ask); len(got) != 2 || got[0].Item.Chunk.ID != all[0].Item.Chunk.ID {
		t.Errorf("limit: got %d", len(got))
	}
	ask.Limit, ask.MaxTokens = 0, all[0].Item.Chunk.Tokens+all[1].Item.Chunk.Tokens
	tokens := 0
	for _, r := range search(t, b, ask) {
		tokens += r.Item.Chunk.Tokens
	}
	if tokens == 0 || tokens > ask.MaxTokens {
		t.Errorf("got %d tokens, and %d are allowed", tokens, ask.MaxTokens)
	}
	for i, r := range all {
		if r.Score.Rank != i+1 {
			t.Errorf("result %d has the rank %d", i+1, r.Score.Rank)
		}
	}
}

func TestSearchNeighbours(t *testing.T) {
	t.Parallel()
	b := library(t, knowledge.Options{})
	ask, around := memory.Question{Text: "red switch", Limit: 1}, knowledge.Filter{Neighbours: 1}
	r := search(t, b, ask, around)[0]
	if len(r.Item.Before) != 1 || len(r.Item.After) != 1 || !strings.Contains(r.Item.Before[0].Content, "cold water") || !strings.Contains(r.Item.After[0].Content, "vinegar") {
		t.Errorf("got before %+v, after %+v", r.Item.Before, r.Item.After)
	}
	if got := r.Item.Text(); got != strings.TrimSpace(manual) {
		t.Errorf("got %q", got)
	}
	around.Neighbours = 5
	if r := search(t, b, ask, around)[0]; len(r.Item.Before) != 1 || len(r.Item.After) != 1 {
		t.Errorf("got %d before, %d after, want what there is", len(r.Item.Before), len(r.Item.After))
	}
	ask.MaxTokens = r.Item.Chunk.Tokens + r.Item.Before[0].Tokens
	if r := search(t, b, ask, around)[0]; len(r.Item.Before) != 1 || len(r.Item.After) != 0 {
		t.Errorf("with a budget: got %d before, %d after", len(r.Item.Before), len(r.Item.After))
	}
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
	if got, want := r.Item.Text(), strings.TrimSpace(text.String()); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
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
		if got := search(t, b, memory.Question{Reach: c.reach, Text: "secret"}, c.only); len(got) != c.want {
			t.Errorf("%+v, %+v: got %d results, want %d", c.reach, c.only, len(got), c.want)
		}
	}
	if n, err := b.Delete(t.Context(), knowledge.Query{Reach: ann.Only()}); n != 1 || err != nil || uris(t, b, acme) != "a" {
		t.Errorf("delete: got %d, error %v", n, err)
	}
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
		if !slices.IsSortedFunc(results, func(x, y memory.Hit[knowledge.Passage]) int { return int(*y.Score.Reranked - *x.Score.Reranked) }) || len(results) < 3 {
			t.Errorf("got %+v", results)
		}
	}
	for _, text := range []string{"water short", "water nan"} {
		if _, err := b.Search(t.Context(), memory.Question{Reach: acme.Only(), Text: text}); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	fail = true
	if _, err := b.Search(t.Context(), memory.Question{Reach: acme.Only(), Text: "water"}); !errors.Is(err, errSorry) {
		t.Errorf("got %v", err)
	}
}

func TestSearchDiversity(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]knowledge.Options{"words": {}, "vectors": {Embedder: newWords()}} {
		b := newBase(t, inmemory.NewDocuments(), o)
		ingest(t, b, "a", "The port is 5432.", "b", "The port is 5432.", "c", "The port is 5432.", "d", "The port of a harbour has ships in it, and cranes.")
		plain := search(t, b, memory.Question{Text: "port", Limit: 2})
		diverse := search(t, b, memory.Question{Text: "port", Limit: 2, Diversity: 0.7})
		if plain[1].Item.Source.URI != "b" || diverse[0].Item.Source.URI != "a" || diverse[1].Item.Source.URI != "d" {
			t.Errorf("%s: got %s and %s", name, plain[1].Item.Source.URI, diverse[1].Item.Source.URI)
		}
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
	if _, err := b.Search(t.Context(), memory.Question{Text: "x", Embedding: []float32{1}}); !errors.Is(err, memory.ErrDimension) {
		t.Errorf("got %v, want ErrDimension", err)
	}
	if _, err := library(t, knowledge.Options{}).Search(t.Context(), memory.Question{Text: "x", Embedding: []float32{1}}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("a vector without an embedder: got %v", err)
	}
	bad := knowledge.Query{Reach: memory.Scope{Tenant: "\xff"}.Only()}
	_, deleted := b.Delete(t.Context(), bad)
	_, _, ingested := knowledge.Collect(b.Ingest(t.Context(), bad.Scope, documents(), knowledge.IngestOptions{}))
	_, _, reembedded := knowledge.Collect(b.Reembed(t.Context(), bad))
	var listed error
	for _, listed = range b.Sources(t.Context(), bad) {
	}
	for i, err := range []error{deleted, ingested, reembedded, listed} {
		if !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("call %d: got %v", i, err)
		}
	}
}

func TestNewInvalid(t *testing.T) {
	t.Parallel()
	nameless := newWords()
	nameless.model = ""
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
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
		if _, err := knowledge.New(m, o); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	if _, err := knowledge.New(nil, knowledge.Options{}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("no store: got %v", err)
	}
}

func TestChunks(t *testing.T) {
	t.Parallel()
	b := library(t, knowledge.Options{})
	for s, err := range b.Sources(t.Context(), knowledge.Query{Reach: acme.Only(), URIs: []string{"kettle.md"}}) {
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for c, err := range b.Chunks(t.Context(), s) {
			if err != nil || c.Ordinal != n || c.Content != manual[c.Start:c.End] {
				t.Errorf("got %+v, error %v", c, err)
			}
			n++
		}
		if n != s.Chunks || n != 3 {
			t.Errorf("got %d chunks, and it says %d", n, s.Chunks)
		}
	}
}
