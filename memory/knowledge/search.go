package knowledge

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/passage"
	"github.com/weft-go/weft/memory/internal/rank"
)

// A Question asks for passages.
type Question struct {
	// Query says in which sources to look.
	Query Query
	// Text is what is looked for, in any words. A chunk does not need to have all of
	// them. What counts of a long one is said at [memory.Recall].
	Text string
	// Embedding is the vector of the text, if the caller has it. Nil means that the
	// base's embedder makes it.
	Embedding []float32
	// Limit is the most to return, up to 1000. Zero stands for 10. A negative one is refused:
	// a search has no end of what fits a little.
	Limit int
	// MaxTokens is how many tokens the contents may have together, with those of neighbours.
	// Zero means any number. A chunk that does not fit is passed over.
	MaxTokens int
	// MinSimilarity leaves out chunks, as that of [memory.Recall] leaves out facts.
	MinSimilarity float64
	// Diversity is between 0 and 1: how much less a chunk counts that says what another
	// says already (maximal marginal relevance).
	Diversity float64
	// Neighbours is how many chunks before and after a result to return with it, up
	// to 10. They are left out as far as there are not tokens for them.
	Neighbours int
}

// A Passage is a chunk that a search found, with its source.
type Passage struct {
	Source Source
	Chunk  Chunk
	// Before and After are the chunks around it, by their ordinals: see [Question.Neighbours].
	Before, After []Chunk
}

// The limits of a search.
const (
	DefaultLimit  = 10
	maxLimit      = 1000
	maxReranked   = 100
	maxNeighbours = 10
)

// Search returns the chunks that answer best, the best first. It asks the store once, and
// once more for neighbours. A text without words finds nothing.
func (b *Base) Search(ctx context.Context, q Question) ([]memory.Hit[Passage], error) {
	results, err := b.search(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("knowledge: search: %w", err)
	}
	return results, nil
}

func (b *Base) search(ctx context.Context, q Question) ([]memory.Hit[Passage], error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := memory.CheckSimilarity(q.MinSimilarity, b.options.Embedder); err != nil {
		return nil, err
	}
	text := rank.Clip(q.Text)
	s := driver.ChunkSearch{Query: q.Query, Terms: rank.Query(text), Limit: max(rank.Candidates, q.Limit)}
	if err := b.embedQuestion(ctx, text, &s, q.Embedding); err != nil {
		return nil, err
	}
	if len(s.Terms) == 0 && s.Embedding == nil {
		s.Terms = rank.Stopped(text)
	}
	if len(s.Terms) == 0 && s.Embedding == nil {
		return nil, nil
	}
	c, err := b.store.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	list, err := b.rerank(ctx, text, b.score(&s, &c))
	if err != nil {
		return nil, err
	}
	if q.Diversity > 0 {
		list = diverse(list, q.Diversity)
	}
	results, left := cut(list, &q)
	return results, b.neighbours(ctx, results, q.Neighbours, left)
}

// check fills in what was left out.
func (q *Question) check() error {
	if err := q.Query.Validate(); err != nil {
		return err
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	switch {
	case q.Limit < 0 || q.Limit > maxLimit:
		return fmt.Errorf("limit %d is not between 0 and %d: %w", q.Limit, maxLimit, memory.ErrInvalid)
	case q.MaxTokens < 0:
		return fmt.Errorf("max tokens %d: %w", q.MaxTokens, memory.ErrInvalid)
	case !(q.Diversity >= 0 && q.Diversity <= 1): // also NaN
		return fmt.Errorf("diversity %v is not between 0 and 1: %w", q.Diversity, memory.ErrInvalid)
	case q.Neighbours < 0 || q.Neighbours > maxNeighbours:
		return fmt.Errorf("neighbours %d are not between 0 and %d: %w", q.Neighbours, maxNeighbours, memory.ErrInvalid)
	}
	return nil
}

func (b *Base) embedQuestion(ctx context.Context, text string, s *driver.ChunkSearch, given []float32) error {
	e := b.options.Embedder
	switch {
	case e == nil && given != nil:
		return fmt.Errorf("a vector, and no embedder that says of which model: %w", memory.ErrInvalid)
	case e == nil || given == nil && strings.TrimSpace(text) == "":
		return nil
	}
	s.Model, s.Embedding = e.Model(), given
	if given != nil {
		return memory.CheckVector(given, e.Dimension())
	}
	vectors, err := b.vectors(ctx, []string{text})
	if err == nil {
		s.Embedding = vectors[0]
	}
	return err
}

// A scored is a candidate on its way.
type scored struct {
	memory.Hit[Passage]
	doc      rank.Doc
	compared bool // there was a vector to compare
}

// score returns the candidates, best first.
func (b *Base) score(s *driver.ChunkSearch, c *driver.ChunkCandidates) []scored {
	corpus := rank.Corpus{Docs: c.Chunks, Terms: c.Terms, Frequency: make(map[string]int64, len(s.Terms))}
	for i, term := range s.Terms {
		corpus.Frequency[term] = c.Frequency[i]
	}
	sources := make(map[string]Source, len(c.Sources))
	for _, source := range c.Sources {
		sources[source.ID] = source
	}
	now := time.Now()
	slices.SortFunc(c.Records, func(a, b driver.ChunkRecord) int {
		return cmp.Or(strings.Compare(sources[a.Source].URI, sources[b.Source].URI), cmp.Compare(a.Ordinal, b.Ordinal), strings.Compare(a.ID, b.ID))
	})
	docs := make([]rank.Doc, len(c.Records))
	for i, r := range c.Records {
		docs[i] = rank.Doc{Terms: r.Terms, Group: r.Source, Position: int64(r.Ordinal), Age: max(0, now.Sub(sources[r.Source].UpdatedAt))}
		if r.Model == s.Model && len(r.Embedding) == len(s.Embedding) {
			docs[i].Vector = r.Embedding
		}
	}
	w := b.options.Weights
	weights := rank.Weights{Vector: w.Vector, Keyword: w.Keyword, Neighbour: w.Neighbour, Recency: w.Recency, HalfLife: w.HalfLife}
	scores := weights.Score(s.Terms, s.Embedding, corpus, docs)
	list := make([]scored, len(docs))
	for i, at := range rank.Order(scores) {
		r, p := &c.Records[at], &scores[at]
		list[i] = scored{memory.Hit[Passage]{Item: Passage{Source: sources[r.Source], Chunk: r.Chunk}, Score: memory.Score{
			Similarity: p.Cosine, BM25: p.BM25,
			Total: p.Total, Keyword: p.Keyword, Vector: p.Vector, Neighbour: p.Neighbour, Recency: p.Recency,
		}}, docs[at], p.Compared}
	}
	return list
}

// rerank orders the best of a list by what the reranker says. The rest follows as it was.
func (b *Base) rerank(ctx context.Context, question string, list []scored) ([]scored, error) {
	if b.options.Reranker == nil || len(list) == 0 {
		return list, nil
	}
	top := list[:min(len(list), maxReranked)]
	texts := make([]string, len(top))
	for i, x := range top {
		texts[i] = passage.Text(x.Item.Source.Title, x.Item.Chunk.Headings, x.Item.Chunk.Content)
	}
	scores, err := b.options.Reranker.Rerank(ctx, question, texts)
	if err != nil {
		return nil, fmt.Errorf("rerank %d texts: %w", len(texts), err)
	}
	if len(scores) != len(top) {
		return nil, fmt.Errorf("rerank: %d scores for %d texts: %w", len(scores), len(texts), memory.ErrInvalid)
	}
	if i := slices.IndexFunc(scores, rank.Wild); i >= 0 {
		return nil, fmt.Errorf("rerank: the score of text %d of %d is %v: %w", i+1, len(texts), scores[i], memory.ErrInvalid)
	}
	for i := range top {
		score := scores[i]
		top[i].Score.Reranked = &score
	}
	slices.SortStableFunc(top, func(a, b scored) int { return cmp.Compare(*b.Score.Reranked, *a.Score.Reranked) })
	return list, nil
}

// diverse orders the best of a list anew: always what is good, and unlike what came before.
func diverse(list []scored, diversity float64) []scored {
	top := list[:min(len(list), 2*maxReranked)]
	relevance := make([]float64, len(top))
	for i, x := range top {
		switch {
		case top[0].Score.Reranked != nil:
			relevance[i] = 1 / float64(i+1) // a reranker's scores have no scale
		case top[0].Score.Total > 0:
			relevance[i] = x.Score.Total / top[0].Score.Total
		}
	}
	alike := func(i, j int) float64 { return rank.Similarity(&top[i].doc, &top[j].doc) }
	ordered := make([]scored, 0, len(top))
	for _, i := range rank.MMR(relevance, alike, 1-diversity, len(top)) {
		ordered = append(ordered, top[i])
	}
	return ordered
}

// cut keeps what the limits allow, and says how many tokens are left.
func cut(list []scored, q *Question) (results []memory.Hit[Passage], left int) {
	left = math.MaxInt
	if q.MaxTokens > 0 {
		left = q.MaxTokens
	}
	for _, x := range list {
		if len(results) == q.Limit {
			break
		}
		if q.MinSimilarity != 0 && (!x.compared || x.Score.Similarity < q.MinSimilarity) || x.Item.Chunk.Tokens > left {
			continue
		}
		left -= x.Item.Chunk.Tokens
		x.Score.Rank = len(results) + 1
		results = append(results, x.Hit)
	}
	return results, left
}

// neighbours adds to results what stands beside them, the nearest first, and the best
// result first, as far as there are tokens left.
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
