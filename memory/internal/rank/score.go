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
}

// The defaults were measured with package recall. From 0.5 to 0.8 for words they hardly differ with vectors that know less than
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
}

// Score returns a score for each document. The order of the documents has no influence on it.
func (w Weights) Score(query []string, vector []float32, c Corpus, docs []Doc) []Score {
	raw, words := newBM25(query, c, docs).score(docs)
	cosines, near, has := nearness(vector, docs)
	w = w.complete(len(query) > 0, has != nil)
	legs := w.Keyword + w.Vector
	scores := make([]Score, len(docs))
	own := make([]float64, len(docs))
	for i := range docs {
		d, s := &docs[i], &scores[i]
		s.Keyword, s.BM25 = w.Keyword*words[i], raw[i]
		if has != nil {
			s.Cosine, s.Compared = cosines[i], has[i]
			s.Vector = w.Vector * near[i]
			if !has[i] {
				s.Keyword = legs * words[i]
			}
		}
		own[i] = s.Keyword + s.Vector
		s.Recency = w.Recency * math.Exp2(-max(0, d.Age.Hours())/w.HalfLife.Hours())
		s.Importance = w.Importance * min(1, max(0, d.Importance))
	}
	for i, best := range neighbours(docs, own) {
		s := &scores[i]
		if legs > 0 {
			s.Neighbour = w.Neighbour * best / legs
		}
		s.Total = s.Vector + s.Keyword + s.Neighbour + s.Recency + s.Importance
	}
	return scores
}

// Order returns the positions of the scores, the highest first. Where the totals are equal, tie decides as
// [slices.SortFunc] asks for, and should not go by where the candidates happen to stand.
func Order(scores []Score, tie func(i, j int) int) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(scores[j].Total, scores[i].Total), tie(i, j))
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
func neighbours(docs []Doc, own []float64) []float64 {
	at := make(map[place]float64, len(docs))
	for i := range docs {
		if docs[i].Group != "" {
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
