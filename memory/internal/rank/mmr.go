package rank

// MMR chooses up to k items by maximal marginal relevance (Carbonell and Goldstein 1998). In each step, it chooses
// the item with the highest value of lambda times its relevance, minus (1-lambda) times its similarity to
// the most similar chosen item. It returns indexes of relevance, the best first. With lambda 1, the
// order is by relevance. Equal items keep their order.
//
// Relevance and similarity should be between 0 and 1. MMR calls similarity at most k times the length of
// relevance.
func MMR(relevance []float64, similarity func(i, j int) float64, lambda float64, k int) []int {
	k = max(0, min(k, len(relevance)))
	lambda = min(1, max(0, lambda))
	chosen := make([]int, 0, k)
	taken := make([]bool, len(relevance))
	nearest := make([]float64, len(relevance))
	for len(chosen) < k {
		best, most := -1, 0.0
		for i, r := range relevance {
			if taken[i] {
				continue
			}
			if v := lambda*r - (1-lambda)*nearest[i]; best < 0 || v > most {
				best, most = i, v
			}
		}
		taken[best] = true
		chosen = append(chosen, best)
		if lambda == 1 || len(chosen) == k {
			continue
		}
		for i := range relevance {
			if !taken[i] {
				nearest[i] = max(nearest[i], similarity(best, i))
			}
		}
	}
	return chosen
}

// Similarity returns how similar two documents are, between 0 and 1: the cosine of their vectors, or the
// share of common terms if one has no vector.
func Similarity(x, y *Doc) float64 {
	if len(x.Vector) > 0 && len(x.Vector) == len(y.Vector) {
		return max(0, Cosine(x.Vector, y.Vector))
	}
	in := make(map[string]bool, len(x.Terms))
	for _, t := range x.Terms {
		in[t] = true
	}
	all, shared := len(in), 0
	for _, t := range Distinct(y.Terms) {
		if in[t] {
			shared++
		} else {
			all++
		}
	}
	if all == 0 {
		return 0
	}
	return float64(shared) / float64(all)
}
