package search

import (
	"context"
	"fmt"
	"math"

	"github.com/weft-go/weft/memory/driver"
)

// An Embedder converts texts to vectors, as memory.Embedder does.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Model() string
	Dimension() int
}

// Vectors returns the vectors of texts. It checks the number of vectors, their lengths and their
// elements.
func Vectors(ctx context.Context, e Embedder, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embed: %d vectors for %d texts: %w", len(vectors), len(texts), driver.ErrInvalid)
	}
	for i, v := range vectors {
		if err := CheckVector(v, e.Dimension()); err != nil {
			return nil, fmt.Errorf("embed: vector %d of model %q: %w", i, e.Model(), err)
		}
	}
	return vectors, nil
}

// CheckVector returns [driver.ErrDimension] for a vector of another length, and [driver.ErrInvalid] for
// one with NaN or an infinity.
func CheckVector(v []float32, dimension int) error {
	if len(v) != dimension {
		return fmt.Errorf("%d numbers, want %d: %w", len(v), dimension, driver.ErrDimension)
	}
	for i, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("number %d is %v: %w", i, x, driver.ErrInvalid)
		}
	}
	return nil
}
