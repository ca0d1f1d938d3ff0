package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/search"
)

// Weights are the weights of the signals in recall. Only their ratios count. If Vector, Keyword and Neighbour
// are all zero, the defaults 0.4, 0.6 and 0.5 are used; see docs/memory.md. The default of Recency and
// Importance is zero.
type Weights struct {
	Vector, Keyword, Neighbour, Recency, Importance float64
	// HalfLife is the age at which recency is one half. Zero means 30 days.
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

// A Reranker scores texts by how well they fit a query. A higher score is better. It is usually a model
// that is more exact and slower than words and vectors. It is safe for concurrent use.
//
// A search fails if its reranker fails. The example keeps the order of the search in this case.
type Reranker interface {
	// Rerank returns a score for each text. The texts are in the order of the search, the best first.
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// RerankerFunc is a function that implements [Reranker].
type RerankerFunc func(ctx context.Context, query string, texts []string) ([]float64, error)

// Rerank calls f.
func (f RerankerFunc) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	return f(ctx, query, texts)
}

// Recall returns the facts that fit the text of a question best, the best first. At most one filter may be
// given. A fact that does not fit the text at all is not found.
//
// If the text has no words or symbols, Recall returns the newest facts. If the text has only stop words, as in
// "who are you", and there is no embedder, Recall finds facts that have these words in a name ("The Who"), or else
// returns the newest facts.
func (m *Memory) Recall(ctx context.Context, q Question, only ...FactFilter) ([]Hit[Fact], error) {
	found, err := m.recall(ctx, q, only)
	if err != nil {
		return nil, fmt.Errorf("memory: recall: %w", err)
	}
	return found, nil
}

func (m *Memory) recall(ctx context.Context, q Question, only []FactFilter) ([]Hit[Fact], error) {
	filter, err := search.One(only)
	if err != nil {
		return nil, err
	}
	asked := search.Question(q)
	if err := asked.Check(m.options.Embedder); err != nil {
		return nil, err
	}
	query := filter.query(Question(asked))
	if err := query.Validate(); err != nil {
		return nil, err
	}
	wanted, err := asked.Wanted(ctx, m.options.Embedder)
	if err != nil {
		return nil, err
	}
	if wanted.Nothing() {
		return m.newest(ctx, &asked, query)
	}
	s := driver.FactSearch{
		Query: query, Terms: wanted.Terms, Model: wanted.Model, Embedding: wanted.Embedding,
		Limit: asked.Candidates(m.options.Candidates),
	}
	c, err := m.store.Search(ctx, s)
	if err != nil {
		return nil, err
	}
	if wanted.Common && len(c.Records) == 0 {
		return m.newest(ctx, &asked, query)
	}
	return m.hits(ctx, &asked, m.score(&s, &c), c.Records)
}

// newest returns the newest facts, for a question without words.
func (m *Memory) newest(ctx context.Context, q *search.Question, query FactQuery) ([]Hit[Fact], error) {
	var records []FactRecord
	for r, err := range m.store.Find(ctx, query) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return m.hits(ctx, q, search.Unscored(len(records)), records)
}

// score returns the candidates with their scores. Of facts with equal scores, the newer is first.
func (m *Memory) score(s *driver.FactSearch, c *driver.FactCandidates) *search.Candidates {
	slices.SortFunc(c.Records, func(a, b FactRecord) int { return strings.Compare(b.ID, a.ID) })
	now := time.Now()
	docs := make([]rank.Doc, len(c.Records))
	for i, r := range c.Records {
		docs[i] = rank.Doc{Terms: r.Terms, Importance: r.Importance, Age: max(0, now.Sub(r.UpdatedAt))}
		if r.Model == s.Model && len(r.Embedding) == len(s.Embedding) {
			docs[i].Vector = r.Embedding
		}
		if r.Conversation != "" {
			docs[i].Group, docs[i].Position = groupOf(r.Scope, r.Conversation), r.Turn
		}
	}
	w := m.options.Weights
	weights := rank.Weights{
		Vector: w.Vector, Keyword: w.Keyword, Neighbour: w.Neighbour, Recency: w.Recency, Importance: w.Importance,
		HalfLife: w.HalfLife, Candidates: m.options.Candidates,
	}
	corpus := rank.NewCorpus(c.Facts, c.Terms, s.Terms, c.Frequency)
	return &search.Candidates{Docs: docs, Scores: weights.Score(s.Terms, s.Embedding, corpus, docs), Reranker: m.options.Reranker}
}

// groupOf returns a text that identifies a conversation of a scope.
func groupOf(s Scope, conversation string) string {
	return fmt.Sprintf("%q", []string{s.Tenant, s.Workspace, s.User, s.Agent, conversation})
}

// hits chooses the hits among candidates.
func (m *Memory) hits(ctx context.Context, q *search.Question, c *search.Candidates, records []FactRecord) ([]Hit[Fact], error) {
	c.Text = func(i int) string { return records[i].Content }
	c.Tokens = func(i int) int { return m.options.Tokens.CountTokens(llm.System(records[i].Content)) }
	chosen, _, err := q.Choose(ctx, c)
	if err != nil {
		return nil, err
	}
	found := make([]Hit[Fact], len(chosen))
	for place, i := range chosen {
		found[place] = Hit[Fact]{Item: records[i].Fact, Score: Score(c.Scores[i].Signals)}
	}
	return found, nil
}
