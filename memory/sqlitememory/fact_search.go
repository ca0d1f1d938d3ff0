package sqlitememory

import (
	"context"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory"
)

// Search implements [memory.Store]. The nearest vectors are found by comparing all that
// the query selects.
func (f *Facts) Search(ctx context.Context, s memory.Search) (memory.Candidates, error) {
	var c memory.Candidates
	err := f.db.sql.Read(ctx, func(q *sqlitedb.Session) error {
		u := survey{Session: q, of: factCorpus, terms: s.Terms, embedding: s.Embedding, model: s.Model, limit: s.Limit}
		sel, err := factSelection(q, &s.Query)
		if err != nil {
			return err
		}
		keys, err := u.find(ctx, sel)
		if err != nil {
			return err
		}
		rows, err := byKeys(q, factsByKeys, keys, nil, scanRow)
		c = memory.Candidates{Facts: u.rows, Terms: u.words, Frequency: u.frequency}
		for _, r := range rows {
			c.Records = append(c.Records, r.Record)
		}
		return err
	})
	if err != nil {
		return memory.Candidates{}, f.db.fail("search", err)
	}
	return c, nil
}
