package recall

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weft-go/weft/memory/internal/rank"
)

// Words are vectors of words that were learned from texts: the positive pointwise mutual information of words that
// stand near each other, brought to few dimensions by a truncated singular value decomposition. The vector of
// a text is the mean of those of its words, the rare ones counting more, without what all texts have in
// common. That is far less than a model of language knows, and it is all that is made of the data itself.
type Words struct {
	dimension int
	index     map[string]int32
	vectors   []float32 // a row each
	weight    []float32
	common    []float32
}

const (
	window   = 5
	least    = 5 // times that a word has to be there
	maxWords = 40_000
	smooth   = 0.75
)

// Learn makes vectors of words. The same texts give the same vectors.
func Learn(texts [][]string, dimension int) *Words {
	w := &Words{dimension: dimension}
	counts := w.vocabulary(texts)
	rows := w.cooccurrences(texts)
	rows.information()
	w.vectors = rows.decompose(dimension)
	var total float64
	for _, n := range counts {
		total += float64(n)
	}
	w.weight = make([]float32, len(counts))
	for i, n := range counts {
		w.weight[i] = float32(1e-3 / (1e-3 + float64(n)/total))
	}
	w.center(texts)
	return w
}

// vocabulary gives the words numbers, the most frequent first.
func (w *Words) vocabulary(texts [][]string) []int {
	count := map[string]int{}
	for _, text := range texts {
		for _, t := range text {
			count[t]++
		}
	}
	words := make([]string, 0, len(count))
	for t, n := range count {
		if n >= least {
			words = append(words, t)
		}
	}
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	words = words[:min(len(words), maxWords)]
	w.index = make(map[string]int32, len(words))
	counts := make([]int, len(words))
	for i, t := range words {
		w.index[t] = int32(i)
		counts[i] = count[t]
	}
	return counts
}

// matrix is symmetric and sparse.
type matrix struct {
	start  []int
	column []int32
	value  []float32
}

// cooccurrences counts which words are within the window of which. A nearer one counts more.
func (w *Words) cooccurrences(texts [][]string) *matrix {
	n := len(w.index)
	pairs := map[uint64]float32{}
	var list []int32
	for _, text := range texts {
		list = list[:0]
		for _, t := range text {
			if i, ok := w.index[t]; ok {
				list = append(list, i)
			}
		}
		for i, a := range list {
			for d := 1; d <= window && i+d < len(list); d++ {
				b := list[i+d]
				pairs[uint64(min(a, b))<<32|uint64(max(a, b))] += 1 / float32(d)
			}
		}
	}
	m := &matrix{start: make([]int, n+1)}
	keys := make([]uint64, 0, len(pairs))
	for k := range pairs {
		keys = append(keys, k)
		m.start[k>>32+1]++
		if a, b := k>>32, k&(1<<32-1); a != b {
			m.start[b+1]++
		}
	}
	slices.Sort(keys)
	for i := range n {
		m.start[i+1] += m.start[i]
	}
	m.column, m.value = make([]int32, m.start[n]), make([]float32, m.start[n])
	next := slices.Clone(m.start)
	put := func(row, column uint64, v float32) {
		m.column[next[row]], m.value[next[row]] = int32(column), v
		next[row]++
	}
	for _, k := range keys {
		a, b, v := k>>32, k&(1<<32-1), pairs[k]
		put(a, b, v)
		if a != b {
			put(b, a, v)
		}
	}
	return m
}

// information makes counts positive pointwise mutual information.
func (m *matrix) information() {
	n := len(m.start) - 1
	sums, smoothed := make([]float64, n), make([]float64, n)
	var all, allSmoothed float64
	for i := range n {
		for _, v := range m.value[m.start[i]:m.start[i+1]] {
			sums[i] += float64(v)
		}
		smoothed[i] = math.Pow(sums[i], smooth)
		all += sums[i]
		allSmoothed += smoothed[i]
	}
	for i := range n {
		for k := m.start[i]; k < m.start[i+1]; k++ {
			j := m.column[k]
			pmi := math.Log(float64(m.value[k]) * allSmoothed / (sums[i] * smoothed[j]))
			m.value[k] = float32(max(0, pmi))
		}
	}
}

// times returns the product with a dense matrix of the given width.
func (m *matrix) times(dense []float32, width int) []float32 {
	n := len(m.start) - 1
	out := make([]float32, n*width)
	each(n, func(i int) {
		row := out[i*width : (i+1)*width]
		for k := m.start[i]; k < m.start[i+1]; k++ {
			v := m.value[k]
			other := dense[int(m.column[k])*width : (int(m.column[k])+1)*width]
			for d := range row {
				row[d] += v * other[d]
			}
		}
	})
	return out
}

// decompose returns the leading directions by randomised subspace iteration, each scaled by the root of its strength.
func (m *matrix) decompose(dimension int) []float32 {
	n, width := len(m.start)-1, dimension+16
	width = min(width, n)
	random := rand.New(rand.NewPCG(1, 2))
	q := make([]float32, n*width)
	for i := range q {
		q[i] = float32(random.NormFloat64())
	}
	for range 5 {
		q = m.times(q, width)
		orthogonal(q, n, width)
	}
	z := m.times(q, width)
	strength := make([]float64, width)
	for d := range width { // q is near the eigenvectors: their lengths are the eigenvalues
		for i := range n {
			strength[d] += float64(z[i*width+d]) * float64(q[i*width+d])
		}
	}
	order := make([]int, width)
	for d := range order {
		order[d] = d
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(strength[b]), math.Abs(strength[a])) })
	out := make([]float32, n*dimension)
	for d := range min(dimension, width) {
		scale := float32(math.Sqrt(math.Abs(strength[order[d]])))
		for i := range n {
			out[i*dimension+d] = q[i*width+order[d]] * scale
		}
	}
	return out
}

// orthogonal makes the columns orthonormal, by Gram and Schmidt's way, twice.
func orthogonal(q []float32, n, width int) {
	columns := make([][]float32, width)
	for d := range columns {
		columns[d] = make([]float32, n)
		for i := range n {
			columns[d][i] = q[i*width+d]
		}
	}
	for d, c := range columns {
		for range 2 {
			for _, before := range columns[:d] {
				p := dot(before, c)
				for i := range c {
					c[i] -= p * before[i]
				}
			}
		}
		if l := float32(math.Sqrt(float64(dot(c, c)))); l > 0 {
			for i := range c {
				c[i] /= l
			}
		}
	}
	for d, c := range columns {
		for i := range n {
			q[i*width+d] = c[i]
		}
	}
}

func dot(a, b []float32) (sum float32) {
	b = b[:len(a)]
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

// center finds the direction that the vectors of texts share most.
func (w *Words) center(texts [][]string) {
	w.common = nil
	var sample [][]float32
	for i := 0; i < len(texts); i += 1 + len(texts)/5000 {
		if v := w.vector(texts[i]); v != nil {
			sample = append(sample, v)
		}
	}
	direction := make([]float32, w.dimension)
	direction[0] = 1
	for range 30 {
		next := make([]float32, w.dimension)
		for _, v := range sample {
			p := dot(v, direction)
			for d := range next {
				next[d] += p * v[d]
			}
		}
		if !normalize(next) {
			return
		}
		direction = next
	}
	w.common = direction
}

// Vector returns the vector of a text, or nil if no word of it is known.
func (w *Words) Vector(text string) []float32 { return w.vector(rank.Terms(text)) }

// Knows reports whether a word was learned.
func (w *Words) Knows(word string) bool {
	terms := rank.Terms(word)
	if len(terms) != 1 {
		return false
	}
	_, ok := w.index[terms[0]]
	return ok
}

func (w *Words) vector(terms []string) []float32 {
	v := make([]float32, w.dimension)
	for _, t := range terms {
		i, ok := w.index[t]
		if !ok {
			continue
		}
		word := w.vectors[int(i)*w.dimension : (int(i)+1)*w.dimension]
		l := float32(math.Sqrt(float64(dot(word, word))))
		if l == 0 {
			continue
		}
		for d := range v {
			v[d] += w.weight[i] * word[d] / l
		}
	}
	if !normalize(v) {
		return nil
	}
	if w.common != nil {
		p := dot(v, w.common)
		for d := range v {
			v[d] -= p * w.common[d]
		}
		if !normalize(v) {
			return nil
		}
	}
	return v
}

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

// Len returns how many words were learned.
func (w *Words) Len() int { return len(w.index) }
