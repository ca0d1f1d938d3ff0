package pgmemory

import (
	"context"

	"github.com/weft-go/weft/memory"
)

// Search implements [memory.Store], in one round trip, or more where programs in
// other languages have written since.
func (f *Facts) Search(ctx context.Context, s memory.Search) (memory.Candidates, error) {
	c, err := f.searchRead(ctx, s)
	if err != nil {
		return memory.Candidates{}, f.db.fail("search", err)
	}
	return c, nil
}

func (f *Facts) search(ctx context.Context, s *memory.Search) (memory.Candidates, error) {
	sel, err := newSelection(&s.Query)
	if err != nil {
		return memory.Candidates{}, err
	}
	r := row{}
	r.Scope = s.Query.Scope
	columns, dest, table := f.db.columns(), r.dest(), &oneScope
	if !sel.one {
		columns, dest, table = columns+scopeColumns, append(dest, scopeDest(&r.Scope)...), &factTable
	}
	p := f.db.newPlan(table, sel, &wanted{words(s.Query.Scope.Tenant, s.Terms), s.Terms, s.Embedding, s.Model, s.Limit}, columns)
	c := memory.Candidates{Frequency: make([]int64, len(s.Terms))}
	err = f.db.seek(ctx, p, dest, func() { c.Records = nil }, func() error {
		if c.Records == nil {
			c.Records = make([]memory.Record, 0, min(s.Limit, page))
		}
		record, err := r.record()
		c.Records = append(c.Records, record)
		return err
	})
	c.Facts, c.Terms = p.rows, p.terms
	copy(c.Frequency, p.frequency)
	return c, err
}
