package conversation

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-go/weft/memory/internal/rank"
)

// A hit is a row with words that are looked for.
type hit struct {
	row   *Row
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
			if !selectsMessage(&s, row) {
				continue
			}
			if countMessage(&c, row, s.Terms) {
				hits = append(hits, hit{row: row})
			}
		}
	}
	corpus := rank.Corpus{Docs: c.Messages, Terms: c.Terms, Frequency: map[string]int64{}}
	for i, term := range s.Terms {
		corpus.Frequency[term] = c.Frequency[i]
	}
	words := rank.NewWords(s.Terms, corpus)
	for i := range hits {
		hits[i].score = words.Score(hits[i].row.Terms)
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.row.At.Compare(a.row.At), cmp.Compare(b.row.Position, a.row.Position))
	})
	for _, h := range hits[:min(len(hits), max(0, s.Limit))] {
		c.Rows = append(c.Rows, copyMessage(*h.row))
	}
	return c, nil
}

func selectsMessage(s *Search, r *Row) bool {
	return slices.Contains(s.Roles, r.Role) && !r.At.Before(s.Since) && (s.Before.IsZero() || r.At.Before(s.Before))
}

// count takes a row into the statistics, and reports whether it has any of the words.
func countMessage(c *Candidates, r *Row, terms []string) (found bool) {
	c.Messages++
	c.Terms += int64(len(r.Terms))
	for i, term := range terms {
		if slices.Contains(r.Terms, term) {
			c.Frequency[i]++
			found = true
		}
	}
	return found
}
