package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

func TestEmbedderOfNoLength(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		model string
		size  int
		want  string
	}{
		{"m", 0, "EMBEDDING_DIM"},
		{"m", -1, "length -1"},
		{"m", memory.MaxDimension + 1, "length 16001"},
		{"", 3, "no name"},
		{strings.Repeat("m", 10_000), 3, "model of the embedder"},
	} {
		e := newConcepts()
		e.model, e.size = test.model, test.size
		_, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Embedder: e})
		if !errors.Is(err, memory.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("model %.5q of %d: got %v want %q", test.model, test.size, err, test.want)
		}
	}
	if err := memory.CheckEmbedder(newConcepts()); err != nil {
		t.Error(err)
	}
}

// deaf is a store that discards vectors without an error.
type deaf struct{ *inmemory.Facts }

func (d deaf) Apply(ctx context.Context, s memory.Scope, changes []memory.FactChange) ([]memory.Applied, error) {
	if changes[0].Kind == memory.Embed {
		return make([]memory.Applied, len(changes)), nil
	}
	return d.Facts.Apply(ctx, s, changes)
}

func TestReembedEnds(t *testing.T) {
	t.Parallel()
	store := deaf{inmemory.NewFacts(inmemory.Options{})}
	words, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := words.Store(t.Context(), ann, memory.Fact{Content: "tea", Trust: memory.Stated}); err != nil {
		t.Fatal(err)
	}
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{Embedder: newConcepts()})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only()}); n != 1 || !errors.Is(err, memory.ErrConflict) {
		t.Errorf("a store that takes no vectors: got %d, %v", n, err)
	}
	bad := memory.FactQuery{Reach: ann.Only(), IDs: []string{"x"}}
	if _, err := m.Reembed(t.Context(), bad); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := m.Reindex(t.Context(), bad); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Reindex(stopped, memory.FactQuery{Reach: ann.Only()}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
