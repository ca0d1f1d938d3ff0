package pgmemory

import (
	"context"

	"github.com/weft-go/weft/memory/driver"
)

// Search implements [driver.FactStore], in one round trip. It takes more if programs in other
// languages have written facts since the last search.
func (f *factStore) Search(ctx context.Context, s driver.FactSearch) (driver.FactCandidates, error) {
	c, err := f.searchRead(ctx, s)
	if err != nil {
		return driver.FactCandidates{}, f.db.fail("search", err)
	}
	return c, nil
}

func (f *factStore) search(ctx context.Context, s *driver.FactSearch) (driver.FactCandidates, error) {
	sel, err := newSelection(&s.Query)
	if err != nil {
		return driver.FactCandidates{}, err
	}
	r := row{}
	r.Scope = s.Query.Scope
	columns, dest, table := f.db.columns(), r.dest(), &oneScope
	if !sel.one {
		columns, dest, table = columns+scopeColumns, append(dest, scopeDest(&r.Scope)...), &factTable
	}
	p := f.db.newPlan(table, sel, &wanted{words(s.Query.Scope.Tenant, s.Terms), s.Terms, s.Embedding, s.Model, s.Limit}, columns)
	c := driver.FactCandidates{Frequency: make([]int64, len(s.Terms))}
	err = f.db.seek(ctx, p, dest, func() { c.Records = nil }, func() error {
		if c.Records == nil {
			c.Records = make([]driver.FactRecord, 0, min(s.Limit, page))
		}
		record, err := r.record()
		c.Records = append(c.Records, record)
		return err
	})
	c.Facts, c.Terms = p.rows, p.terms
	copy(c.Frequency, p.frequency)
	return c, err
}
