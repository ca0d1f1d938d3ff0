package memory_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/memory/driver"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

// angles is an embedder of texts with a known cosine to the question. The map has the cosine of each
// text.
type angles map[string]float64

func (a angles) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		cos, known := a[text]
		if !known {
			cos = 1
		}
		vectors[i] = []float32{float32(cos), float32(math.Sqrt(1 - cos*cos))}
	}
	return vectors, nil
}

func (angles) Model() string { return "angles" }

func (angles) Dimension() int { return 2 }

// The similarity of a fact is the cosine, and does not depend on other candidates.
func TestSimilarityIsTheCosine(t *testing.T) {
	t.Parallel()
	for _, best := range []float64{0.99, 0.85, 0.72} {
		m := newMemory(t, memory.Options{Embedder: angles{"one": best, "two": 0.7, "three": 0.1, "four": -0.5}})
		store(t, m, ann, "one", "two", "three", "four")
		found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "question"})
		require.NoError(t, err)
		require.Len(t, found, 4)
		for i, want := range []float64{best, 0.7, 0.1, -0.5} {
			assert.InDelta(t, want, found[i].Score.Similarity, 1e-6)
			assert.Equal(t, i+1, found[i].Score.Rank)
			assert.Zero(t, found[i].Score.BM25)
		}
		for least, want := range map[float64]int{0.9: 0, 0.71: 0, 0.7: 1, 0.05: 2, -0.6: 3} {
			if best >= least {
				want++
			}
			found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "question", MinSimilarity: least - 1e-6})
			require.NoError(t, err)
			assert.Len(t, found, want, "at least %v", least)
		}
	}
}

// A fact without a vector cannot be compared, so MinSimilarity leaves it out.
func TestMinSimilarityLeavesOutFactsWithoutVectors(t *testing.T) {
	t.Parallel()
	stored := inmemory.NewFacts(inmemory.Options{})
	plain, err := memory.New(inmemory.Fill(driver.Stores{FactStore: stored}), memory.Options{})
	require.NoError(t, err)
	store(t, plain, ann, "question of words")
	m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: stored}), memory.Options{Embedder: angles{}})
	require.NoError(t, err)
	for least, want := range map[float64]int{0: 1, -1: 0, 0.5: 0} {
		found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "question", MinSimilarity: least})
		require.NoError(t, err)
		assert.Len(t, found, want, "at least %v", least)
	}
	found, err := m.Recall(t.Context(), memory.Question{Reach: ann.Only(), Text: "question"})
	require.NoError(t, err)
	assert.Positive(t, found[0].Score.BM25)
}

// A larger limit appends hits and does not change the order of the earlier ones. The facts with the highest total score
// rank low by words and low by vectors, so they would be lost if the limit decided the number of candidates.
func TestLimitDoesNotChangeTheOrder(t *testing.T) {
	t.Parallel()
	const n = 150
	near := angles{}
	var texts []string
	for i := range n {
		text := strings.Repeat("tea ", n-i) + strings.Repeat("milk ", i)
		near[text] = float64(i) / (float64(i) + 1.2)
		texts = append(texts, text)
	}
	m := newMemory(t, memory.Options{Embedder: near})
	store(t, m, ann, texts...)
	ask := func(limit int) []string {
		return recall(t, m, memory.Question{Reach: ann.Only(), Text: "tea", Limit: limit})
	}
	all := ask(n)
	require.Len(t, all, n)
	best := slices.Index(texts, all[0])
	assert.True(t, best > 50 && best < 100, "the best fact has the place %d by words", best)
	for _, limit := range []int{1, 10, 25, 100} {
		assert.Equal(t, all[:limit], ask(limit), "limit %d", limit)
	}
}

// A fact with a rare word is found among many newer facts with several common words.
func TestRareWordIsFound(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	store(t, m, ann, "The pet is an axolotl")
	var texts []string
	for i := range 950 {
		texts = append(texts, fmt.Sprintf("Ann bought item number %d and does have it", i))
	}
	store(t, m, ann, texts...)
	got := recall(t, m, memory.Question{Reach: ann.Only(), Text: "does Ann have an axolotl?", Limit: 3})
	require.NotEmpty(t, got)
	assert.Equal(t, "The pet is an axolotl", got[0])
}

// A question of symbols or of one letter finds only facts that have them.
func TestSymbolsAreFound(t *testing.T) {
	t.Parallel()
	m := newMemory(t, memory.Options{})
	store(t, m, ann, "Ann ❤ tea", "rated ★★★", "lives in 🇬🇷", "wrote the book in C", "vitamin K helps", "the newest fact of all")
	for text, want := range map[string]string{
		"❤": "Ann ❤ tea", "★": "rated ★★★", "🇬🇷": "lives in 🇬🇷", "C": "wrote the book in C", "k": "vitamin K helps",
	} {
		assert.Equal(t, []string{want}, recall(t, m, memory.Question{Reach: ann.Only(), Text: text}), text)
	}
	for _, text := range []string{"☂", "z"} {
		assert.Empty(t, recall(t, m, memory.Question{Reach: ann.Only(), Text: text}), text)
	}
	for _, text := range []string{" \n", "???", "who are you", "…"} { // no words, so the newest facts are found
		assert.Len(t, recall(t, m, memory.Question{Reach: ann.Only(), Text: text}), 6, text)
	}
}
