package langchainllm_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/embeddings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/llm/modeltest"
)

// An Embedder has the methods of the interface that package memory uses.
var _ interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Model() string
	Dimension() int
} = (*langchainllm.Embedder)(nil)

// lengths returns a client whose vector for a text begins with the length of the text. It appends the
// size of each batch to batches, and overwrites the texts.
func lengths(batches *[]int) embeddings.EmbedderClientFunc {
	return func(_ context.Context, texts []string) ([][]float32, error) {
		*batches = append(*batches, len(texts))
		var out [][]float32
		for i, text := range texts {
			out = append(out, []float32{float32(len(text)), 1})
			texts[i] = "changed"
		}
		return out, nil
	}
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	texts := []string{"a\n", "bb", "ccc", "dddd", "eeeee"}
	before := strings.Join(texts, "|")
	var batches []int
	e := langchainllm.NewEmbedder(lengths(&batches), langchainllm.EmbedderOptions{Model: "m", Dimension: 2, BatchSize: 2})
	got, err := e.Embed(t.Context(), texts)
	want := [][]float32{{2, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}
	require.NoError(t, err)
	assert.Equal(t, want, got)
	assert.Equal(t, []int{2, 2, 1}, batches)
	assert.Equal(t, before, strings.Join(texts, "|"), "the texts were changed")
	assert.Equal(t, "m", e.Model())
	assert.Equal(t, 2, e.Dimension())
	got, err = e.Embed(t.Context(), nil)
	require.NoError(t, err)
	assert.Equal(t, [][]float32{}, got)
	assert.Len(t, batches, 3, "no texts need no request")
}

func TestEmbedderKeepsTheRules(t *testing.T) {
	t.Parallel()
	modeltest.RunEmbedder(t, func(*testing.T) modeltest.Embedder {
		e := llmtest.Embedder{}
		return langchainllm.NewEmbedder(embeddings.EmbedderClientFunc(e.Embed), langchainllm.EmbedderOptions{Model: "m", Dimension: e.Dimension(), BatchSize: 100})
	})
}

// TestLibraryChangesTexts proves that langchaingo's own embedder still changes its argument.
func TestLibraryChangesTexts(t *testing.T) {
	t.Parallel()
	var batches []int
	e, err := embeddings.NewEmbedder(lengths(&batches))
	require.NoError(t, err)
	texts := []string{"a\nb"}
	_, err = e.EmbedDocuments(t.Context(), texts)
	require.NoError(t, err)
	assert.NotEqual(t, "a\nb", texts[0], "langchaingo does not have the fault any more")
}

func TestEmbedFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		vectors [][]float32
		err     error
		options langchainllm.EmbedderOptions
		want    error
		text    string
	}{
		{"too few", [][]float32{{1}}, nil, langchainllm.EmbedderOptions{}, llm.ErrMalformed, "1 vectors of 2 texts"},
		{"of another length", [][]float32{{1, 2}, {1, 2}}, nil, langchainllm.EmbedderOptions{Dimension: 3}, llm.ErrMalformed, "text 0: a vector of length 2, want 3"},
		{"of two lengths", [][]float32{{1, 2}, {1}}, nil, langchainllm.EmbedderOptions{}, llm.ErrMalformed, "text 1: a vector of length 1, want 2"},
		{"of no length", [][]float32{{}, {}}, nil, langchainllm.EmbedderOptions{}, llm.ErrMalformed, "length 0"},
		{"busy", nil, errors.New("status code: 429: slow down"), langchainllm.EmbedderOptions{Provider: "acme"}, llm.ErrRateLimit, "acme"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			client := embeddings.EmbedderClientFunc(func(context.Context, []string) ([][]float32, error) { return test.vectors, test.err })
			got, err := langchainllm.NewEmbedder(client, test.options).Embed(t.Context(), []string{"a", "b"})
			require.ErrorIs(t, err, test.want)
			require.ErrorContains(t, err, test.text)
			assert.Nil(t, got)
		})
	}
	panics := embeddings.EmbedderClientFunc(func(context.Context, []string) ([][]float32, error) { panic("index") })
	for _, client := range []embeddings.EmbedderClient{panics, nil} {
		_, err := langchainllm.NewEmbedder(client, langchainllm.EmbedderOptions{}).Embed(t.Context(), []string{"a"})
		require.Error(t, err)
	}
}

func TestEmbedCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	client := embeddings.EmbedderClientFunc(func(context.Context, []string) ([][]float32, error) {
		asked++
		cancel()
		return [][]float32{{1}}, nil
	})
	_, err := langchainllm.NewEmbedder(client, langchainllm.EmbedderOptions{BatchSize: 1}).Embed(ctx, []string{"a", "b"})
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, asked, "requests")
}
