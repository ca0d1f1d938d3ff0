package rank

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Corpus has the number of searched documents, the total number of their terms, and the number of
// documents with each term of the query. Unknown numbers may be zero.
type Corpus struct {
	Docs, Terms int64
	Frequency   map[string]int64
}

// NewCorpus returns a corpus with numbers of documents and of terms. frequency has the number of documents with
// each term of the query, in the order of the query.
func NewCorpus(docs, terms int64, query []string, frequency []int64) Corpus {
	c := Corpus{Docs: docs, Terms: terms, Frequency: make(map[string]int64, len(query))}
	for i, term := range query {
		c.Frequency[term] = frequency[i]
	}
	return c
}

// Candidates is the default of Weights.Candidates. docs/memory.md has the recall for 100, 200 and 400.
const Candidates = 400

// A Doc is a candidate.
type Doc struct {
	// Terms are the terms of the document, from [Terms].
	Terms []string
	// Vector may be nil. A vector whose length differs from the query's is ignored.
	Vector []float32
	// Group and Position determine the neighbours of the document: the candidates of the same group whose
	// position differs by one. A document without a group has no neighbours.
	Group    string
	Position int64
	// Age is used with Weights.Recency, and Importance, between 0 and 1, with Weights.Importance.
	Age        time.Duration
	Importance float64
}

// Weights are the weights of the signals. Only their ratios matter: a [Score] is between 0 and 1.
//
// If Vector, Keyword and Neighbour are all zero, the defaults are used: 0.4, 0.6 and 0.5. The default of
// Recency and Importance is 0. If the query or a document has no vector, the weight of vectors is added to
// the weight of words.
type Weights struct {
	Vector, Keyword, Neighbour, Recency, Importance float64
	// HalfLife is the age at which recency is one half. Zero means 30 days.
	HalfLife time.Duration
	// Candidates is the number of documents by words, and of documents by vectors, that decide the order.
	// So the order does not depend on the limit of a search. Zero means [Candidates].
	Candidates int
}

// The defaults; see benchmarks/recall.
const (
	defaultVector    = 0.4
	defaultKeyword   = 0.6
	defaultNeighbour = 0.5
	defaultHalfLife  = 30 * 24 * time.Hour
)

// Signals are the score of a document and its parts. They can be converted to memory.Score.
type Signals struct {
	Rank int // the place among the hits, from 1; zero before they are chosen
	// Similarity is the cosine of the vectors, BM25 the score of the words.
	Similarity, BM25 float64
	// Total is between 0 and 1, and the sum of the next five fields. It compares the candidates of one
	// search, and does not show whether a candidate is an answer.
	Total, Keyword, Vector, Neighbour, Recency, Importance float64
	Reranked                                               *float64 // the score of a reranker
}

// A Score has the signals of a candidate.
type Score struct {
	Signals
	// Compared means that query and document have comparable vectors. Otherwise Similarity is zero.
	Compared bool
	// First means that the document is among the best Candidates by words or by vectors. [Order] puts all
	// other documents after these, and [Weights.Score] does not use the others as neighbours.
	First bool
}

// Score returns a score for each document. Documents that are not among the best Candidates by words or by
// vectors do not change the scores of other documents. Of equal documents, the first one ranks higher.
func (w Weights) Score(query []string, vector []float32, c Corpus, docs []Doc) []Score {
	scores := make([]Score, len(docs))
	words := newBM25(query, c, docs).score(docs, scores)
	compared := cosines(vector, docs, scores)
	w = w.complete(len(query) > 0, compared > 0)
	markFirst(scores, w.Candidates)
	near := nearness(scores)
	legs := w.Keyword + w.Vector
	own := make([]float64, len(docs))
	for i := range docs {
		d, s := &docs[i], &scores[i]
		s.Keyword = w.Keyword * words[i]
		switch {
		case s.Compared:
			s.Vector = w.Vector * near[i]
		case compared > 0:
			s.Keyword = legs * words[i]
		}
		own[i] = s.Keyword + s.Vector
		s.Recency = w.Recency * math.Exp2(-max(0, d.Age.Hours())/w.HalfLife.Hours())
		s.Importance = w.Importance * min(1, max(0, d.Importance))
	}
	for i, best := range neighbours(docs, scores, own) {
		s := &scores[i]
		if legs > 0 {
			s.Neighbour = w.Neighbour * best / legs
		}
		s.Total = s.Vector + s.Keyword + s.Neighbour + s.Recency + s.Importance
	}
	return scores
}

// markFirst marks the n best documents by words, and the n best by vectors.
func markFirst(scores []Score, n int) {
	mark := func(has func(*Score) bool, by func(*Score) float64) {
		order := make([]int, 0, len(scores))
		for i := range scores {
			if has(&scores[i]) {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(by(&scores[j]), by(&scores[i])) })
		for _, i := range order[:min(len(order), n)] {
			scores[i].First = true
		}
	}
	mark(func(s *Score) bool { return s.BM25 > 0 }, func(s *Score) float64 { return s.BM25 })
	mark(func(s *Score) bool { return s.Compared }, func(s *Score) float64 { return s.Similarity })
}

// Order returns the positions of the documents, the best first. Equal documents keep their order.
func Order(scores []Score) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := &scores[i], &scores[j]
		if a.First != b.First {
			if a.First {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Total, a.Total)
	})
	return order
}

// complete returns the weights with the defaults, scaled so that their sum is 1.
func (w Weights) complete(words, vector bool) Weights {
	all := []*float64{&w.Vector, &w.Keyword, &w.Neighbour, &w.Recency, &w.Importance}
	for _, p := range all {
		if !(*p > 0) || math.IsInf(*p, 1) { // also NaN
			*p = 0
		}
	}
	if w.Vector+w.Keyword+w.Neighbour == 0 {
		w.Vector, w.Keyword, w.Neighbour = defaultVector, defaultKeyword, defaultNeighbour
	}
	if w.Candidates <= 0 {
		w.Candidates = Candidates
	}
	if w.HalfLife <= 0 {
		w.HalfLife = defaultHalfLife
	}
	legs := w.Vector + w.Keyword
	switch {
	case !words && !vector || legs == 0:
		w.Vector, w.Keyword, w.Neighbour = 0, 0, 0
	case !vector:
		w.Vector, w.Keyword = 0, legs
	case !words:
		w.Vector, w.Keyword = legs, 0
	}
	most := 1.0
	for _, p := range all {
		most = max(most, *p)
	}
	sum := 0.0
	for _, p := range all {
		*p /= most // so that the sum is finite
		sum += *p
	}
	for _, p := range all {
		*p /= max(sum, math.SmallestNonzeroFloat64)
	}
	return w
}

type place struct {
	group    string
	position int64
}

// neighbours returns the best score among the neighbours of each document, or 0 for a document without
// neighbours.
func neighbours(docs []Doc, scores []Score, own []float64) []float64 {
	at := make(map[place]float64, len(docs))
	for i := range docs {
		if docs[i].Group != "" && scores[i].First {
			p := place{docs[i].Group, docs[i].Position}
			at[p] = max(at[p], own[i])
		}
	}
	best := make([]float64, len(docs))
	for i := range docs {
		if d := &docs[i]; d.Group != "" {
			best[i] = max(at[place{d.Group, d.Position - 1}], at[place{d.Group, d.Position + 1}])
		}
	}
	return best
}
