package memory

import (
	"context"
	"fmt"
	"math"

	"github.com/weft-go/weft/memory/internal/input"
)

// An Embedder makes vectors of texts. langchainllm.Embedder is one. It is safe for use by
// any number of goroutines.
type Embedder interface {
	// Embed returns a vector for each text, in order. It does not keep the slice.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names what makes the vectors. Vectors of different names, or of different
	// lengths, are never compared.
	Model() string
	// Dimension is how long each vector is. It is known before there is one.
	Dimension() int
}

// MaxDimension is how long a vector may be.
const MaxDimension = 16_000

// CheckEmbedder returns [ErrInvalid] for an embedder whose model has no name, or whose
// vectors no store can keep. It makes no vector.
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

// embed returns vectors that are right, or an error.
func embed(ctx context.Context, e Embedder, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embed: %d vectors for %d texts: %w", len(vectors), len(texts), ErrInvalid)
	}
	for i, v := range vectors {
		if err := CheckVector(v, e.Dimension()); err != nil {
			return nil, fmt.Errorf("embed: vector %d of model %q: %w", i, e.Model(), err)
		}
	}
	return vectors, nil
}

// CheckVector returns [ErrDimension] for a vector of another length than it has to
// have, and [ErrInvalid] for one with something in it that is no finite number.
func CheckVector(v []float32, dimension int) error {
	if len(v) != dimension {
		return fmt.Errorf("%d numbers, want %d: %w", len(v), dimension, ErrDimension)
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("number %d is %v: %w", i, x, ErrInvalid)
		}
	}
	return nil
}
