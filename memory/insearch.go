package memory

import (
	"context"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/internal/rank"
)

// Search implements [Store]. It looks at every fact that the query selects.
func (m *InMemory) Search(ctx context.Context, s Search) (Candidates, error) {
	rows := m.selected(&s.Query)
	c := Candidates{Facts: int64(len(rows)), Frequency: make([]int64, len(s.Terms))}
	corpus := rank.Corpus{Docs: c.Facts, Frequency: map[string]int64{}}
	for _, row := range rows {
		c.Terms += int64(len(row.Terms))
		for i, term := range s.Terms {
			if slices.Contains(row.Terms, term) {
				c.Frequency[i]++
				corpus.Frequency[term]++
			}
		}
	}
	corpus.Terms = c.Terms
	words := rank.NewWords(s.Terms, corpus)
	var byWords, byVector []hit
	for _, row := range rows {
		if score := words.Score(row.Terms); score > 0 {
			byWords = append(byWords, hit{row, score})
		}
		if s.Embedding != nil && row.Embedding != nil && row.Model == s.Model && len(row.Embedding) == len(s.Embedding) {
			byVector = append(byVector, hit{row, rank.Cosine(row.Embedding, s.Embedding)})
		}
	}
	if err := ctx.Err(); err != nil {
		return Candidates{}, err
	}
	seen := map[*Record]bool{} // an id is of its scope alone
	for _, hits := range [][]hit{best(byWords, s.Limit), best(byVector, s.Limit)} {
		for _, h := range hits {
			if !seen[h.row] {
				seen[h.row] = true
				c.Records = append(c.Records, copyFact(h.row))
			}
		}
	}
	return c, nil
}

type hit struct {
	row   *Record
	score float64
}

// best returns the n hits with the highest scores.
func best(hits []hit, n int) []hit {
	slices.SortFunc(hits, func(a, b hit) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return strings.Compare(a.row.ID, b.row.ID)
	})
	return hits[:max(0, min(n, len(hits)))]
}
