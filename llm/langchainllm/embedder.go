package langchainllm

import (
	"context"
	"errors"
	"fmt"

	"github.com/tmc/langchaingo/embeddings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// EmbedderOptions say how texts are embedded. The zero value is ready.
type EmbedderOptions struct {
	// Provider is what errors call the provider. Empty means "langchaingo".
	Provider string
	// Model names the model, for those who store its vectors: vectors of two
	// models have nothing to do with each other.
	Model string
	// Dimension is how long a vector is. Zero means that the first one says,
	// and all others have to be as long.
	Dimension int
	// BatchSize is the most texts of one request. Zero means 128.
	BatchSize int
}

// An Embedder makes vectors of texts. It may be used by any number of goroutines
// if its client may.
type Embedder struct {
	client embeddings.EmbedderClient
	o      EmbedderOptions
}

// NewEmbedder returns an embedder by way of a model of langchaingo that has
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

// Model returns the name of the model, as the options have it.
func (e *Embedder) Model() string { return e.o.Model }

// Dimension returns how long a vector is, or zero if the options leave it open.
func (e *Embedder) Dimension() int { return e.o.Dimension }

// Embed returns a vector for each of the texts, in their order. It does not
// change texts, neither the slice nor a line break in one, and asks in batches,
// one after the other. Of no texts it makes no vectors and no request. An error of
// the provider is an [llm.Error]; vectors that are too few, or of another
// length, are an error that wraps [llm.ErrMalformed].
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

// create calls the library with a slice of its own, and makes an error of its
// panic.
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
