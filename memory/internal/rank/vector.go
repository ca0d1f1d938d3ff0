package rank

import "math"

const (
	// spread is the least difference of cosines that may count as a whole.
	spread = 0.1
	// few is how many candidates it takes to know half of what a model gives to texts that have nothing to do
	// with each other.
	few = 20
)

// nearness returns how near each document is to the query, between 0 and 1, and which documents have a vector; nil if
// none has. The nearest has 1. Models differ in what they give to texts that have nothing to do with each other, 0 or 0.7,
// so the worst of many candidates has nearly 0. The worst of few may be good, and keeps the most of what it has.
func nearness(query []float32, docs []Doc) (near []float64, has []bool) {
	if len(query) == 0 {
		return nil, nil
	}
	near, has = make([]float64, len(docs)), make([]bool, len(docs))
	lowest, highest, n := 1.0, 0.0, 0.0
	for i := range docs {
		if len(docs[i].Vector) != len(query) {
			continue
		}
		has[i] = true
		n++
		near[i] = max(0, Cosine(query, docs[i].Vector))
		lowest, highest = min(lowest, near[i]), max(highest, near[i])
	}
	if n == 0 {
		return nil, nil
	}
	lowest *= n / (n + few)
	for i := range near {
		if has[i] {
			near[i] = max(0, near[i]-lowest) / max(highest-lowest, spread)
		}
	}
	return near, has
}

// Cosine returns the cosine of the angle between two vectors: 0 if they have not the same length, if one is nothing but zeros,
// or if there is something in them that is no finite number.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb [4]float32 // four sums, as a sum waits for the one before it
	n := len(a) &^ 3
	for i := 0; i < n; i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		for k := range 4 {
			dot[k] += x[k] * y[k]
			aa[k] += x[k] * x[k]
			bb[k] += y[k] * y[k]
		}
	}
	for i := n; i < len(a); i++ {
		dot[0] += a[i] * b[i]
		aa[0] += a[i] * a[i]
		bb[0] += b[i] * b[i]
	}
	cos := sum(dot) / math.Sqrt(sum(aa)*sum(bb))
	if math.IsNaN(cos) || math.IsInf(cos, 0) {
		return 0
	}
	return max(-1, min(1, cos))
}

func sum(parts [4]float32) float64 {
	return float64(parts[0]) + float64(parts[1]) + float64(parts[2]) + float64(parts[3])
}
