package recall

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-go/weft/memory/internal/rank"
)

// An Index finds candidates as a store does, by looking at everything: it has no database.
type Index struct {
	docs     []rank.Doc
	postings map[string][]posting
	length   int64
	terms    func(text string) []string
	embed    func(text string) []float32
}

type posting struct{ doc, times int32 }

// NewIndex makes an index of documents. terms makes what they are found by, and embed their vectors, which
// may be nil.
func NewIndex(documents []Document, terms func(string) []string, embed func(string) []float32) *Index {
	x := &Index{docs: make([]rank.Doc, len(documents)), postings: map[string][]posting{}, terms: terms, embed: embed}
	each(len(x.docs), func(i int) {
		d := documents[i]
		x.docs[i] = rank.Doc{Terms: terms(d.Text), Group: d.Group, Position: d.Position}
		if embed != nil {
			x.docs[i].Vector = embed(d.Text)
		}
	})
	for i, d := range x.docs {
		x.length += int64(len(d.Terms))
		for _, t := range d.Terms {
			list := x.postings[t]
			if n := len(list); n > 0 && int(list[n-1].doc) == i {
				list[n-1].times++
				continue
			}
			x.postings[t] = append(list, posting{int32(i), 1})
		}
	}
	return x
}

// Legs are a question and what was found for it, the best first.
type Legs struct {
	query  []string
	vector []float32
	corpus rank.Corpus
	words  []hit // by BM25
	near   []hit // by vector
}

type hit struct {
	doc   int
	score float64
	all   bool // it has all words of the query
}

// Ask returns the limit best documents of each leg.
func (x *Index) Ask(question string, limit int) *Legs {
	l := &Legs{query: rank.Distinct(x.terms(question))}
	l.corpus = rank.Corpus{Docs: int64(len(x.docs)), Terms: x.length, Frequency: map[string]int64{}}
	for _, t := range l.query {
		l.corpus.Frequency[t] = int64(len(x.postings[t]))
	}
	l.words = x.byWords(l, limit)
	if x.embed != nil {
		l.vector = x.embed(question)
		l.near = x.byVector(l.vector, limit)
	}
	return l
}

// byWords is BM25 as its formula is written, apart from package rank, so that each checks the other.
func (x *Index) byWords(l *Legs, limit int) []hit {
	average := float64(x.length) / float64(len(x.docs))
	scores, found := make([]float64, len(x.docs)), make([]int, len(x.docs))
	for _, t := range l.query {
		list := x.postings[t]
		df := float64(len(list))
		idf := math.Log(1 + (float64(len(x.docs))-df+0.5)/(df+0.5))
		for _, p := range list {
			tf := float64(p.times)
			scores[p.doc] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(len(x.docs[p.doc].Terms))/average))
			found[p.doc]++
		}
	}
	top := shortlist{limit: limit}
	for i, s := range scores {
		if found[i] > 0 {
			top.add(hit{i, s, found[i] == len(l.query)})
		}
	}
	return top.end()
}

func (x *Index) byVector(vector []float32, limit int) []hit {
	if vector == nil {
		return nil
	}
	top := shortlist{limit: limit}
	for i := range x.docs {
		if v := x.docs[i].Vector; v != nil {
			top.add(hit{doc: i, score: float64(dot(vector, v))})
		}
	}
	return top.end()
}

// A shortlist keeps the best of many hits.
type shortlist struct {
	limit int
	hits  []hit
	full  bool
	least float64
}

func (s *shortlist) add(h hit) {
	if s.full && h.score <= s.least { // a later document gives way where the scores are equal
		return
	}
	s.hits = append(s.hits, h)
	if len(s.hits) >= 4*s.limit {
		s.hits = best(s.hits, s.limit)
		s.full, s.least = true, s.hits[len(s.hits)-1].score
	}
}

func (s *shortlist) end() []hit { return best(s.hits, s.limit) }

func best(hits []hit, n int) []hit {
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc))
	})
	return hits[:min(n, len(hits))]
}
