package knowledge

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/internal/rank"
)

// Search implements [Store].
func (m *InMemory) Search(ctx context.Context, s Search) (Candidates, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	books := m.pick(&s.Query)
	c := Candidates{Frequency: make([]int64, len(s.Terms))}
	chosen := make(map[*book]bool, len(books))
	for _, b := range books {
		chosen[b] = true
		c.Chunks += int64(len(b.rows))
		c.Terms += b.terms
	}
	found := m.byWords(s.Terms, chosen, &c)
	near := byVector(&s, books)
	if err := ctx.Err(); err != nil {
		return Candidates{}, err
	}
	collectChunks(&c, best(found, s.Limit), best(near, s.Limit))
	return c, nil
}

// A hit is a row that was found.
type hit struct {
	row   *row
	score float64
}

// byWords returns the rows that have any of the terms, and counts them.
func (m *InMemory) byWords(terms []string, chosen map[*book]bool, c *Candidates) []hit {
	scores := map[*row]float64{}
	for i, term := range terms {
		list := make([]posting, 0, len(m.index[term]))
		for _, p := range m.index[term] {
			if p.row.book != nil && chosen[p.row.book] {
				list = append(list, p)
			}
		}
		c.Frequency[i] = int64(len(list))
		rarity := math.Log1p(float64(c.Chunks) / float64(len(list)+1))
		for _, p := range list {
			scores[p.row] += rarity * p.weight()
		}
	}
	hits := make([]hit, 0, len(scores))
	for r, score := range scores {
		hits = append(hits, hit{r, score})
	}
	return hits
}

// weight is how much the row is about the term: the more often, and the shorter the row,
// the more.
func (p posting) weight() float64 {
	const usual = 200 // terms
	n := float64(p.n)
	return n / (n + 0.3 + 0.9*float64(len(p.row.record.Terms))/usual)
}

func byVector(s *Search, books []*book) []hit {
	if s.Embedding == nil {
		return nil
	}
	var hits []hit
	for _, b := range books {
		for _, r := range b.rows {
			if v := r.record.Embedding; v != nil && r.record.Model == s.Model && len(v) == len(s.Embedding) {
				hits = append(hits, hit{r, rank.Cosine(v, s.Embedding)})
			}
		}
	}
	return hits
}

// best returns the n hits with the highest scores.
func best(hits []hit, n int) []hit {
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.row.record.ID, b.row.record.ID))
	})
	return hits[:max(0, min(n, len(hits)))]
}

// collect adds what was found, each once, with its sources.
func collectChunks(c *Candidates, legs ...[]hit) {
	rows, books := map[*row]bool{}, map[*book]bool{}
	for _, hits := range legs {
		for _, h := range hits {
			if rows[h.row] {
				continue
			}
			rows[h.row] = true
			c.Records = append(c.Records, cloneChunk(h.row.record))
			if b := h.row.book; !books[b] {
				books[b] = true
				c.Sources = append(c.Sources, b.copy())
			}
		}
	}
}
