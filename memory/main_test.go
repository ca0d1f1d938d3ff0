package memory_test

import (
	"context"
	"errors"
	"hash/fnv"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

var (
	ann = memory.Scope{Tenant: "acme", Workspace: "w", User: "ann"}
	lea = memory.Scope{Tenant: "acme", User: "lea"}
)

// concepts is an embedder that returns the same vector for words with a similar meaning.
type concepts struct {
	model string
	size  int
	calls *atomic.Int64
	fail  *atomic.Bool
}

var (
	errDown      = errors.New("the embedder is down")
	errStoreDown = errors.New("the store is down")
)

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }

func newConcepts() concepts {
	return concepts{"concepts-1", 32, new(atomic.Int64), new(atomic.Bool)}
}

func (c concepts) Model() string { return c.model }

func (c concepts) Dimension() int { return c.size }

var meanings = map[string]string{"beverage": "drink", "tea": "drink", "coffee": "drink", "automobile": "car", "physician": "doctor"}

func (c concepts) Embed(_ context.Context, texts []string) ([][]float32, error) {
	c.calls.Add(1)
	if c.fail.Load() {
		return nil, errDown
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, c.size)
		for word := range strings.FieldsSeq(strings.ToLower(text)) {
			word = strings.Trim(word, ".,;:!?'\"")
			if m, ok := meanings[word]; ok {
				word = m
			}
			h := fnv.New32a()
			_, _ = h.Write([]byte(word))
			v[h.Sum32()%uint32(c.size)]++
		}
		v[0] += 0.01
		vectors[i] = v
	}
	return vectors, nil
}

func newMemory(tb testing.TB, o memory.Options) *memory.Memory {
	tb.Helper()
	m, err := memory.New(inmemory.New(inmemory.Options{}), o)
	require.NoError(tb, err)
	return m
}

func store(tb testing.TB, m *memory.Memory, s memory.Scope, contents ...string) []string {
	tb.Helper()
	facts := make([]memory.Fact, len(contents))
	for i, content := range contents {
		facts[i] = memory.Fact{Content: content, Trust: memory.Stated}
	}
	stored, err := m.Store(tb.Context(), s, facts...)
	require.NoError(tb, err)
	ids := make([]string, len(stored))
	for i, one := range stored {
		ids[i] = one.ID
	}
	return ids
}

func recall(tb testing.TB, m *memory.Memory, r memory.Question, only ...memory.FactFilter) []string {
	tb.Helper()
	found, err := m.Recall(tb.Context(), r, only...)
	require.NoError(tb, err)
	contents := make([]string, len(found))
	for i, f := range found {
		s := f.Score
		assert.LessOrEqual(tb, math.Abs(s.Keyword+s.Vector+s.Neighbour+s.Recency+s.Importance-s.Total), 1e-9, "the score of %q does not add up: %+v", f.Item.Content, s)
		require.GreaterOrEqual(tb, s.Total, float64(0), "the score of %q does not add up: %+v", f.Item.Content, s)
		assert.LessOrEqual(tb, s.Total, 1+1e-9, "the score of %q does not add up: %+v", f.Item.Content, s)
		contents[i] = f.Item.Content
	}
	return contents
}

func list(tb testing.TB, m *memory.Memory, q memory.FactQuery) []string {
	tb.Helper()
	contents := []string{}
	for f, err := range m.List(tb.Context(), q) {
		require.NoError(tb, err)
		contents = append(contents, f.Content)
	}
	return contents
}
