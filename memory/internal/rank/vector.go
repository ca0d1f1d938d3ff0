package rank

import "math"

const (
	// spread is the least range of cosines that is scaled to 0 to 1, so that tiny differences stay small.
	spread = 0.1
	// few is the number of candidates at which half of the lowest cosine is used as the cosine of unrelated
	// texts.
	few = 20
)

// cosines sets the cosine of each document with the query. It returns the number of documents with a
// comparable vector.
func cosines(query []float32, docs []Doc, scores []Score) (compared int) {
	if len(query) == 0 {
		return 0
	}
	for i := range docs {
		if len(docs[i].Vector) == len(query) {
			scores[i].Similarity, scores[i].Compared = Cosine(query, docs[i].Vector), true
			compared++
		}
	}
	return compared
}

// nearness returns the nearness of each document to the query, between 0 and 1. The nearest document has 1, unless
// all cosines are nearly equal. The cosine of unrelated texts depends on the model, for example 0 or 0.7. So the
// lowest cosine of the documents with First becomes nearly 0: most documents that were found only by words are
// unrelated. If there are few candidates, even the document with the lowest cosine may be related, and keeps most
// of its cosine.
func nearness(scores []Score) []float64 {
	lowest, highest, n := 1.0, 0.0, 0.0
	for i := range scores {
		if s := &scores[i]; s.First && s.Compared {
			n++
			lowest, highest = min(lowest, max(0, s.Similarity)), max(highest, s.Similarity)
		}
	}
	near := make([]float64, len(scores))
	lowest *= n / (n + few)
	for i := range scores {
		if scores[i].Compared {
			near[i] = max(0, max(0, scores[i].Similarity)-lowest) / max(highest-lowest, spread)
		}
	}
	return near
}

// Cosine returns the cosine of the angle between two vectors. It is 0 if their lengths differ, if one has
// only zeros, or if one has NaN or an infinity.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	b = b[:len(a)]
	var dot0, aa0, bb0, dot1, aa1, bb1 float32 // two sums of each, which the processor can compute at the same time
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

// Wild reports whether a score is NaN or an infinity.
func Wild(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }
