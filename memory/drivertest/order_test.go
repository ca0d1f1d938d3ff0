package drivertest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-go/weft/memory/inmemory"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

// All backends find the same ten facts in the same order, by words only and with vectors. The facts are
// imported, so that they have the same IDs everywhere.
func TestStoresFindTheSameFactsInTheSameOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	var list []driver.SavedFact
	source := kinds["in memory"](t)
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: source.Facts()}), memory.Options{Embedder: letters{}})
	require.NoError(t, err)
	for range 4 {
		facts := make([]memory.Fact, 750)
		for i := range facts {
			facts[i] = memory.Fact{Content: sentence(random), Trust: memory.Stated}
		}
		_, err := m.Store(t.Context(), ann, facts...)
		require.NoError(t, err)
	}
	for one, err := range source.Facts().Dump(t.Context(), nil) {
		require.NoError(t, err)
		list = append(list, one)
	}
	questions := make([]string, 30)
	for i := range questions {
		questions[i] = fmt.Sprintf("where is the %s of the %s?", word(random), word(random))
	}
	for _, embedder := range []memory.Embedder{nil, letters{}} {
		want := tenEach(t, source.Facts(), embedder, questions)
		for name, open := range kinds {
			other := open(t)
			n, err := other.Facts().Restore(context.Background(), list)
			require.NoError(t, err)
			require.Equal(t, len(list), n)
			for i, got := range tenEach(t, other.Facts(), embedder, questions) {
				assert.Equal(t, want[i], got, "%s: %s", name, questions[i])
			}
		}
	}
}

// tenEach returns the first ten facts for each question.
func tenEach(t *testing.T, in driver.FactStore, e memory.Embedder, questions []string) [][]string {
	t.Helper()
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: in}), memory.Options{Embedder: e})
	require.NoError(t, err)
	all := make([][]string, len(questions))
	for i, question := range questions {
		found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: question, Limit: 10})
		require.NoError(t, err)
		for _, f := range found {
			all[i] = append(all[i], f.Item.Content)
		}
	}
	return all
}

// scales is an embedder of parallel vectors. Their cosines with a question are equal, except for the
// rounding of each store.
type scales struct{}

func (scales) Model() string  { return "scales" }
func (scales) Dimension() int { return 32 }

func (s scales) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		seed, scale := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(uint64(len(text)), 2)).Float32()
		for range s.Dimension() {
			vectors[i] = append(vectors[i], seed.Float32()*(scale+0.1))
		}
	}
	return vectors, nil
}

func TestRoundingOfCosinesChangesNoOrder(t *testing.T) {
	t.Parallel()
	o := memory.Options{Embedder: scales{}, Candidates: 12}
	source := kinds["in memory"](t)
	m, err := memory.New(source, o)
	require.NoError(t, err)
	for i := range 24 {
		_, err := m.Store(t.Context(), ann, memory.Fact{Content: "fact" + strings.Repeat("x", i), Trust: memory.Stated})
		require.NoError(t, err)
	}
	var list []driver.SavedFact
	for one, err := range source.Facts().Dump(t.Context(), nil) {
		require.NoError(t, err)
		list = append(list, one)
	}
	found := func(b driver.Backend) (contents []string) {
		m, err := memory.New(b, o)
		require.NoError(t, err)
		hits, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "what?", Limit: 12})
		require.NoError(t, err)
		for _, h := range hits {
			contents = append(contents, h.Item.Content)
		}
		return contents
	}
	want := found(source)
	require.Len(t, want, 12)
	for name, open := range kinds {
		other := open(t)
		_, err := other.Facts().Restore(t.Context(), list)
		require.NoError(t, err)
		assert.Equal(t, want, found(other), name)
	}
}
