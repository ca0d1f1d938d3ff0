package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/search"
)

// A Near is a fact with content similar to a text.
type Near struct {
	Fact
	// Same reports whether the fact has the same text, see [SameText].
	Same bool
	// Cosine is the cosine of both vectors, or 0 without an embedder.
	Cosine float64
	// Overlap is the number of common words divided by the number of all words of both (Jaccard index).
	Overlap float64
}

// Similar returns, for each text, the facts with the most similar content. The limit of the query is the maximum number
// of facts for a text: zero means 20, and a negative limit means all candidates. Similar is for programs that decide
// whether a statement is new. It calls the embedder once.
func (m *Memory) Similar(ctx context.Context, q FactQuery, texts ...string) ([][]Near, error) {
	near, err := m.similar(ctx, q, texts)
	if err != nil {
		return nil, fmt.Errorf("memory: similar: %w", err)
	}
	return near, nil
}

func (m *Memory) similar(ctx context.Context, q FactQuery, texts []string) ([][]Near, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	var vectors [][]float32
	if m.options.Embedder != nil {
		var err error
		if vectors, err = search.Vectors(ctx, m.options.Embedder, texts); err != nil {
			return nil, err
		}
	}
	limit := cmp.Or(q.Limit, 20)
	near := make([][]Near, len(texts))
	for i, text := range texts {
		terms := rank.Distinct(rank.Terms(text))
		s := driver.FactSearch{Query: q, Terms: rank.Query(text), Limit: m.options.Candidates}
		if vectors != nil {
			s.Embedding, s.Model = vectors[i], m.options.Embedder.Model()
		}
		c, err := m.store.Search(ctx, s)
		if err != nil {
			return nil, err
		}
		near[i] = nearest(text, terms, &s, c.Records)
		if limit > 0 {
			near[i] = near[i][:min(limit, len(near[i]))]
		}
	}
	return near, nil
}

func nearest(text string, terms []string, s *driver.FactSearch, records []FactRecord) []Near {
	near := make([]Near, len(records))
	for i, r := range records {
		near[i] = Near{Fact: r.Fact, Same: SameText(r.Content, text), Overlap: overlap(terms, rank.Distinct(rank.Terms(r.Content)))}
		if s.Embedding != nil && r.Model == s.Model && len(r.Embedding) == len(s.Embedding) {
			near[i].Cosine = rank.Cosine(r.Embedding, s.Embedding)
		}
	}
	slices.SortFunc(near, func(a, b Near) int {
		return cmp.Or(
			cmp.Compare(b.both(), a.both()),
			cmp.Compare(b.ID, a.ID),
		)
	})
	return near
}

func (n *Near) both() float64 {
	if n.Same {
		return 3
	}
	return n.Cosine + n.Overlap
}

// overlap returns the Jaccard index of two lists of distinct terms.
func overlap(a, b []string) float64 {
	in := make(map[string]bool, len(a))
	for _, term := range a {
		in[term] = true
	}
	both := 0
	for _, term := range b {
		if in[term] {
			both++
		}
	}
	if all := len(a) + len(b) - both; all > 0 {
		return float64(both) / float64(all)
	}
	return 0
}
