package sqlitememory

import (
	"context"
	"database/sql"
	"slices"
)

// readWords ranks by words without the index: it reads the terms of all selected rows. A search calls it if it
// selects too many scopes or terms, because each scope has its own index word for each term.
func (u *survey) readWords(ctx context.Context) ([]int64, error) {
	text := `SELECT f.key, f.terms FROM ` + u.of.table + ` f WHERE ` + u.sel.text
	err := u.eachTerms(ctx, text, u.sel.args, func(_ int64, terms []string) {
		for i, term := range u.terms {
			if slices.Contains(terms, term) {
				u.frequency[i]++
			}
		}
	})
	if err != nil || u.limit <= 0 {
		return nil, err
	}
	scorer, best := u.scorer(), nearest{limit: u.limit}
	err = u.eachTerms(ctx, text, u.sel.args, func(key int64, terms []string) {
		if score := scorer.Score(terms); score > 0 {
			best.show(near{key, score})
		}
	})
	return best.best(), err
}

// eachTerms calls fn for each selected row of a statement that selects keys and terms.
func (u *survey) eachTerms(ctx context.Context, text string, args []any, fn func(key int64, terms []string)) error {
	return u.each(ctx, text, args, func(scan func(...any) error) (bool, error) {
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
		fn(key, terms)
		return true, nil
	})
}
