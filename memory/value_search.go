package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/rank"
)

// FindValues asks for values by what they say.
type FindValues struct {
	// Query says which values, and how many to return at most. Its Order and After do not
	// count.
	Query ValueQuery
	// Text is what is looked for, in any words. A value does not need to have all of
	// them. [Recall] says what counts of a long text.
	Text string
	// MinSimilarity leaves out values as [Recall] leaves out facts.
	MinSimilarity float64
}

const maxFoundValues = 1000

// Search returns the values of the namespace, and of those within it, that fit a text best, the best first. Only what was indexed
// is found. For a text without words and symbols, it returns the values that were written last.
func (n Namespace) Search(ctx context.Context, f FindValues) ([]Hit[Item], error) {
	found, err := n.search(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("values: search: %w", err)
	}
	return found, nil
}

func (n Namespace) search(ctx context.Context, f FindValues) ([]Hit[Item], error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	f.Query.Order, f.Query.After = Newest, nil
	if err := f.Query.Validate(); err != nil {
		return nil, err
	}
	if err := CheckSimilarity(f.MinSimilarity, n.values.embedder); err != nil {
		return nil, err
	}
	limit, limited := f.Query.Most()
	if limit > maxFoundValues {
		return nil, fmt.Errorf("%d values, and a search finds %d at most: %w", limit, maxFoundValues, ErrInvalid)
	}
	if !limited {
		limit = maxFoundValues
	}
	s, err := n.ask(ctx, f, limit)
	if err != nil {
		return nil, err
	}
	common := len(s.Terms) == 0 && s.Embedding == nil
	if common {
		if s.Terms = rank.Stopped(rank.Clip(f.Text)); len(s.Terms) == 0 {
			return n.newest(ctx, f.Query)
		}
	}
	c, err := n.values.store.Search(ctx, n.scope, s)
	if err != nil {
		return nil, err
	}
	if common && len(c.Records) == 0 {
		return n.newest(ctx, f.Query)
	}
	found := n.values.rank(&s, c, f.MinSimilarity)
	found = found[:min(limit, len(found))]
	if f.Query.Peek {
		return found, nil
	}
	return n.refresh(ctx, found)
}

// ask returns the search that is passed to the store.
func (n Namespace) ask(ctx context.Context, f FindValues, limit int) (driver.ValueSearch, error) {
	text := rank.Clip(f.Text)
	s := driver.ValueSearch{
		Selection: driver.ValueSelection{ValueQuery: f.Query, Prefix: n.labels}, Terms: rank.Query(text),
		Limit: max(rank.Candidates, limit),
	}
	e := n.values.embedder
	if e == nil || strings.TrimSpace(text) == "" {
		return s, nil
	}
	vectors, err := embedTexts(ctx, e, []string{text})
	if err != nil {
		return driver.ValueSearch{}, err
	}
	s.Embedding, s.Model = vectors[0], e.Model()
	return s, nil
}

func (n Namespace) newest(ctx context.Context, q ValueQuery) ([]Hit[Item], error) {
	var found []Hit[Item]
	for item, err := range n.values.store.Find(ctx, n.scope, driver.ValueSelection{ValueQuery: q, Prefix: n.labels, Refresh: !q.Peek}) {
		if err != nil {
			return nil, err
		}
		found = append(found, Hit[Item]{Item: item})
	}
	return found, nil
}

func (v *Values) rank(s *driver.ValueSearch, c driver.ValueCandidates, least float64) []Hit[Item] {
	corpus := rank.Corpus{Docs: c.Values, Terms: c.Terms, Frequency: map[string]int64{}}
	for i, n := range c.Frequency {
		corpus.Frequency[s.Terms[i]] = n
	}
	slices.SortFunc(c.Records, func(a, b driver.ValueRecord) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), a.Compare(b.Address))
	})
	docs := make([]rank.Doc, len(c.Records))
	for i, r := range c.Records {
		docs[i] = rank.Doc{Terms: r.Terms}
		if r.Model == s.Model && len(r.Embedding) == len(s.Embedding) {
			docs[i].Vector = r.Embedding
		}
	}
	w := rank.Weights{Vector: v.weights.Vector, Keyword: v.weights.Keyword}
	scores := w.Score(s.Terms, s.Embedding, corpus, docs)
	found := make([]Hit[Item], 0, len(docs))
	for _, at := range rank.Order(scores) {
		r, p := &c.Records[at], &scores[at]
		if least != 0 && (!p.Compared || p.Cosine < least) {
			continue
		}
		found = append(found, Hit[Item]{Item: r.Item, Score: Score{
			Rank: len(found) + 1, Similarity: p.Cosine, BM25: p.BM25, Total: p.Total, Keyword: p.Keyword, Vector: p.Vector,
		}})
	}
	return found
}

// refresh restarts the TTL of the found values, and omits values that have been removed since.
func (n Namespace) refresh(ctx context.Context, found []Hit[Item]) ([]Hit[Item], error) {
	var addresses []Address
	for _, f := range found {
		if !f.Item.ExpiresAt.IsZero() {
			addresses = append(addresses, f.Item.Address)
		}
	}
	items, err := n.values.get(ctx, n.scope, addresses)
	if err != nil {
		return nil, err
	}
	now := map[string]Item{}
	for _, item := range items {
		now[item.Path()] = item
	}
	kept := found[:0]
	for _, f := range found {
		if item, asked := now[f.Item.Path()]; asked {
			if f.Item = item; !item.Known() {
				continue
			}
		}
		kept = append(kept, f)
	}
	return kept, nil
}
