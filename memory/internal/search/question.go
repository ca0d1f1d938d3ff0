package search

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
)

// The limits of a search.
const (
	DefaultLimit = 20
	MaxLimit     = 1000
)

// A Question has the fields of memory.Question, so one can be converted to the other.
type Question struct {
	Reach         driver.Reach
	Text          string
	Embedding     []float32
	Limit         int
	MaxTokens     int
	MinSimilarity float64
	Diversity     float64
}

// Check returns [driver.ErrInvalid] for an invalid question, and sets the default limit. Without an embedder,
// options about vectors are invalid.
func (q *Question) Check(e Embedder) error {
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	switch {
	case q.Limit < 0 || q.Limit > MaxLimit:
		return fmt.Errorf("limit %d is not between 0 and %d: %w", q.Limit, MaxLimit, driver.ErrInvalid)
	case q.MaxTokens < 0:
		return fmt.Errorf("max tokens %d are negative: %w", q.MaxTokens, driver.ErrInvalid)
	case !(q.Diversity >= 0 && q.Diversity <= 1): // also NaN
		return fmt.Errorf("diversity %v is not between 0 and 1: %w", q.Diversity, driver.ErrInvalid)
	case !(q.MinSimilarity >= -1 && q.MinSimilarity <= 1):
		return fmt.Errorf("min similarity %v is not between -1 and 1: %w", q.MinSimilarity, driver.ErrInvalid)
	case e == nil && q.MinSimilarity != 0:
		return fmt.Errorf("min similarity %v needs vectors, and there is no embedder: %w", q.MinSimilarity, driver.ErrInvalid)
	case e == nil && q.Embedding != nil:
		return fmt.Errorf("the question has a vector, and there is no embedder that names its model: %w", driver.ErrInvalid)
	case q.Embedding != nil:
		return CheckVector(q.Embedding, e.Dimension())
	}
	return nil
}

// margin is the number of additional candidates that a store returns. Stores compute cosines with different
// rounding, so they may disagree about the last candidates, but not about the candidates that decide the order.
const margin = 16

// Candidates returns the number of candidates by words, and of candidates by the vector, that a store must return so
// that the best n decide the order.
func (q *Question) Candidates(n int) int { return max(n, q.Limit) + margin }

// A Wanted has the terms and the vector that a store looks for.
type Wanted struct {
	Text      string // the part of the question's text that is searched
	Terms     []string
	Model     string
	Embedding []float32
	// Common means that Terms has stop words, because the question has no other words.
	Common bool
}

// Nothing reports whether there is nothing to look for.
func (w *Wanted) Nothing() bool { return len(w.Terms) == 0 && w.Embedding == nil }

// Wanted returns the terms and the vector of a question.
func (q *Question) Wanted(ctx context.Context, e Embedder) (Wanted, error) {
	w := Wanted{Text: rank.Clip(q.Text)}
	w.Terms = rank.Query(w.Text)
	switch {
	case e == nil:
	case q.Embedding != nil:
		w.Model, w.Embedding = e.Model(), q.Embedding
	case !input.Blank(w.Text):
		vectors, err := Vectors(ctx, e, []string{w.Text})
		if err != nil {
			return Wanted{}, err
		}
		w.Model, w.Embedding = e.Model(), vectors[0]
	}
	if w.Nothing() {
		w.Terms, w.Common = rank.Stopped(w.Text), true
	}
	return w, nil
}

// One returns the only filter of a list, or the zero filter. It returns an error for several filters.
func One[F any](only []F) (filter F, err error) {
	switch len(only) {
	case 0:
		return filter, nil
	case 1:
		return only[0], nil
	}
	return filter, fmt.Errorf("%d filters, and a search takes one: %w", len(only), driver.ErrInvalid)
}
