package rank

import "math"

// The usual parameters of BM25: k1 limits the effect of a repeated term, and b is the effect of the length
// of a document.
const (
	k1 = 1.2
	b  = 0.75
)

// maxFrequency limits the frequency of a term. A store may stop counting at this number, and a term must have
// the same weight in all stores.
const maxFrequency = 10_000

// bm25 scores documents by the terms that they share with a query.
type bm25 struct {
	terms   []string
	idf     []float64
	average float64 // the average number of terms of a document
	most    float64 // the upper bound of a score
	quick   [256]bool
}

func newBM25(query []string, c Corpus, docs []Doc) *bm25 {
	q := &bm25{terms: Distinct(query)}
	all, terms := float64(c.Docs), float64(c.Terms)
	if all < float64(len(docs)) || terms <= 0 { // only the candidates are known
		all, terms = max(all, float64(len(docs))), 0
		for i := range docs {
			terms += float64(len(docs[i].Terms))
		}
		terms *= all / max(1, float64(len(docs)))
	}
	q.average = max(1, terms/max(1, all))
	for _, t := range q.terms {
		q.quick[mark(t)] = true
	}
	q.idf = make([]float64, len(q.terms))
	for i, t := range q.terms {
		df := min(all, maxFrequency, max(0, float64(c.Frequency[t])))
		q.idf[i] = math.Log(1 + (all-df+0.5)/(df+0.5))
		q.most += q.idf[i] * (k1 + 1)
	}
	return q
}

// certain is the share of the upper bound from which on the best score has the relative score 1. If the best
// score is lower, words are less reliable for this query, and vectors have more weight. Few documents reach half
// of the upper bound.
const certain = 0.25

// score sets the BM25 of each document. It returns the scores divided by the best score or, if it is larger, by the
// share [certain] of the upper bound.
func (q *bm25) score(docs []Doc, scores []Score) (relative []float64) {
	relative = make([]float64, len(docs))
	counts := make([]float64, len(q.terms))
	best := q.most * certain
	for i := range docs {
		scores[i].BM25 = q.one(docs[i].Terms, counts)
		best = max(best, scores[i].BM25)
	}
	if best > 0 {
		for i := range scores {
			relative[i] = scores[i].BM25 / best
		}
	}
	return relative
}

// Words scores documents by the terms that they share with a query, with BM25 (Robertson and Zaragoza
// 2009). It is not safe for concurrent use.
type Words struct {
	bm25   *bm25
	counts []float64
}

// NewWords returns the scorer of a corpus, for stores that choose candidates.
func NewWords(query []string, c Corpus) *Words {
	q := newBM25(query, c, nil)
	return &Words{q, make([]float64, len(q.terms))}
}

// Score returns the score of a document with these terms. It is zero if the document has no term of the
// query.
func (w *Words) Score(terms []string) float64 { return w.bm25.one(terms, w.counts) }

// Share returns the share of one term of the query in the score of a document. The document contains the term as often as
// times says, and terms is the number of all its terms. The score is the sum of the shares.
func (w *Words) Share(term, times, terms int) float64 {
	return w.bm25.share(term, float64(times), w.bm25.length(terms))
}

// one returns the BM25 score of a document. It uses counts as a buffer.
func (q *bm25) one(terms []string, counts []float64) (score float64) {
	clear(counts)
	for _, t := range terms {
		if !q.quick[mark(t)] {
			continue
		}
		for j, term := range q.terms {
			if t == term {
				counts[j]++
			}
		}
	}
	length := q.length(len(terms))
	for j, tf := range counts {
		if tf > 0 {
			score += q.share(j, tf, length)
		}
	}
	return score
}

// length returns the part of BM25 that depends on the number of terms of a document.
func (q *bm25) length(terms int) float64 { return k1 * (1 - b + b*float64(terms)/q.average) }

func (q *bm25) share(term int, times, length float64) float64 {
	return q.idf[term] * times * (k1 + 1) / (times + length)
}

// mark is a one-byte hash that distinguishes most terms.
func mark(term string) byte {
	n := len(term)
	if n == 0 {
		return 0
	}
	return term[0] ^ term[n-1]<<3 ^ byte(n)<<5
}
