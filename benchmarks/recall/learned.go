package main

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
)

// A coOccurrence is an embedder that knows vectors of words, learned from texts: the positive pointwise mutual
// information of words that stand near each other, reduced by a truncated singular value decomposition.
// The vector of a text is the mean of the vectors of its words, weighted by their rarity,
// without the direction that most texts share (Arora, Liang and Ma 2017).
type coOccurrence struct {
	dimension int
	index     map[string]int
	vectors   [][]float32
	weight    []float32
	common    []float32
}

const (
	window    = 5 // words to each side
	leastSeen = 5 // occurrences of a word that is learned
	mostWords = 40_000
)

// learn makes vectors of words from the terms of texts. The same texts give the same vectors.
func learn(texts [][]string, dimension int) *coOccurrence {
	w := &coOccurrence{dimension: dimension}
	w.choose(texts)
	rows := w.count(texts)
	rows.information()
	w.vectors = rows.decompose(dimension)
	for _, v := range w.vectors {
		normalize(v)
	}
	w.center(texts)
	return w
}

// Model implements memory.Embedder.
func (w *coOccurrence) Model() string { return "learned" }

// Dimension implements memory.Embedder.
func (w *coOccurrence) Dimension() int { return w.dimension }

// Embed implements memory.Embedder. A text without a known word gets the vector of its spelling; see trigrams.
func (w *coOccurrence) Embed(_ context.Context, texts []string) ([][]float32, error) {
	list := make([][]float32, len(texts))
	for i, text := range texts {
		if list[i] = w.vector(terms(text)); list[i] == nil {
			list[i] = trigrams(w.dimension).vector(text)
		}
	}
	return list, nil
}

// knows reports whether a word was learned.
func (w *coOccurrence) knows(word string) bool {
	list := terms(word)
	if len(list) != 1 {
		return false
	}
	_, ok := w.index[list[0]]
	return ok
}

// vector returns the vector of a text, or nil if no word of it is known.
func (w *coOccurrence) vector(terms []string) []float32 {
	v := make([]float32, w.dimension)
	for _, t := range terms {
		if i, ok := w.index[t]; ok {
			add(v, w.weight[i], w.vectors[i])
		}
	}
	if !normalize(v) {
		return nil
	}
	if w.common != nil {
		add(v, -dot(v, w.common), w.common)
		if !normalize(v) {
			return nil
		}
	}
	return v
}

// choose numbers the words that are learned, the most frequent first.
func (w *coOccurrence) choose(texts [][]string) {
	seen := map[string]int{}
	for _, text := range texts {
		for _, t := range text {
			seen[t]++
		}
	}
	var words []string
	for t, n := range seen {
		if n >= leastSeen {
			words = append(words, t)
		}
	}
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(seen[b], seen[a]), cmp.Compare(a, b)) })
	words = words[:min(len(words), mostWords)]
	total := 0
	for _, t := range words {
		total += seen[t]
	}
	w.index = make(map[string]int, len(words))
	w.weight = make([]float32, len(words))
	for i, t := range words {
		w.index[t] = i
		w.weight[i] = float32(1e-3 / (1e-3 + float64(seen[t])/float64(total)))
	}
}

// A matrix is symmetric and sparse. It has a list of cells for each row.
type matrix [][]cell

type cell struct {
	column int
	value  float32
}

// count counts how often words are within the window of each other. A nearer word counts more.
func (w *coOccurrence) count(texts [][]string) matrix {
	pairs := map[[2]int32]float32{}
	var list []int32
	for _, text := range texts {
		list = list[:0]
		for _, t := range text {
			if i, ok := w.index[t]; ok {
				list = append(list, int32(i))
			}
		}
		for i, a := range list {
			for d := 1; d <= window && i+d < len(list); d++ {
				b := list[i+d]
				pairs[[2]int32{min(a, b), max(a, b)}] += 1 / float32(d)
			}
		}
	}
	m := make(matrix, len(w.index))
	for p, v := range pairs {
		a, b := int(p[0]), int(p[1])
		m[a] = append(m[a], cell{b, v})
		if a != b {
			m[b] = append(m[b], cell{a, v})
		}
	}
	for _, row := range m {
		slices.SortFunc(row, func(x, y cell) int { return cmp.Compare(x.column, y.column) })
	}
	return m
}

// information replaces counts by positive pointwise mutual information.
func (m matrix) information() {
	sums, smooth := make([]float64, len(m)), make([]float64, len(m))
	var total float64
	for i, row := range m {
		for _, c := range row {
			sums[i] += float64(c.value)
		}
		smooth[i] = math.Pow(sums[i], 0.75)
		total += smooth[i]
	}
	for i, row := range m {
		for k, c := range row {
			row[k].value = float32(max(0, math.Log(float64(c.value)*total/(sums[i]*smooth[c.column]))))
		}
	}
}

// times returns the product of m with each vector of dense.
func (m matrix) times(dense [][]float32) [][]float32 {
	out := make([][]float32, len(dense))
	parallel(len(dense), func(d int) {
		from, to := dense[d], make([]float32, len(m))
		for i, row := range m {
			var sum float32
			for _, c := range row {
				sum += c.value * from[c.column]
			}
			to[i] = sum
		}
		out[d] = to
	})
	return out
}

// decompose returns a vector for each row, by randomised subspace iteration (Halko, Martinsson and Tropp 2011). Each
// dimension is scaled by the root of its eigenvalue.
func (m matrix) decompose(dimension int) [][]float32 {
	random := rand.New(rand.NewPCG(1, 2))
	q := make([][]float32, min(dimension+16, len(m)))
	for d := range q {
		q[d] = make([]float32, len(m))
		for i := range q[d] {
			q[d][i] = float32(random.NormFloat64())
		}
	}
	for range 5 {
		q = m.times(q)
		orthogonalize(q)
	}
	values, order := make([]float64, len(q)), make([]int, len(q))
	for d, z := range m.times(q) {
		values[d], order[d] = math.Abs(float64(dot(z, q[d]))), d
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	out := make([][]float32, len(m))
	for i := range out {
		out[i] = make([]float32, dimension)
		for d, from := range order[:min(dimension, len(q))] {
			out[i][d] = q[from][i] * float32(math.Sqrt(values[from]))
		}
	}
	return out
}

// orthogonalize makes vectors orthonormal by the method of Gram and Schmidt, twice for its rounding errors.
func orthogonalize(q [][]float32) {
	for d, v := range q {
		for range 2 {
			for _, before := range q[:d] {
				add(v, -dot(before, v), before)
			}
		}
		normalize(v)
	}
}

// center finds the direction that the vectors of texts share most.
func (w *coOccurrence) center(texts [][]string) {
	var some [][]float32
	for i := 0; i < len(texts); i += 1 + len(texts)/5000 {
		if v := w.vector(texts[i]); v != nil {
			some = append(some, v)
		}
	}
	direction := make([]float32, w.dimension)
	direction[0] = 1
	for range 30 {
		next := make([]float32, w.dimension)
		for _, v := range some {
			add(next, dot(v, direction), v)
		}
		if !normalize(next) {
			return
		}
		direction = next
	}
	w.common = direction
}

func dot(a, b []float32) (sum float32) {
	b = b[:len(a)]
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// add adds a multiple of a vector to v.
func add(v []float32, factor float32, other []float32) {
	other = other[:len(v)]
	for i, x := range other {
		v[i] += factor * x
	}
}

// normalize scales a vector to the length 1. It reports false for a vector of zeros.
func normalize(v []float32) bool {
	l := float32(math.Sqrt(float64(dot(v, v))))
	if l == 0 {
		return false
	}
	for i := range v {
		v[i] /= l
	}
	return true
}

// parallel calls f for all numbers below n, on as many goroutines as there are processors.
func parallel(n int, f func(i int)) {
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	group.Wait()
}
