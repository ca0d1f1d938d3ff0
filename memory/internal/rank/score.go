package rank

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A Corpus says how many documents there are where the candidates come from, how many terms they have together, and how many
// of them have a term of the query. What is not known may be zero.
type Corpus struct {
	Docs, Terms int64
	Frequency   map[string]int64
}

// Candidates is the default of Weights.Candidates. docs/memory.md says what 100, 200 and 400 find.
const Candidates = 400

// A Doc is a candidate.
type Doc struct {
	// Terms are what [Terms] made of it.
	Terms []string
	// Vector is nil if there is none. One of another length than the query's counts
	// as none.
	Vector []float32
	// Group and Position say whose neighbour it is: that of a candidate of the same group whose position
	// differs by one. There are none where Group is empty.
	Group    string
	Position int64
	// Age counts for Weights.Recency, and Importance, between 0 and 1, for Weights.Importance.
	Age        time.Duration
	Importance float64
}

// Weights say how much each signal counts. They are relative to each other: a [Score] is between 0 and 1.
//
// Where Vector, Keyword and Neighbour are all zero, they stand for the defaults, 0.4, 0.6 and 0.5. Recency and
// Importance do not count unless they are set. A leg that the query or a document has not, as there is no vector,
// leaves its part to the other one.
type Weights struct {
	Vector, Keyword, Neighbour, Recency, Importance float64
	// HalfLife is the age at which recency is a half. Zero stands for 30 days.
	HalfLife time.Duration
	// Candidates is how many documents decide the order: so many that are the best by words, and so many that are
	// the best by vectors. So the order does not depend on how many results a caller wants. Zero stands for [Candidates].
	Candidates int
}

// The defaults were measured with benchmarks/recall. From 0.5 to 0.8 for words they hardly differ with vectors that know less than
// words do; with better vectors, less for words is better. The neighbour's weight may be anything from 0.25 to 1.
const (
	defaultVector    = 0.4
	defaultKeyword   = 0.6
	defaultNeighbour = 0.5
	defaultHalfLife  = 30 * 24 * time.Hour
)

// A Score is how well a candidate answers, between 0 and 1, and the share that each signal has in it. The
// shares add up to Total.
//
// It compares the candidates of one search, the best of which is near 1 in each leg. It does not say whether
// there is an answer among them.
type Score struct {
	Total, Vector, Keyword, Neighbour, Recency, Importance float64
	// BM25 and Cosine are what words and vectors say by themselves. Compared says that there is a vector
	// to compare; without one Cosine is zero.
	BM25, Cosine float64
	Compared     bool
	// First says that the document is among the Candidates best by words or by vectors. The others come
	// after them in [Order], and are nobody's neighbours.
	First bool
}

// Score returns a score for each document. Documents that are not among the Candidates best by words or by vectors do
// not change the scores of others. Of equal documents the first counts as the better.
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

// markFirst marks the documents that are among the n best by words or by vectors.
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
	mark(func(s *Score) bool { return s.Compared }, func(s *Score) float64 { return s.Cosine })
}

// Order returns the positions of the documents by their scores, the best first. Equal documents keep their order.
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

// complete returns the weights with the defaults, so that they add up to 1.
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
		*p /= most // so that the sum is a number
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

// neighbours returns the best score beside each document, 0 where there is none.
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
