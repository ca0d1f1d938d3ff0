package pgmemory

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory"
)

// Search implements [memory.Store], in one round trip.
func (f *Facts) Search(ctx context.Context, s memory.Search) (memory.Candidates, error) {
	c, err := f.search(ctx, &s)
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
	p := f.db.newPlan(&factTable, sel, &wanted{words(s.Query.Scope.Tenant, s.Terms), s.Embedding, s.Model, s.Limit}, f.db.columns())
	c := memory.Candidates{}
	reset := func() { c = memory.Candidates{Frequency: make([]int64, len(s.Terms))} }
	err = f.db.link.read(ctx, f.db.sql(p.text), p.args, reset, func(rows pgx.Rows) error {
		frequency := []int64{}
		counted := []any{&c.Facts, &c.Terms, &frequency, &p.indexed}
		if rows.RawValues()[len(counted)] == nil { // no candidate
			err := rows.Scan(append(counted, make([]any, columnCount)...)...)
			copy(c.Frequency, frequency)
			return err
		}
		r, err := scanRow(rows, counted...)
		c.Records = append(c.Records, r.Record)
		copy(c.Frequency, frequency)
		return err
	})
	if err == nil {
		f.db.sizes.note(p, c.Facts, c.Terms, c.Facts > int64(f.db.options.Exact))
	}
	return c, err
}
