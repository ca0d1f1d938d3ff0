package main

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A wordIndex finds documents by their words, with the two methods that Weft is compared with.
type wordIndex struct {
	words    func(text string) []string
	postings map[string][]posting
	lengths  []int
	average  float64
}

type posting struct{ document, times int }

func newWordIndex(documents []document, words func(string) []string) *wordIndex {
	x := &wordIndex{words: words, postings: map[string][]posting{}, lengths: make([]int, len(documents))}
	total := 0
	for i, d := range documents {
		list := words(d.text)
		x.lengths[i] = len(list)
		total += len(list)
		for _, w := range list {
			have := x.postings[w]
			if n := len(have); n > 0 && have[n-1].document == i {
				have[n-1].times++
				continue
			}
			x.postings[w] = append(have, posting{i, 1})
		}
	}
	x.average = float64(total) / float64(max(1, len(documents)))
	return x
}

// byBM25 returns the numbers of the ten best documents by BM25 (Robertson and Zaragoza 2009). With all set, a
// document needs to have all words of the text.
func (x *wordIndex) byBM25(text string, all bool) []int {
	scores, hits := map[int]float64{}, map[int]int{}
	query := slices.Compact(slices.Sorted(slices.Values(x.words(text))))
	n := float64(len(x.lengths))
	for _, w := range query {
		df := float64(len(x.postings[w]))
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		for _, p := range x.postings[w] {
			tf := float64(p.times)
			scores[p.document] += idf * tf * 2.2 / (tf + 1.2*(0.25+0.75*float64(x.lengths[p.document])/x.average))
			hits[p.document]++
		}
	}
	if all {
		maps.DeleteFunc(scores, func(d int, _ float64) bool { return hits[d] < len(query) })
	}
	return best(scores)
}

// fuseRanks returns the numbers of the ten best documents by reciprocal rank fusion (Cormack, Clarke and
// Büttcher 2009).
func fuseRanks(orders ...[]int) []int {
	scores := map[int]float64{}
	for _, order := range orders {
		for i, d := range order {
			scores[d] += 1 / float64(60+i+1)
		}
	}
	return best(scores)
}

// best returns the ten keys with the highest scores.
func best(scores map[int]float64) []int {
	order := slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b))
	})
	return order[:min(10, len(order))]
}
