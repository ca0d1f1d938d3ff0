package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
)

// A Recall asks for the facts that matter for a text.
type Recall struct {
	// Query says where to look, and for how many facts.
	Query FactQuery
	// Text is what is looked for, in any words. A fact does not need to have all of them. Of
	// a text of more than 8 KB the first 4 KB count and the last, and of more than 64 different
	// words the first 32 and the last, so that a question may stand before what was pasted, or after it.
	Text string
	// Embedding is the vector of the text, if the caller has it. Nil means that the
	// memory's embedder makes it.
	Embedding []float32
	// MaxTokens is how many tokens the contents may have together. Zero means any
	// number. A fact that does not fit is passed over.
	MaxTokens int
	// MinSimilarity leaves out facts whose [Score.Similarity] is less, and those that have no vector to
	// compare. Which value tells what answers from what does not depends on the embedder: measure it with
	// texts of your own. Zero leaves out nothing. It needs an embedder.
	MinSimilarity float64
	// Diversity is between 0 and 1: how much facts that say what another says already count
	// less (maximal marginal relevance, Carbonell and Goldstein 1998). It needs vectors.
	Diversity float64
}

// Weights say how much each sign counts, beside the others. Where Vector, Keyword and
// Neighbour are all zero, they stand for what was found to serve well on several
// collections, see docs/memory.md. Recency and Importance count only where they are set.
type Weights struct {
	Vector, Keyword, Neighbour, Recency, Importance float64
	// HalfLife is the age at which recency counts half. Zero stands for 30 days.
	HalfLife time.Duration
}

func (w *Weights) check() error {
	ok := w.HalfLife >= 0
	for _, x := range []float64{w.Keyword, w.Vector, w.Neighbour, w.Recency, w.Importance} {
		ok = ok && x >= 0 && x <= math.MaxFloat32
	}
	if !ok {
		return fmt.Errorf("weights %+v: %w", *w, ErrInvalid)
	}
	return nil
}

// A Reranker says how well texts fit a query, better than words and vectors do, and
// slower. The higher the better. It is safe for use by any number of goroutines.
type Reranker interface {
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// RerankerFunc is a function that is a [Reranker].
type RerankerFunc func(ctx context.Context, query string, texts []string) ([]float64, error)

// Rerank calls f.
func (f RerankerFunc) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	return f(ctx, query, texts)
}

// Recall returns the facts that fit a text best, the best first. Without words or symbols in the text, it
// returns the newest. Words that are in every English text, such as "who are you", find what has them as a name,
// "The Who", if there is no embedder and no other word; if nothing has, Recall returns the newest, too. Any other
// text that nothing fits finds nothing.
func (m *Memory) Recall(ctx context.Context, r Recall) ([]Hit[Fact], error) {
	found, err := m.recall(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	return found, nil
}

func (m *Memory) recall(ctx context.Context, r Recall) ([]Hit[Fact], error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := CheckSimilarity(r.MinSimilarity, m.options.Embedder); err != nil {
		return nil, err
	}
	text := rank.Clip(r.Text)
	s := driver.FactSearch{Query: r.Query, Terms: rank.Query(text)}
	if err := m.embedQuery(ctx, text, &s, r.Embedding); err != nil {
		return nil, err
	}
	common := len(s.Terms) == 0 && s.Embedding == nil
	if common {
		if s.Terms = rank.Stopped(text); len(s.Terms) == 0 {
			return m.newest(ctx, r)
		}
	}
	limit, limited := r.Query.Most()
	s.Limit = math.MaxInt32
	if limited {
		s.Limit = max(m.options.Candidates, limit)
	}
	c, err := m.store.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	if common && len(c.Records) == 0 {
		return m.newest(ctx, r)
	}
	list := m.score(s, c)
	if err := m.rerank(ctx, text, list); err != nil {
		return nil, err
	}
	if r.Diversity > 0 {
		list = diverse(list, r.Diversity, limit)
	}
	found := make([]Hit[Fact], len(list))
	for i, x := range list {
		found[i] = x.Hit
	}
	return m.cut(found, r), nil
}

func (r *Recall) check() error {
	if err := r.Query.Validate(); err != nil {
		return err
	}
	if r.Query.Closed {
		return fmt.Errorf("what is closed is not recalled: %w", ErrInvalid)
	}
	if r.MaxTokens < 0 || !(r.Diversity >= 0 && r.Diversity <= 1) {
		return fmt.Errorf("max tokens %d, diversity %v: %w", r.MaxTokens, r.Diversity, ErrInvalid)
	}
	return nil
}

// CheckSimilarity returns [ErrInvalid] for a least similarity that is no cosine, or that is asked for without an embedder.
func CheckSimilarity(least float64, e Embedder) error {
	switch {
	case !(least >= -1 && least <= 1): // also NaN
		return fmt.Errorf("min similarity %v is not between -1 and 1: %w", least, ErrInvalid)
	case least != 0 && e == nil:
		return fmt.Errorf("min similarity %v, and no embedder that makes vectors to compare: %w", least, ErrInvalid)
	}
	return nil
}

func (m *Memory) embedQuery(ctx context.Context, text string, s *driver.FactSearch, given []float32) error {
	e := m.options.Embedder
	if e == nil || given == nil && input.Blank(text) {
		if given != nil {
			return fmt.Errorf("a vector, and no embedder that says of which model: %w", ErrInvalid)
		}
		return nil
	}
	s.Model, s.Embedding = e.Model(), given
	if given != nil {
		return CheckVector(given, e.Dimension())
	}
	vectors, err := embed(ctx, e, []string{text})
	if err == nil {
		s.Embedding = vectors[0]
	}
	return err
}

// newest are the facts where there is nothing to look for.
func (m *Memory) newest(ctx context.Context, r Recall) ([]Hit[Fact], error) {
	var found []Hit[Fact]
	for record, err := range m.store.Find(ctx, r.Query) {
		if err != nil {
			return nil, err
		}
		found = append(found, Hit[Fact]{Item: record.Fact})
	}
	return m.cut(found, r), nil
}

// A scored is a candidate on its way.
type scored struct {
	Hit[Fact]
	vector []float32
}

// score returns the candidates, best first, and the newer first where they are equal.
func (m *Memory) score(s driver.FactSearch, c driver.FactCandidates) []scored {
	slices.SortFunc(c.Records, func(a, b FactRecord) int { return strings.Compare(b.ID, a.ID) })
	corpus := rank.Corpus{Docs: c.Facts, Terms: c.Terms, Frequency: make(map[string]int64, len(s.Terms))}
	for i, term := range s.Terms {
		corpus.Frequency[term] = c.Frequency[i]
	}
	now := time.Now()
	docs := make([]rank.Doc, len(c.Records))
	for i, r := range c.Records {
		docs[i] = rank.Doc{Terms: r.Terms, Importance: r.Importance, Age: max(0, now.Sub(r.UpdatedAt))}
		if r.Model == s.Model && len(r.Embedding) == len(s.Embedding) {
			docs[i].Vector = r.Embedding
		}
		if r.Conversation != "" {
			docs[i].Group, docs[i].Position = fmt.Sprintf("%q", []string{r.Scope.Tenant, r.Scope.Workspace, r.Scope.User, r.Scope.Agent, r.Conversation}), r.Turn
		}
	}
	w := m.options.Weights
	scores := rank.Weights{
		Vector: w.Vector, Keyword: w.Keyword, Neighbour: w.Neighbour, Recency: w.Recency, Importance: w.Importance,
		HalfLife: w.HalfLife, Candidates: m.options.Candidates,
	}.Score(s.Terms, s.Embedding, corpus, docs)
	list := make([]scored, len(docs))
	for i, at := range rank.Order(scores) {
		p := &scores[at]
		list[i] = scored{Hit[Fact]{Item: c.Records[at].Fact, Score: Score{
			Similarity: p.Cosine, BM25: p.BM25, compared: p.Compared,
			Total: p.Total, Keyword: p.Keyword, Vector: p.Vector, Neighbour: p.Neighbour, Recency: p.Recency, Importance: p.Importance,
		}}, docs[at].Vector}
	}
	return list
}

// maxReranked is how many of the best are shown to a [Reranker].
const maxReranked = 100

// rerank orders the best of a list by what the reranker says.
func (m *Memory) rerank(ctx context.Context, query string, list []scored) error {
	if m.options.Reranker == nil || len(list) == 0 {
		return nil
	}
	list = list[:min(len(list), maxReranked)]
	texts := make([]string, len(list))
	for i, x := range list {
		texts[i] = x.Item.Content
	}
	scores, err := m.options.Reranker.Rerank(ctx, query, texts)
	if err != nil {
		return fmt.Errorf("rerank %d texts: %w", len(texts), err)
	}
	if len(scores) != len(list) {
		return fmt.Errorf("rerank: %d scores for %d texts: %w", len(scores), len(texts), ErrInvalid)
	}
	if i := slices.IndexFunc(scores, rank.Wild); i >= 0 {
		return fmt.Errorf("rerank: the score of text %d of %d is %v: %w", i+1, len(texts), scores[i], ErrInvalid)
	}
	for i := range list {
		list[i].Score.Reranked = &scores[i]
	}
	slices.SortStableFunc(list, func(a, b scored) int { return cmp.Compare(*b.Score.Reranked, *a.Score.Reranked) })
	return nil
}

// diverse picks up to limit of a list, one by one: what is good, and unlike what was picked.
func diverse(list []scored, diversity float64, limit int) []scored {
	if limit == 0 {
		limit = len(list)
	}
	relevance := make([]float64, len(list))
	for i := range list {
		relevance[i] = 1 / float64(i+1) // a reranker's scores have no scale
		if list[0].Score.Reranked == nil && list[0].Score.Total > 0 {
			relevance[i] = list[i].Score.Total / list[0].Score.Total
		}
	}
	alike := func(i, j int) float64 { return rank.Cosine(list[i].vector, list[j].vector) }
	picked := make([]scored, 0, min(limit, len(list)))
	for _, i := range rank.MMR(relevance, alike, 1-diversity, limit) {
		picked = append(picked, list[i])
	}
	return picked
}

// cut keeps what the limits allow.
func (m *Memory) cut(found []Hit[Fact], r Recall) []Hit[Fact] {
	limit, limited := r.Query.Most()
	kept, tokens := []Hit[Fact]{}, 0
	for _, f := range found {
		if limited && len(kept) == limit {
			break
		}
		if r.MinSimilarity != 0 && (!f.Score.compared || f.Score.Similarity < r.MinSimilarity) {
			continue
		}
		if r.MaxTokens > 0 {
			n := m.options.Tokens.CountTokens(llm.System(f.Item.Content))
			if tokens+n > r.MaxTokens {
				continue
			}
			tokens += n
		}
		f.Score.Rank = len(kept) + 1
		kept = append(kept, f)
	}
	return kept
}
