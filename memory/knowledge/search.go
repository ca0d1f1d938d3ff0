package knowledge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/passage"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/search"
)

// A Filter restricts the documents in which [Base.Search] searches, and adds context to its passages.
type Filter struct {
	// URIs keeps the documents with one of these URIs, at most 1000. Nil means all. Prefix keeps the
	// documents whose URI begins with it.
	URIs   []string
	Prefix string
	// Where keeps the documents whose metadata meet all conditions.
	Where []memory.Condition
	// Trusted keeps only the documents with [Document.Trusted]. Set it only if untrusted text must not
	// influence the result.
	Trusted bool
	// Neighbours is the number of chunks before and after each passage to return with it, at most 10. If
	// [memory.Question.MaxTokens] leaves no room for a neighbour, it is left out.
	Neighbours int
}

// A Passage is a chunk that a search found, with its source.
type Passage struct {
	Source Source
	Chunk  Chunk
	// Before and After are the neighbours of the chunk, in order, see [Filter.Neighbours].
	Before, After []Chunk
}

const maxNeighbours = 10

// Search returns the passages that answer a question best, the best first. At most one filter may be given. It
// makes one call of the store, and one more for neighbours. A text without words finds nothing.
func (b *Base) Search(ctx context.Context, q memory.Question, only ...Filter) ([]memory.Hit[Passage], error) {
	results, err := b.search(ctx, q, only)
	if err != nil {
		return nil, fmt.Errorf("knowledge: search: %w", err)
	}
	return results, nil
}

func (b *Base) search(ctx context.Context, q memory.Question, only []Filter) ([]memory.Hit[Passage], error) {
	filter, err := search.One(only)
	if err != nil {
		return nil, err
	}
	if filter.Neighbours < 0 || filter.Neighbours > maxNeighbours {
		return nil, fmt.Errorf("neighbours %d are not between 0 and %d: %w", filter.Neighbours, maxNeighbours, memory.ErrInvalid)
	}
	asked := search.Question(q)
	if err := asked.Check(b.options.Embedder); err != nil {
		return nil, err
	}
	query := Query{Reach: q.Reach, URIs: filter.URIs, Prefix: filter.Prefix, Where: filter.Where, Trusted: filter.Trusted}
	if err := query.Validate(); err != nil {
		return nil, err
	}
	wanted, err := asked.Wanted(ctx, b.options.Embedder)
	if err != nil || wanted.Nothing() {
		return nil, err
	}
	s := driver.ChunkSearch{
		Query: query, Terms: wanted.Terms, Model: wanted.Model, Embedding: wanted.Embedding, Limit: asked.Candidates(rank.Candidates),
	}
	c, err := b.store.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	results, left, err := b.hits(ctx, &asked, &s, &c)
	if err != nil {
		return nil, err
	}
	return results, b.neighbours(ctx, results, filter.Neighbours, left)
}

// hits ranks the candidates and chooses the hits. It returns the number of tokens that are left.
func (b *Base) hits(ctx context.Context, q *search.Question, s *driver.ChunkSearch, c *driver.ChunkCandidates) (results []memory.Hit[Passage], left int, err error) {
	sources := make(map[string]Source, len(c.Sources))
	for _, source := range c.Sources {
		sources[source.ID] = source
	}
	slices.SortFunc(c.Records, func(a, b driver.ChunkRecord) int {
		return cmp.Or(strings.Compare(sources[a.Source].URI, sources[b.Source].URI), cmp.Compare(a.Ordinal, b.Ordinal), strings.Compare(a.ID, b.ID))
	})
	now := time.Now()
	docs := make([]rank.Doc, len(c.Records))
	for i, r := range c.Records {
		docs[i] = rank.Doc{Terms: r.Terms, Group: r.Source, Position: int64(r.Ordinal), Age: max(0, now.Sub(sources[r.Source].UpdatedAt))}
		if r.Model == s.Model && len(r.Embedding) == len(s.Embedding) {
			docs[i].Vector = r.Embedding
		}
	}
	w := b.options.Weights
	weights := rank.Weights{Vector: w.Vector, Keyword: w.Keyword, Neighbour: w.Neighbour, Recency: w.Recency, HalfLife: w.HalfLife}
	candidates := &search.Candidates{
		Docs: docs, Scores: weights.Score(s.Terms, s.Embedding, rank.NewCorpus(c.Chunks, c.Terms, s.Terms, c.Frequency), docs),
		Text: func(i int) string {
			r := &c.Records[i]
			return passage.Text(sources[r.Source].Title, r.Headings, r.Content)
		},
		Tokens:   func(i int) int { return c.Records[i].Tokens },
		Reranker: b.options.Reranker,
	}
	chosen, left, err := q.Choose(ctx, candidates)
	if err != nil {
		return nil, 0, err
	}
	results = make([]memory.Hit[Passage], len(chosen))
	for place, i := range chosen {
		r := &c.Records[i]
		results[place] = memory.Hit[Passage]{Item: Passage{Source: sources[r.Source], Chunk: r.Chunk}, Score: memory.Score(candidates.Scores[i].Signals)}
	}
	return results, left, nil
}

// neighbours adds to each result its neighbours, as long as tokens are left. It begins with the best result, and
// with the nearest neighbours of a result.
func (b *Base) neighbours(ctx context.Context, results []memory.Hit[Passage], n, left int) error {
	if n == 0 || len(results) == 0 {
		return nil
	}
	spans := make([]driver.ChunkSpan, 0, 2*len(results))
	for i := range results {
		r := &results[i]
		at := r.Item.Chunk.Ordinal
		before := driver.ChunkSpan{Scope: r.Item.Source.Scope, Source: r.Item.Source.ID, From: max(0, at-n), To: at}
		behind := driver.ChunkSpan{Scope: r.Item.Source.Scope, Source: r.Item.Source.ID, From: at + 1, To: at + 1 + n}
		spans = append(spans, before, behind)
	}
	type spot struct {
		source  string
		ordinal int
	}
	beside := map[spot]Chunk{}
	for c, err := range b.store.Chunks(ctx, spans) {
		if err != nil {
			return err
		}
		beside[spot{c.Source, c.Ordinal}] = c
	}
	for i := range results {
		r := &results[i]
		for distance := 1; distance <= n; distance++ {
			if c, ok := beside[spot{r.Item.Source.ID, r.Item.Chunk.Ordinal - distance}]; ok && c.Tokens <= left {
				left -= c.Tokens
				r.Item.Before = append(r.Item.Before, c)
			}
			if c, ok := beside[spot{r.Item.Source.ID, r.Item.Chunk.Ordinal + distance}]; ok && c.Tokens <= left {
				left -= c.Tokens
				r.Item.After = append(r.Item.After, c)
			}
		}
		slices.Reverse(r.Item.Before)
	}
	return nil
}
