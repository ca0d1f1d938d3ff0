package sqlitememory

import (
	"context"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// Search implements [driver.FactStore]. It compares the vectors of all selected facts.
func (f *factStore) Search(ctx context.Context, s driver.FactSearch) (driver.FactCandidates, error) {
	var c driver.FactCandidates
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
		c = driver.FactCandidates{Facts: u.rows, Terms: u.words, Frequency: u.frequency}
		for _, r := range rows {
			c.Records = append(c.Records, r.FactRecord)
		}
		return err
	})
	if err != nil {
		return driver.FactCandidates{}, f.db.fail("search", err)
	}
	return c, nil
}
