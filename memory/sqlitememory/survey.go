package sqlitememory

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/weft-go/weft/internal/sqlitedb"
)

// A survey is a search of a corpus in progress.
type survey struct {
	*sqlitedb.Session
	of  *corpus
	sel *selection
	// The search: distinct words, a vector and its model, and the maximum number of candidates by
	// words, and by the vector.
	terms     []string
	embedding []float32
	model     string
	limit     int

	// The result: the number of rows in the statistics, the number of their words, and for each term
	// the number of rows that have it.
	rows, words int64
	frequency   []int64
	selected    keySet
	nearest     nearest
}

// find returns the keys of the candidates in a selection, without repetition.
func (u *survey) find(ctx context.Context, sel *selection) ([]int64, error) {
	u.sel, u.selected, u.nearest = sel, keySet{}, nearest{limit: max(0, u.limit)}
	u.frequency = make([]int64, len(u.terms))
	if sel.none {
		return nil, ctx.Err()
	}
	if err := u.look(ctx); err != nil {
		return nil, err
	}
	keys, err := u.byWords(ctx)
	if err != nil {
		return nil, err
	}
	found := keySet{}
	for _, key := range keys {
		found.add(key)
	}
	for _, key := range u.nearest.best() {
		if !found.has(key) {
			keys = append(keys, key)
		}
	}
	return keys, ctx.Err()
}

// look counts the selected rows and compares their vectors.
func (u *survey) look(ctx context.Context) error {
	document, vector := `NULL`, `0, NULL`
	var args []any
	if len(u.sel.where) > 0 {
		document = u.of.document
	}
	want := u.embedding
	if len(want) > 0 && u.limit > 0 && u.of.vectors {
		vector = `f.norm, CASE WHEN f.model = ? AND f.dimension = ? THEN f.embedding END`
		args = []any{u.model, len(want)}
	}
	norm := length(want)
	text := `SELECT f.key, ` + u.of.counts + `, f.words, ` + document + `, ` + vector + ` FROM ` + u.of.table + ` f WHERE ` + u.sel.text
	return u.each(ctx, text, append(args, u.sel.args...), func(scan func(...any) error) (bool, error) {
		var key, counts, words int64
		var other float64
		var document, stored sql.RawBytes
		if err := scan(&key, &counts, &words, &document, &other, &stored); err != nil {
			return false, err
		}
		if !u.sel.holds(document) {
			return true, nil
		}
		u.rows += counts
		u.words += words
		u.selected.add(key)
		if stored == nil {
			return true, nil
		}
		if len(stored) != 4*len(want) {
			return false, fmt.Errorf("vector of %d bytes, want %d: %w", len(stored), 4*len(want), ErrCorrupt)
		}
		score := 0.0
		if norm > 0 && other > 0 {
			score = dot(want, stored) / (norm * other)
		}
		u.nearest.show(near{key, score})
		return true, nil
	})
}

// maxTokens is the maximum number of words in one query of the index.
const maxTokens = 512

// byWords counts the selected rows that have each term, and returns the keys of the best rows.
func (u *survey) byWords(ctx context.Context) ([]int64, error) {
	if len(u.terms) == 0 {
		return nil, nil
	}
	if n := len(u.sel.scopes); n == 0 || n*len(u.terms) > maxTokens {
		return u.readWords(ctx)
	}
	for i, term := range u.terms {
		n, err := u.count(ctx, term)
		if err != nil {
			return nil, err
		}
		u.frequency[i] = n
	}
	return u.ranked(ctx)
}

// maxFrequency is the count at which counting stops, since a larger count does not change the rank
// of a common word.
const maxFrequency = 10_000

func (c *corpus) wordsQuery() string {
	return `SELECT rowid FROM ` + c.index + ` WHERE ` + c.index + ` MATCH ?`
}

// count counts the selected rows that have a term.
func (u *survey) count(ctx context.Context, term string) (n int64, err error) {
	err = u.each(ctx, u.of.wordsQuery(), []any{match([]string{term}, u.sel.scopes)}, func(scan func(...any) error) (bool, error) {
		var key int64
		if err := scan(&key); err != nil {
			return false, err
		}
		if u.selected.has(key) {
			n++
		}
		return n < maxFrequency, nil
	})
	return n, err
}

// wider is the factor by which more rows than wanted are read from the index. The function bm25 of
// the index counts the rows of all scopes, so the best rows of the selection are chosen from the
// rows that were read.
const wider = 4

// ranked returns the keys of the selected rows with the best words. The index also returns rows that
// are not selected. If too few of the first rows are selected, ranked queries the index again
// without a limit.
func (u *survey) ranked(ctx context.Context) (keys []int64, err error) {
	if u.limit <= 0 {
		return nil, nil
	}
	want := int(min(int64(u.limit)*wider, math.MaxInt32))
	query, words := u.of.wordsQuery()+` ORDER BY bm25(`+u.of.index+`), rowid DESC LIMIT ?`, match(u.terms, u.sel.scopes)
	for limit := want; ; {
		keys = keys[:0]
		read := 0
		err := u.each(ctx, query, []any{words, limit}, func(scan func(...any) error) (bool, error) {
			var key int64
			if err := scan(&key); err != nil {
				return false, err
			}
			if read++; u.selected.has(key) {
				keys = append(keys, key)
			}
			return len(keys) < want, nil
		})
		if err != nil {
			return nil, err
		}
		if len(keys) == want || limit < 0 || read < limit {
			break
		}
		limit = -1
	}
	if len(keys) <= u.limit {
		return keys, nil
	}
	return u.bestByWords(ctx, `SELECT f.key, f.terms FROM json_each(?) j CROSS JOIN `+u.of.table+` f ON f.key = j.value`, []any{listOf(keys)})
}

// each runs a query, and checks ctx every 256 rows.
func (u *survey) each(ctx context.Context, query string, args []any, fn func(scan func(...any) error) (bool, error)) error {
	n := 0
	return u.Each(query, args, func(scan func(...any) error) (bool, error) {
		if n++; n%256 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		return fn(scan)
	})
}

// A keySet is a set of keys. It needs little memory if the keys are close together.
type keySet map[int64]uint64

func (s keySet) add(key int64)      { s[key>>6] |= 1 << (key & 63) }
func (s keySet) has(key int64) bool { return s[key>>6]>>(key&63)&1 == 1 }
