package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/rank"
)

// maxReranked is the maximum number of candidates for a reranker. Diversity reorders twice as many.
const maxReranked = 100

// A Reranker scores texts, as memory.Reranker does.
type Reranker interface {
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// Candidates are the documents that a store found, with their scores.
type Candidates struct {
	Docs   []rank.Doc
	Scores []rank.Score
	// Text returns the text of a candidate for the reranker, and Tokens its number of tokens.
	Text   func(i int) string
	Tokens func(i int) int
	// Reranker may be nil.
	Reranker Reranker
}

// Unscored returns n candidates that are already ordered.
func Unscored(n int) *Candidates {
	return &Candidates{Docs: make([]rank.Doc, n), Scores: make([]rank.Score, n)}
}

// Choose returns the positions of the hits, the best first, and the number of tokens that remain of MaxTokens. It
// sets Rank and Reranked in the scores of the hits.
func (q *Question) Choose(ctx context.Context, c *Candidates) (hits []int, left int, err error) {
	order := rank.Order(c.Scores)
	if q.MinSimilarity != 0 {
		order = slices.DeleteFunc(order, func(i int) bool {
			s := &c.Scores[i]
			return !s.Compared || s.Similarity < q.MinSimilarity
		})
	}
	if err := c.rerank(ctx, rank.Clip(q.Text), order); err != nil {
		return nil, 0, err
	}
	if q.Diversity > 0 {
		c.diversify(order, q.Diversity)
	}
	hits, left = q.fit(order, c.Tokens)
	for place, i := range hits {
		c.Scores[i].Rank = place + 1
	}
	return hits, left, nil
}

// rerank orders the best candidates by the scores of the reranker.
func (c *Candidates) rerank(ctx context.Context, question string, order []int) error {
	if c.Reranker == nil || len(order) == 0 {
		return nil
	}
	best := order[:min(len(order), maxReranked)]
	texts := make([]string, len(best))
	for place, i := range best {
		texts[place] = c.Text(i)
	}
	scores, err := c.Reranker.Rerank(ctx, question, texts)
	if err != nil {
		return fmt.Errorf("rerank %d texts: %w", len(texts), err)
	}
	if len(scores) != len(best) {
		return fmt.Errorf("rerank: %d scores for %d texts: %w", len(scores), len(texts), driver.ErrInvalid)
	}
	if place := slices.IndexFunc(scores, rank.Wild); place >= 0 {
		return fmt.Errorf("rerank: the score of text %d of %d is %v: %w", place+1, len(texts), scores[place], driver.ErrInvalid)
	}
	for place, i := range best {
		c.Scores[i].Reranked = &scores[place]
	}
	slices.SortStableFunc(best, func(i, j int) int { return cmp.Compare(*c.Scores[j].Reranked, *c.Scores[i].Reranked) })
	return nil
}

// diversify orders the best candidates by maximal marginal relevance.
func (c *Candidates) diversify(order []int, diversity float64) {
	best := order[:min(len(order), 2*maxReranked)]
	relevance := make([]float64, len(best))
	for place, i := range best {
		first, score := &c.Scores[best[0]], &c.Scores[i]
		switch {
		case first.Reranked != nil:
			relevance[place] = 1 / float64(place+1) // use the rank, since scores of a reranker have no fixed range
		case first.Total > 0:
			relevance[place] = score.Total / first.Total
		}
	}
	alike := func(x, y int) float64 { return rank.Similarity(&c.Docs[best[x]], &c.Docs[best[y]]) }
	before := slices.Clone(best)
	for place, from := range rank.MMR(relevance, alike, 1-diversity, len(best)) {
		best[place] = before[from]
	}
}

// fit returns the candidates that the limits allow.
func (q *Question) fit(order []int, tokens func(i int) int) (hits []int, left int) {
	left = math.MaxInt
	if q.MaxTokens > 0 {
		left = q.MaxTokens
	}
	hits = make([]int, 0, min(q.Limit, len(order)))
	for _, i := range order {
		if len(hits) == q.Limit {
			break
		}
		if q.MaxTokens > 0 {
			n := tokens(i)
			if n > left {
				continue
			}
			left -= n
		}
		hits = append(hits, i)
	}
	return hits, left
}
