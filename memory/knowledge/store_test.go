package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/knowledge"
)

// broken is a store in which one method fails: sources, chunks, search or delete, as the field method says.
// If the field is empty, none fails.
type broken struct {
	driver.DocumentStore
	method string
}

func fail[T any](inner iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for x, err := range inner {
			if !yield(x, err) {
				return
			}
			break
		}
		var none T
		yield(none, errSorry)
	}
}

func (s *broken) Sources(ctx context.Context, q knowledge.Query) iter.Seq2[knowledge.Source, error] {
	if s.method == "sources" {
		return fail(s.DocumentStore.Sources(ctx, q))
	}
	return s.DocumentStore.Sources(ctx, q)
}

func (s *broken) Chunks(ctx context.Context, spans []driver.ChunkSpan) iter.Seq2[knowledge.Chunk, error] {
	if s.method == "chunks" {
		return fail(s.DocumentStore.Chunks(ctx, spans))
	}
	return s.DocumentStore.Chunks(ctx, spans)
}

func (s *broken) Search(ctx context.Context, q driver.ChunkSearch) (driver.ChunkCandidates, error) {
	if s.method == "search" {
		return driver.ChunkCandidates{}, errSorry
	}
	return s.DocumentStore.Search(ctx, q)
}

func (s *broken) Delete(ctx context.Context, q knowledge.Query) (int, error) {
	if s.method == "delete" {
		return 0, errSorry
	}
	return s.DocumentStore.Delete(ctx, q)
}

func TestBrokenStore(t *testing.T) {
	t.Parallel()
	all := knowledge.Query{Reach: acme.Only()}
	ask := memory.Question{Reach: acme.Only(), Text: "kettle"}
	for _, method := range []string{"sources", "chunks", "search", "delete"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			store := &broken{DocumentStore: inmemory.NewDocuments()}
			b := newBase(t, store, knowledge.Options{Splitter: small})
			ingest(t, b, "a", manual, "b", manual)
			store.method = method
			again := newBase(t, store, knowledge.Options{Splitter: small, Embedder: newWords()})
			var got []string
			note := func(name string, err error) {
				if errors.Is(err, errSorry) {
					got = append(got, name)
				} else if err != nil {
					t.Errorf("%s: got %v", name, err)
				}
			}
			var err error
			for _, err = range b.Sources(t.Context(), all) {
			}
			note("sources", err)
			for s, err := range store.DocumentStore.Sources(t.Context(), all) {
				require.NoError(t, err)
				for _, err = range b.Chunks(t.Context(), s) {
				}
				note("chunks", err)
				break
			}
			_, err = b.Search(t.Context(), ask, knowledge.Filter{Neighbours: 1})
			note("search", err)
			_, err = b.Delete(t.Context(), knowledge.Query{Reach: acme.Only(), URIs: []string{"none"}})
			note("delete", err)
			_, troubles, err := knowledge.Collect(b.Ingest(t.Context(), acme, documents("a", manual+"."), knowledge.IngestOptions{}))
			note("ingest", err)
			for _, p := range troubles {
				note("document", p.Err)
			}
			_, _, err = knowledge.Collect(b.Ingest(t.Context(), acme, documents(), knowledge.IngestOptions{Prune: true, Under: "b"}))
			note("prune", err)
			_, _, err = knowledge.Collect(again.Reembed(t.Context(), all))
			note("reembed", err)
			want := map[string]string{
				"sources": "sources ingest document prune reembed", "chunks": "chunks search ingest document reembed", "search": "search", "delete": "delete prune",
			}[method]
			s := strings.Join(got, " ")
			assert.Equal(t, want, s, "failed: %s", s)
		})
	}
}

func TestReembedFailures(t *testing.T) {
	t.Parallel()
	store, e := watch(), newWords()
	ingest(t, newBase(t, store, knowledge.Options{}), "a", "poison", "b", "text", "c", "text")
	e.fail = func(_ context.Context, texts []string) error {
		if strings.Contains(texts[0], "poison") {
			return errSorry
		}
		return nil
	}
	store.swapping = func(c driver.SourceChange) error {
		if c.Swaps[0].Source.URI == "c" {
			return memory.ErrConflict
		}
		return nil
	}
	b := newBase(t, store, knowledge.Options{Embedder: e})
	total, troubles, err := knowledge.Collect(b.Reembed(t.Context(), knowledge.Query{Reach: acme.Only()}))
	require.ErrorIs(t, err, errSorry)
	require.ErrorIs(t, err, memory.ErrConflict)
	assert.Equal(t, 1, total.Updated)
	require.Len(t, troubles, 2)
	assert.ErrorIs(t, troubles[0].Err, errSorry)
	assert.ErrorIs(t, troubles[1].Err, memory.ErrConflict)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = knowledge.Collect(b.Reembed(ctx, knowledge.Query{Reach: acme.Only()}))
	assert.ErrorIs(t, err, context.Canceled, "cancelled")
}

// TestInMemoryForgets proves that replaced chunks are not found, neither while they are
// still in the index nor after they were removed from it.
func TestInMemoryForgets(t *testing.T) {
	t.Parallel()
	b := newBase(t, inmemory.NewDocuments(), knowledge.Options{})
	for round := range 10 {
		var texts []string
		for i := range 40 {
			texts = append(texts, fmt.Sprint(i), fmt.Sprintf("word round%d", round))
		}
		ingest(t, b, texts...)
		results := search(t, b, memory.Question{Text: fmt.Sprintf("word round%d round%d", round, round-1), Limit: 100})
		for _, r := range results {
			assert.Equal(t, texts[1], r.Item.Chunk.Content, "round %d", round)
		}
		assert.Len(t, results, 40, "round %d", round)
	}
	n, err := b.Delete(t.Context(), knowledge.Query{Reach: acme.Only()})
	require.NoError(t, err)
	assert.Equal(t, 40, n)
	assert.Empty(t, search(t, b, memory.Question{Text: "word"}))
}
