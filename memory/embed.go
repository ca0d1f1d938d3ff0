package memory

import (
	"context"
	"fmt"
	"math"
)

// An Embedder makes vectors of texts. langchainllm.Embedder is one. It is safe for use by
// any number of goroutines.
type Embedder interface {
	// Embed returns a vector for each text, in order. It does not keep the slice.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names what makes the vectors. Vectors of different names are never
	// compared.
	Model() string
	// Dimension is how long each vector is.
	Dimension() int
}

// MaxDimension is how long a vector may be.
const MaxDimension = 16_000

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
