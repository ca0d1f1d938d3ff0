package memory_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		require.ErrorIs(t, err, memory.ErrInvalid, "model %.5q of %d", test.model, test.size)
		assert.ErrorContains(t, err, test.want, "model %.5q of %d", test.model, test.size)
	}
	assert.NoError(t, memory.CheckEmbedder(newConcepts()))
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
	require.NoError(t, err)
	_, err = words.Store(t.Context(), ann, memory.Fact{Content: "tea", Trust: memory.Stated})
	require.NoError(t, err)
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{Embedder: newConcepts()})
	require.NoError(t, err)
	n, err := m.Reembed(t.Context(), memory.FactQuery{Reach: ann.Only()})
	require.Equal(t, 1, n, "a store that takes no vectors")
	assert.ErrorIs(t, err, memory.ErrConflict, "a store that takes no vectors")
	bad := memory.FactQuery{Reach: ann.Only(), IDs: []string{"x"}}
	_, err = m.Reembed(t.Context(), bad)
	assert.ErrorIs(t, err, memory.ErrInvalid)
	_, err = m.Reindex(t.Context(), bad)
	assert.ErrorIs(t, err, memory.ErrInvalid)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Reindex(stopped, memory.FactQuery{Reach: ann.Only()})
	assert.ErrorIs(t, err, context.Canceled)
}
