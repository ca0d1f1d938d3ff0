package memory

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/memory/internal/input"
)

// An Embedder converts texts to vectors. langchainllm.Embedder implements it. It is safe for concurrent
// use.
type Embedder interface {
	// Embed returns a vector for each text, in order. It does not keep texts.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model returns the name of the model. Vectors of models with different names, or with different
	// lengths, are never compared.
	Model() string
	// Dimension returns the length of each vector. It is known before the first call of Embed.
	Dimension() int
}

// MaxDimension is the maximum length of a vector.
const MaxDimension = 16_000

// CheckEmbedder returns [ErrInvalid] for an embedder whose model has no name, or whose vectors have a
// length that no store accepts. It does not call Embed.
func CheckEmbedder(e Embedder) error {
	model, dimension := e.Model(), e.Dimension()
	if err := input.Name("model of the embedder", model); err != nil {
		return err
	}
	switch {
	case model == "":
		return fmt.Errorf("an embedder whose model has no name: %w", ErrInvalid)
	case dimension == 0:
		return fmt.Errorf("embedder %q does not say how long its vectors are, which is the Dimension of its options, or EMBEDDING_DIM: %w", model, ErrInvalid)
	case dimension < 0 || dimension > MaxDimension:
		return fmt.Errorf("embedder %q makes vectors of length %d, and 1 to %d are allowed: %w", model, dimension, MaxDimension, ErrInvalid)
	}
	return nil
}
