package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/search"
)

// Search returns the values of the namespace, and of the namespaces within it, that fit the text of a question
// best, the best first. At most one filter may be given. Only indexed values are found. For a text without
// words and symbols, it returns the newest values.
func (n Namespace) Search(ctx context.Context, q Question, only ...ValueFilter) ([]Hit[Item], error) {
	found, err := n.search(ctx, q, only)
	if err != nil {
		return nil, fmt.Errorf("values: search: %w", err)
	}
	return found, nil
}

func (n Namespace) search(ctx context.Context, q Question, only []ValueFilter) ([]Hit[Item], error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	if q.Reach != (Reach{}) && q.Reach != n.scope.Only() {
		return nil, fmt.Errorf("the reach %+v is not the scope of the namespace, %s; leave it empty: %w", q.Reach, n.scope, ErrInvalid)
	}
	filter, err := search.One(only)
	if err != nil {
		return nil, err
	}
	asked := search.Question(q)
	if err := asked.Check(n.values.options.Embedder); err != nil {
		return nil, err
	}
	query := filter.query(asked.Limit)
	if err := query.Validate(); err != nil {
		return nil, err
	}
	wanted, err := asked.Wanted(ctx, n.values.options.Embedder)
	if err != nil {
		return nil, err
	}
	if wanted.Nothing() {
		return n.newest(ctx, &asked, query)
	}
	s := driver.ValueSearch{
		Selection: driver.ValueSelection{ValueQuery: query, Prefix: n.labels},
		Terms:     wanted.Terms, Model: wanted.Model, Embedding: wanted.Embedding, Limit: asked.Candidates(rank.Candidates),
	}
	c, err := n.values.store.Search(ctx, n.scope, s)
	if err != nil {
		return nil, err
	}
	if wanted.Common && len(c.Records) == 0 {
		return n.newest(ctx, &asked, query)
	}
	candidates := n.values.score(&s, &c)
	items := make([]Item, len(c.Records))
	for i, r := range c.Records {
		items[i] = r.Item
	}
	found, err := n.values.hits(ctx, &asked, candidates, items)
	if err != nil || filter.Peek {
		return found, err
	}
	return n.refresh(ctx, found)
}

// newest returns the newest values, for a question without words.
func (n Namespace) newest(ctx context.Context, q *search.Question, query ValueQuery) ([]Hit[Item], error) {
	var items []Item
	for item, err := range n.values.store.Find(ctx, n.scope, driver.ValueSelection{ValueQuery: query, Prefix: n.labels, Refresh: !query.Peek}) {
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return n.values.hits(ctx, q, search.Unscored(len(items)), items)
}

// score returns the candidates with their scores. Of values with equal scores, the newer is first.
func (v *Values) score(s *driver.ValueSearch, c *driver.ValueCandidates) *search.Candidates {
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
	weights := rank.Weights{Vector: v.options.Weights.Vector, Keyword: v.options.Weights.Keyword}
	corpus := rank.NewCorpus(c.Values, c.Terms, s.Terms, c.Frequency)
	return &search.Candidates{Docs: docs, Scores: weights.Score(s.Terms, s.Embedding, corpus, docs), Reranker: v.options.Reranker}
}

// hits chooses the hits among candidates.
func (v *Values) hits(ctx context.Context, q *search.Question, c *search.Candidates, items []Item) ([]Hit[Item], error) {
	c.Text = func(i int) string { return string(items[i].Value) }
	c.Tokens = func(i int) int { return v.options.Tokens.CountTokens(llm.System(string(items[i].Value))) }
	chosen, _, err := q.Choose(ctx, c)
	if err != nil {
		return nil, err
	}
	found := make([]Hit[Item], len(chosen))
	for place, i := range chosen {
		found[place] = Hit[Item]{Item: items[i], Score: Score(c.Scores[i].Signals)}
	}
	return found, nil
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
