package conversation

import (
	"cmp"
	"context"
	"slices"
)

// A hit is a row with words that are looked for, by their numbers.
type hit struct {
	row   *Row
	words []int
	score float64
}

// Search implements [Store]. It looks at every message that the search selects.
func (m *InMemory) Search(ctx context.Context, s Search) (Candidates, error) {
	c := Candidates{Frequency: make([]int64, len(s.Terms))}
	var hits []hit
	q := s.Query
	q.After = nil
	for _, t := range m.selected(&q) {
		if err := ctx.Err(); err != nil {
			return Candidates{}, err
		}
		for i := range t.rows {
			row := &t.rows[i]
			if !s.selects(row) {
				continue
			}
			if h := c.count(row, s.Terms); len(h.words) > 0 {
				hits = append(hits, h)
			}
		}
	}
	for i := range hits {
		for _, word := range hits[i].words {
			hits[i].score += 1 + 1/float64(c.Frequency[word])
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.row.At.Compare(a.row.At), cmp.Compare(b.row.Position, a.row.Position))
	})
	for _, h := range hits[:min(len(hits), max(0, s.Limit))] {
		c.Rows = append(c.Rows, h.row.copy())
	}
	return c, nil
}

func (s *Search) selects(r *Row) bool {
	return slices.Contains(s.Roles, r.Role) && !r.At.Before(s.Since) && (s.Before.IsZero() || r.At.Before(s.Before))
}

// count takes a row into the statistics, and returns which of the words it has.
func (c *Candidates) count(r *Row, terms []string) hit {
	c.Messages++
	c.Terms += int64(len(r.Terms))
	h := hit{row: r}
	for i, term := range terms {
		if slices.Contains(r.Terms, term) {
			c.Frequency[i]++
			h.words = append(h.words, i)
		}
	}
	return h
}
