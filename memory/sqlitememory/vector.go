package sqlitememory

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"math"
	"slices"
)

// packVector returns the stored form of a vector, or nil for an empty one.
func packVector(v []float32) []byte {
	if len(v) == 0 {
		return nil
	}
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func unpackVector(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}

// length returns the Euclidean length of a vector.
func length(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

// dot returns the dot product of a vector and a stored vector of the same dimension.
func dot(v []float32, stored []byte) float64 {
	var a, b, c, d float64 // independent sums, which the processor can compute at the same time
	for len(v) >= 4 && len(stored) >= 16 {
		a += float64(v[0]) * float64(math.Float32frombits(binary.LittleEndian.Uint32(stored)))
		b += float64(v[1]) * float64(math.Float32frombits(binary.LittleEndian.Uint32(stored[4:])))
		c += float64(v[2]) * float64(math.Float32frombits(binary.LittleEndian.Uint32(stored[8:])))
		d += float64(v[3]) * float64(math.Float32frombits(binary.LittleEndian.Uint32(stored[12:])))
		v, stored = v[4:], stored[16:]
	}
	for i, x := range v {
		a += float64(x) * float64(math.Float32frombits(binary.LittleEndian.Uint32(stored[4*i:])))
	}
	return a + b + c + d
}

// A near is the key of a row and the similarity of its vector.
type near struct {
	key   int64
	score float64
}

// nearest is a heap of at most limit rows: the rows with the best scores so far, and among equal scores
// the newest rows. The worst row is first.
type nearest struct {
	limit int
	list  []near
}

func (n *nearest) Len() int           { return len(n.list) }
func (n *nearest) Less(i, j int) bool { return n.list[i].worse(n.list[j]) }
func (n *nearest) Swap(i, j int)      { n.list[i], n.list[j] = n.list[j], n.list[i] }
func (n *nearest) Push(x any)         { n.list = append(n.list, x.(near)) }

func (n *nearest) Pop() any {
	last := n.list[len(n.list)-1]
	n.list = n.list[:len(n.list)-1]
	return last
}

func (x near) worse(y near) bool {
	return x.score < y.score || x.score == y.score && x.key < y.key
}

func (n *nearest) show(x near) {
	switch {
	case len(n.list) < n.limit:
		heap.Push(n, x)
	case n.limit > 0 && n.list[0].worse(x):
		n.list[0] = x
		heap.Fix(n, 0)
	}
}

// best returns the keys, the best first.
func (n *nearest) best() []int64 {
	slices.SortFunc(n.list, func(x, y near) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.key, x.key))
	})
	keys := make([]int64, len(n.list))
	for i, x := range n.list {
		keys[i] = x.key
	}
	return keys
}
