package rank

import "math"

// The usual parameters: k1 is how soon more of the same term stops to count, and b how much a long
// document has to pay for its length.
const (
	k1 = 1.2
	b  = 0.75
)

// bm25 scores documents by the terms that they share with a query.
type bm25 struct {
	terms   []string
	idf     []float64
	average float64 // terms a document
	most    float64 // what no document can exceed
}

func newBM25(query []string, c Corpus, docs []Doc) *bm25 {
	q := &bm25{terms: Distinct(query)}
	all, terms := float64(c.Docs), float64(c.Terms)
	if all < float64(len(docs)) || terms <= 0 { // nothing is known but the candidates
		all, terms = max(all, float64(len(docs))), 0
		for i := range docs {
			terms += float64(len(docs[i].Terms))
		}
		terms *= all / max(1, float64(len(docs)))
	}
	q.average = max(1, terms/max(1, all))
	q.idf = make([]float64, len(q.terms))
	for i, t := range q.terms {
		df := min(all, max(0, float64(c.Frequency[t])))
		q.idf[i] = math.Log(1 + (all-df+0.5)/(df+0.5))
		q.most += q.idf[i] * (k1 + 1)
	}
	return q
}

// score returns a number between 0 and 1 for each document.
func (q *bm25) score(docs []Doc) []float64 {
	scores := make([]float64, len(docs))
	counts := make([]int, len(q.terms))
	for i := range docs {
		clear(counts)
		for _, t := range docs[i].Terms {
			for j, term := range q.terms {
				if t == term {
					counts[j]++
				}
			}
		}
		length := float64(len(docs[i].Terms))
		for j, n := range counts {
			if n > 0 {
				tf := float64(n)
				scores[i] += q.idf[j] * tf * (k1 + 1) / (tf + k1*(1-b+b*length/q.average))
			}
		}
		if q.most > 0 {
			scores[i] /= q.most
		}
	}
	return scores
}
