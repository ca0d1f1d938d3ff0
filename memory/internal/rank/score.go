package rank

import (
	"math"
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
// Where Vector, Keyword and Neighbour are all zero, they stand for the defaults. Recency and Importance do not count
// unless they are set. A leg that a query has not, as there is no vector, leaves its part to the others.
type Weights struct {
	Vector, Keyword, Neighbour, Recency, Importance float64
	// HalfLife is the age at which recency is a half. Zero stands for 30 days.
	HalfLife time.Duration
}

// The defaults, found by measuring; see package recall.
const (
	defaultVector    = 0.5
	defaultKeyword   = 0.5
	defaultNeighbour = 0.5
	defaultHalfLife  = 30 * 24 * time.Hour
)

// A Score is how well a candidate answers, between 0 and 1, and the share that each signal has in it. The
// shares add up to Total.
type Score struct {
	Total, Vector, Keyword, Neighbour, Recency, Importance float64
}

// Score returns a score for each document. The order of the documents has no influence on it.
func (w Weights) Score(query []string, vector []float32, c Corpus, docs []Doc) []Score {
	w = w.complete(len(query) > 0, len(vector) > 0)
	scores := make([]Score, len(docs))
	keyword := newBM25(query, c, docs).score(docs)
	own := make([]float64, len(docs))
	for i := range docs {
		d, s := &docs[i], &scores[i]
		s.Keyword = w.Keyword * keyword[i]
		s.Vector = w.Vector * max(0, Cosine(vector, d.Vector))
		own[i] = s.Keyword + s.Vector
		s.Recency = w.Recency * math.Exp2(-max(0, d.Age.Hours())/w.HalfLife.Hours())
		s.Importance = w.Importance * min(1, max(0, d.Importance))
	}
	for i, best := range neighbours(docs, own) {
		s := &scores[i]
		s.Neighbour = w.Neighbour * best / (w.Keyword + w.Vector)
		s.Total = s.Vector + s.Keyword + s.Neighbour + s.Recency + s.Importance
	}
	return scores
}

// complete returns the weights with the defaults, so that they add up to 1.
func (w Weights) complete(words, vector bool) Weights {
	for _, p := range []*float64{&w.Vector, &w.Keyword, &w.Neighbour, &w.Recency, &w.Importance} {
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
	switch both := w.Vector + w.Keyword; {
	case !vector:
		w.Vector, w.Keyword = 0, both
	case !words:
		w.Vector, w.Keyword = both, 0
	}
	if w.Vector+w.Keyword == 0 {
		w.Neighbour = 0
	}
	sum := w.Vector + w.Keyword + w.Neighbour + w.Recency + w.Importance
	w.Vector /= sum
	w.Keyword /= sum
	w.Neighbour /= sum
	w.Recency /= sum
	w.Importance /= sum
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

// Cosine returns the cosine of the angle between two vectors: 0 if they have not the same length, if one is nothing but zeros,
// or if there is something in them that is no finite number.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float32
	for i, x := range a {
		y := b[i]
		dot += x * y
		aa += x * x
		bb += y * y
	}
	cos := float64(dot) / math.Sqrt(float64(aa)*float64(bb))
	if math.IsNaN(cos) {
		return 0
	}
	return max(-1, min(1, cos))
}
