package langchainllm_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/embeddings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// The methods of the interface that package memory uses.
var _ interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Model() string
	Dimension() int
} = (*langchainllm.Embedder)(nil)

// lengths is a client whose vectors are the lengths of the texts.
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
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if !reflect.DeepEqual(batches, []int{2, 2, 1}) || strings.Join(texts, "|") != before {
		t.Errorf("batches %v of %q", batches, texts)
	}
	if e.Model() != "m" || e.Dimension() != 2 {
		t.Errorf("got %s, %d", e.Model(), e.Dimension())
	}
	got, err = e.Embed(t.Context(), nil)
	if err != nil || got == nil || len(got) != 0 || len(batches) != 3 {
		t.Errorf("of nothing: got %v, %v, %d requests", got, err, len(batches)-3)
	}
}

// TestLibraryChangesTexts shows that langchaingo's own embedder changes its argument.
func TestLibraryChangesTexts(t *testing.T) {
	t.Parallel()
	var batches []int
	e, err := embeddings.NewEmbedder(lengths(&batches))
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"a\nb"}
	if _, err := e.EmbedDocuments(t.Context(), texts); err != nil || texts[0] == "a\nb" {
		t.Errorf("langchaingo has no such fault any more: %q, %v", texts, err)
	}
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
			if !errors.Is(err, test.want) || !strings.Contains(fmt.Sprint(err), test.text) || got != nil {
				t.Errorf("got %v and %v", got, err)
			}
		})
	}
	panics := embeddings.EmbedderClientFunc(func(context.Context, []string) ([][]float32, error) { panic("index") })
	for _, client := range []embeddings.EmbedderClient{panics, nil} {
		if _, err := langchainllm.NewEmbedder(client, langchainllm.EmbedderOptions{}).Embed(t.Context(), []string{"a"}); err == nil {
			t.Error("got no error")
		}
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
	if !errors.Is(err, context.Canceled) || asked != 1 {
		t.Errorf("got %v after %d requests", err, asked)
	}
}
