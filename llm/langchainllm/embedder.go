package langchainllm

import (
	"context"
	"errors"
	"fmt"

	"github.com/tmc/langchaingo/embeddings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// EmbedderOptions are the settings of an [Embedder]. The zero value is valid.
type EmbedderOptions struct {
	// Provider is the provider's name in errors. Empty means "langchaingo".
	Provider string
	// Model is the name of the model. A store keeps it with the vectors, since
	// vectors of different models cannot be compared.
	Model string
	// Dimension is the length of a vector. Zero means the length of the first vector. All
	// vectors must have the same length.
	Dimension int
	// BatchSize is the largest number of texts in a request. Zero means 128.
	BatchSize int
}

// An Embedder converts texts to vectors. It is safe for concurrent use if its client
// is.
type Embedder struct {
	client embeddings.EmbedderClient
	o      EmbedderOptions
}

// NewEmbedder returns an embedder that uses a model of langchaingo with the method
// CreateEmbedding, such as those of llms/openai, llms/googleai and llms/ollama.
func NewEmbedder(client embeddings.EmbedderClient, o EmbedderOptions) *Embedder {
	if o.BatchSize <= 0 {
		o.BatchSize = 128
	}
	if o.Provider == "" {
		o.Provider = "langchaingo"
	}
	return &Embedder{client: client, o: o}
}

// Model returns the name of the model in the options.
func (e *Embedder) Model() string { return e.o.Model }

// Dimension returns the length of a vector in the options, or zero.
func (e *Embedder) Dimension() int { return e.o.Dimension }

// Embed returns a vector for each of the texts, in their order. It does not change texts.
// It sends the batches one after the other. Without texts it sends no request. An error
// of the provider is an [llm.Error]. If there are too few vectors, or one has another
// length, the error wraps [llm.ErrMalformed].
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, 0, len(texts))
	dimension := e.o.Dimension
	for from := 0; from < len(texts); from += e.o.BatchSize {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		batch := texts[from:min(from+e.o.BatchSize, len(texts))]
		vectors, err := e.batch(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, vector := range vectors {
			if dimension == 0 {
				dimension = len(vector)
			}
			if len(vector) != dimension || dimension == 0 {
				return nil, fmt.Errorf("langchainllm: %s: text %d: a vector of length %d, want %d: %w",
					e.o.Provider, from+i, len(vector), dimension, llm.ErrMalformed)
			}
		}
		all = append(all, vectors...)
	}
	return all, nil
}

func (e *Embedder) batch(ctx context.Context, texts []string) ([][]float32, error) {
	call := &wire.Call{}
	vectors, err := e.create(wire.With(ctx, call), texts)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		m := Model{name: e.o.Provider}
		return nil, m.failed(&attempt{facts: call.Facts(), err: err})
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("langchainllm: %s: %d vectors of %d texts: %w", e.o.Provider, len(vectors), len(texts), llm.ErrMalformed)
	}
	return vectors, nil
}

// create calls the library with a copy of texts, and returns a panic as an error.
func (e *Embedder) create(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	if e.client == nil {
		return nil, errors.New("no client")
	}
	returned := false
	defer func() {
		if !returned {
			vectors, err = nil, &panicError{recover()}
		}
	}()
	vectors, err = e.client.CreateEmbedding(ctx, append([]string(nil), texts...))
	returned = true
	return vectors, err
}
