package recall

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weft-go/weft/memory/internal/rank"
)

// A Method puts what was found into an order. It returns numbers of documents, the best first.
type Method func(x *Index, l *Legs) []int

// AllWords finds only what has all words of the question, as PostgreSQL's plainto_tsquery and
// FTS5 do unless they are told otherwise.
func AllWords(_ *Index, l *Legs) (order []int) {
	for _, h := range l.words {
		if h.all {
			order = append(order, h.doc)
		}
	}
	return order
}

// ByWords goes by BM25 alone, and ByVector by vectors alone.
func ByWords(_ *Index, l *Legs) []int { return documents(l.words) }

// ByVector goes by vectors alone.
func ByVector(_ *Index, l *Legs) []int { return documents(l.near) }

func documents(hits []hit) []int {
	order := make([]int, len(hits))
	for i, h := range hits {
		order[i] = h.doc
	}
	return order
}

// ByRanks fuses the places that documents have in the two legs, and not their scores: the reciprocal rank fusion that
// many use.
func ByRanks(_ *Index, l *Legs) []int {
	sum := map[int]float64{}
	for _, leg := range [][]hit{l.words, l.near} {
		for i, h := range leg {
			sum[h.doc] += 1 / float64(60+i+1)
		}
	}
	return byScore(slices.Sorted(maps.Keys(sum)), func(doc int) float64 { return sum[doc] })
}

// Fusion is what package rank does, with weights.
func Fusion(w rank.Weights) Method {
	return func(x *Index, l *Legs) []int {
		numbers := l.candidates()
		docs := make([]rank.Doc, len(numbers))
		for i, n := range numbers {
			docs[i] = x.docs[n]
		}
		score := map[int]float64{}
		for i, s := range w.Score(l.query, l.vector, l.corpus, docs) {
			score[numbers[i]] = s.Total
		}
		return byScore(numbers, func(doc int) float64 { return score[doc] })
	}
}

// candidates returns what either leg found, each once, in ascending order.
func (l *Legs) candidates() []int {
	numbers := slices.Sorted(slices.Values(append(documents(l.words), documents(l.near)...)))
	return slices.Compact(numbers)
}

func byScore(numbers []int, score func(doc int) float64) []int {
	slices.SortStableFunc(numbers, func(a, b int) int { return cmp.Compare(score(b), score(a)) })
	return numbers
}

// A Figure is what a method reached with the questions of a set.
type Figure struct {
	// Recall5 and Recall10 are the mean shares of the answers that were among the first 5 and 10, and MRR10 the
	// mean of the inverse of the first answer's place, 0 beyond 10.
	Recall5, Recall10, MRR10 float64
}

// Measure asks all questions, and lets each method put what is found into an order.
func Measure(x *Index, questions []Question, limit int, methods ...Method) []Figure {
	results := make([][]Figure, len(questions))
	each(len(questions), func(i int) {
		legs := x.Ask(questions[i].Text, limit)
		results[i] = make([]Figure, len(methods))
		for j, m := range methods {
			results[i][j] = figure(m(x, legs), questions[i].Answers)
		}
	})
	means := make([]Figure, len(methods))
	for _, r := range results {
		for j, f := range r {
			means[j].Recall5 += f.Recall5 / float64(len(questions))
			means[j].Recall10 += f.Recall10 / float64(len(questions))
			means[j].MRR10 += f.MRR10 / float64(len(questions))
		}
	}
	return means
}

func figure(order, answers []int) (f Figure) {
	var found5, found10 int
	for i, doc := range order[:min(10, len(order))] {
		if !slices.Contains(answers, doc) {
			continue
		}
		if found10 == 0 {
			f.MRR10 = 1 / float64(i+1)
		}
		found10++
		if i < 5 {
			found5++
		}
	}
	f.Recall5 = float64(found5) / float64(min(5, len(answers)))
	f.Recall10 = float64(found10) / float64(min(10, len(answers)))
	return f
}
