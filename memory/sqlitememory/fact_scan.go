package sqlitememory

import (
	"context"
	"database/sql"
	"math"

	"github.com/weft-go/weft/memory"
)

// readWords does what the index of words does, for queries over so many scopes that it would
// be asked for too many words, as each scope has its own: it reads those of everything that the query selects.
func (u *surveyor) readWords(ctx context.Context, c *memory.Candidates) ([]int64, error) {
	counts := make([]int64, len(u.search.Terms))
	err := u.eachWords(ctx, counts, func(int64, float64) {
		for i, n := range counts {
			if n > 0 {
				c.Frequency[i]++
			}
		}
	})
	if err != nil || u.search.Limit <= 0 {
		return nil, err
	}
	best := nearest{limit: u.search.Limit}
	average := float64(c.Terms) / max(1, float64(c.Facts))
	err = u.eachWords(ctx, counts, func(key int64, words float64) {
		score := 0.0
		for i, n := range counts {
			if n > 0 {
				score += bm25(float64(n), words/average, float64(c.Frequency[i]), float64(c.Facts))
			}
		}
		if score > 0 {
			best.show(near{key, score})
		}
	})
	return best.best(), err
}

// bm25 is as in the index.
func bm25(count, length, frequency, facts float64) float64 {
	const k1, b = 1.2, 0.75
	rarity := max(math.Log((facts-frequency+0.5)/(frequency+0.5)), 1e-6)
	return rarity * count * (k1 + 1) / (count + k1*(1-b+b*length))
}

// eachWords calls fn for each selected fact, with its key and how many words it has; how often it has each
// term is in counts.
func (u *surveyor) eachWords(ctx context.Context, counts []int64, fn func(key int64, words float64)) error {
	at := make(map[string]int, len(u.search.Terms))
	for i, term := range u.search.Terms {
		at[term] = i
	}
	text := `SELECT f.key, f.terms FROM mem_fact f WHERE ` + u.sel.text
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
