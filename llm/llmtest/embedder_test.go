package llmtest_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/inmemory"
)

// A search by vectors that needs no embedding model and no key.
func ExampleEmbedder() {
	ctx, ann := context.Background(), memory.Scope{User: "ann"}
	embedder := llmtest.Embedder{Meanings: map[string]string{"tea": "drink", "thirsty": "drink"}}
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{Embedder: embedder})
	if err != nil {
		panic(err)
	}
	if _, err := m.Remember(ctx, ann, "The tea is in the blue tin", "The piano was tuned"); err != nil {
		panic(err)
	}
	hits, err := m.Recall(ctx, memory.Question{Reach: ann.Only(), Text: "thirsty", MinSimilarity: 0.1})
	if err != nil {
		panic(err)
	}
	for _, hit := range hits {
		fmt.Println(hit.Item.Content)
	}
	// Output: The tea is in the blue tin
}

func TestVectorsOfTheEmbedder(t *testing.T) {
	t.Parallel()
	e := llmtest.Embedder{Meanings: map[string]string{"tea": "drink", "thirsty": "drink"}}
	require.NoError(t, memory.CheckEmbedder(e))
	texts := []string{"Tea, please!", "please: TEA", "I am thirsty", "the piano", "", "日本 ;"}
	vectors, err := e.Embed(t.Context(), texts)
	require.NoError(t, err)
	again, err := e.Embed(t.Context(), texts)
	require.NoError(t, err)
	assert.Equal(t, vectors, again, "a text has one vector")
	for i, v := range vectors {
		assert.Len(t, v, e.Dimension())
		assert.Positive(t, cosine(v, v), "the vector of %q is zero", texts[i])
	}
	assert.InDelta(t, 1, cosine(vectors[0], vectors[1]), 1e-6, "case, order and marks do not count")
	assert.Greater(t, cosine(vectors[0], vectors[2]), 0.3, "words with one meaning are the same")
	assert.Less(t, cosine(vectors[0], vectors[3]), 0.01, "texts without common words are not similar")

	other := llmtest.Embedder{Name: "other", Size: 8}
	assert.Equal(t, "other", other.Model())
	vectors, err = other.Embed(t.Context(), texts[:1])
	require.NoError(t, err)
	assert.Len(t, vectors[0], 8)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = e.Embed(ctx, texts)
	require.ErrorIs(t, err, context.Canceled)
}

func cosine(a, b []float32) float64 {
	var dot, left, right float64
	for i := range a {
		dot, left, right = dot+float64(a[i])*float64(b[i]), left+float64(a[i])*float64(a[i]), right+float64(b[i])*float64(b[i])
	}
	return dot / math.Sqrt(left*right)
}
