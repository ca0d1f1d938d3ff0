package sqlitememory

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/internal/rank"
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
	selected    rowSet
	nearest     nearest
}

// find returns the keys of the candidates in a selection, without repetition.
func (u *survey) find(ctx context.Context, sel *selection) ([]int64, error) {
	u.sel, u.selected, u.nearest = sel, rowSet{}, nearest{limit: max(0, u.limit)}
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
	keys = append(keys, u.nearest.best()...)
	slices.Sort(keys)
	return slices.Compact(keys), ctx.Err()
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
		u.selected.add(key, words)
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

// maxTokens is the maximum number of words that are looked up in the index.
const maxTokens = 512

// byWords counts the selected rows that have each term, and returns the keys of the best rows.
func (u *survey) byWords(ctx context.Context) ([]int64, error) {
	if len(u.terms) == 0 {
		return nil, nil
	}
	if n := len(u.sel.scopes); n == 0 || n*len(u.terms) > maxTokens {
		return u.readWords(ctx)
	}
	found := make([][]occurrence, len(u.terms))
	for i, term := range u.terms {
		list, err := u.occurrences(ctx, term)
		if err != nil {
			return nil, err
		}
		found[i], u.frequency[i] = list, int64(len(list))
	}
	if u.limit <= 0 {
		return nil, nil
	}
	return u.ranked(found), nil
}

// An occurrence is a row that has a term, and the number of times that the row has it.
type occurrence struct {
	key   int64
	times int
}

// occurrences returns the selected rows that have a term.
func (u *survey) occurrences(ctx context.Context, term string) (list []occurrence, err error) {
	query := `SELECT doc FROM ` + u.of.index + `_occurrence WHERE term = ?`
	for i := range u.sel.scopes {
		token := string(u.sel.scopes[i].appendToken(nil, term))
		err := u.each(ctx, query, []any{token}, func(scan func(...any) error) (bool, error) {
			var key int64
			if err := scan(&key); err != nil {
				return false, err
			}
			if n := len(list); n > 0 && list[n-1].key == key {
				list[n-1].times++
			} else if u.selected.has(key) {
				list = append(list, occurrence{key, 1})
			}
			return true, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ranked returns the keys of the rows with the best BM25 scores. found has the rows of each term.
func (u *survey) ranked(found [][]occurrence) []int64 {
	scorer, scores := u.scorer(), map[int64]float64{}
	for i, list := range found {
		for _, o := range list {
			scores[o.key] += scorer.Share(i, o.times, u.selected.words(o.key))
		}
	}
	best := nearest{limit: u.limit}
	for key, score := range scores {
		best.show(near{key, score})
	}
	return best.best()
}

// scorer returns a scorer of rows by BM25. The survey must have its rows, words and frequency.
func (u *survey) scorer() *rank.Words {
	return rank.NewWords(u.terms, rank.NewCorpus(u.rows, u.words, u.terms, u.frequency))
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

// A rowSet has the keys of rows, and the number of words of each. It needs little memory if the keys are close together.
type rowSet map[int64]*rowBlock

type rowBlock struct {
	has   uint64
	words [64]int32
}

func (s rowSet) add(key, words int64) {
	block := s[key>>6]
	if block == nil {
		block = &rowBlock{}
		s[key>>6] = block
	}
	block.has |= 1 << (key & 63)
	block.words[key&63] = int32(words)
}

func (s rowSet) has(key int64) bool {
	block := s[key>>6]
	return block != nil && block.has>>(key&63)&1 == 1
}

// words returns the number of words of a row of the set.
func (s rowSet) words(key int64) int { return int(s[key>>6].words[key&63]) }
