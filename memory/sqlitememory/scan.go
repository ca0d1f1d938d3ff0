package sqlitememory

import (
	"context"
	"database/sql"
	"math"
)

// readWords ranks by words without the index, from the terms of all selected rows. It is used if
// the index would have to be asked for too many words, as each scope has different index words.
func (u *survey) readWords(ctx context.Context) ([]int64, error) {
	counts := make([]int64, len(u.terms))
	err := u.eachWords(ctx, counts, func(int64, float64) {
		for i, n := range counts {
			if n > 0 {
				u.frequency[i]++
			}
		}
	})
	if err != nil || u.limit <= 0 {
		return nil, err
	}
	best := nearest{limit: u.limit}
	average := float64(u.words) / max(1, float64(u.rows))
	err = u.eachWords(ctx, counts, func(key int64, words float64) {
		score := 0.0
		for i, n := range counts {
			if n > 0 {
				score += bm25(float64(n), words/average, float64(u.frequency[i]), float64(u.rows))
			}
		}
		if score > 0 {
			best.show(near{key, score})
		}
	})
	return best.best(), err
}

// bm25 returns the score of a row for one term, as the index computes it.
func bm25(count, length, frequency, rows float64) float64 {
	const k1, b = 1.2, 0.75
	rarity := max(math.Log((rows-frequency+0.5)/(frequency+0.5)), 1e-6)
	return rarity * count * (k1 + 1) / (count + k1*(1-b+b*length))
}

// eachWords calls fn for each selected row, with its key and the number of its words. Before each
// call it sets counts to the number of occurrences of each term in the row.
func (u *survey) eachWords(ctx context.Context, counts []int64, fn func(key int64, words float64)) error {
	at := make(map[string]int, len(u.terms))
	for i, term := range u.terms {
		at[term] = i
	}
	text := `SELECT f.key, f.terms FROM ` + u.of.table + ` f WHERE ` + u.sel.text
	return u.each(ctx, text, u.sel.args, func(scan func(...any) error) (bool, error) {
		var key int64
		var packed sql.RawBytes
		if err := scan(&key, &packed); err != nil {
			return false, err
		}
		if !u.selected.has(key) {
			return true, nil
		}
		terms, err := unpackTerms(packed)
		if err != nil {
			return false, err
		}
		clear(counts)
		for _, term := range terms {
			if i, ok := at[term]; ok {
				counts[i]++
			}
		}
		fn(key, float64(len(terms)))
		return true, nil
	})
}
