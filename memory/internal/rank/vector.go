package rank

import "math"

const (
	// spread is the least difference of cosines that may count as a whole.
	spread = 0.1
	// few is how many candidates it takes to know half of what a model gives to texts that have nothing to do
	// with each other.
	few = 20
)

// nearness returns the cosine of each document with the query, how near it is, between 0 and 1, and which documents have a
// vector; nil if none has. The nearest has 1. Models differ in what they give to texts that have nothing to do with each other, 0 or 0.7,
// so the worst of many candidates has nearly 0. The worst of few may be good, and keeps the most of what it has.
func nearness(query []float32, docs []Doc) (cosines, near []float64, has []bool) {
	if len(query) == 0 {
		return nil, nil, nil
	}
	cosines, near, has = make([]float64, len(docs)), make([]float64, len(docs)), make([]bool, len(docs))
	lowest, highest, n := 1.0, 0.0, 0.0
	for i := range docs {
		if len(docs[i].Vector) != len(query) {
			continue
		}
		has[i] = true
		n++
		cosines[i] = Cosine(query, docs[i].Vector)
		near[i] = max(0, cosines[i])
		lowest, highest = min(lowest, near[i]), max(highest, near[i])
	}
	if n == 0 {
		return nil, nil, nil
	}
	lowest *= n / (n + few)
	for i := range near {
		if has[i] {
			near[i] = max(0, near[i]-lowest) / max(highest-lowest, spread)
		}
	}
	return cosines, near, has
}

// Cosine returns the cosine of the angle between two vectors: 0 if they have not the same length, if one is nothing but zeros,
// or if there is something in them that is no finite number.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	b = b[:len(a)]
	var dot0, aa0, bb0, dot1, aa1, bb1 float32 // two sums of each, as a sum waits for the one before it
	n := len(a) &^ 1
	for i := 0; i < n; i += 2 {
		x, y := a[i], b[i]
		dot0 += x * y
		aa0 += x * x
		bb0 += y * y
		x, y = a[i+1], b[i+1]
		dot1 += x * y
		aa1 += x * x
		bb1 += y * y
	}
	if n < len(a) {
		x, y := a[n], b[n]
		dot0 += x * y
		aa0 += x * x
		bb0 += y * y
	}
	cos := float64(dot0+dot1) / math.Sqrt(float64(aa0+aa1)*float64(bb0+bb1))
	if Wild(cos) {
		return 0
	}
	return max(-1, min(1, cos))
}

// Wild reports whether a score is no finite number.
func Wild(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
