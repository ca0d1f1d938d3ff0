package pgmemory

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// Find implements [driver.FactStore], with one round trip for each 256 facts. It leaves out facts
// that are removed or no longer selected when their page is read, and facts that are stored after
// it has begun.
func (f *factStore) Find(ctx context.Context, q driver.FactQuery) iter.Seq2[driver.FactRecord, error] {
	return func(yield func(driver.FactRecord, error) bool) {
		left, limited := q.Most()
		var after *row
		for more := true; more; {
			most := page
			if limited {
				most = min(left, page)
			}
			list, last, err := f.next(ctx, &q, after, most)
			for i := range list {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(list[i], nil) {
					return
				}
			}
			if err != nil {
				yield(driver.FactRecord{}, f.db.fail("find", err))
				return
			}
			left -= len(list)
			more = len(list) == most && (!limited || left > 0)
			if more {
				after = last
			}
		}
	}
}

// next returns a page of up to most facts after a row, and the last row of the page.
func (f *factStore) next(ctx context.Context, q *driver.FactQuery, after *row, most int) (list []driver.FactRecord, last *row, err error) {
	s, err := newSelection(q)
	if err != nil {
		return nil, nil, err
	}
	if after != nil {
		s.where += ` AND (f.created_at, f.id, f.key) < (` + s.add(after.CreatedAt.UTC(), "timestamptz") + `, ` + s.add(after.ID, "text") + `::uuid, ` +
			s.add(after.key, "bigint") + `)`
	}
	text := s.with + ` SELECT ` + f.db.columns() + scopeColumns + ` FROM weft.mem_fact f JOIN weft.mem_scope s ON s.key = f.scope WHERE ` + s.where +
		` ORDER BY f.created_at DESC, f.id DESC, f.key DESC LIMIT ` + s.add(most, "int")
	last = &row{}
	dest := append(last.dest(), scopeDest(&last.Scope)...)
	err = f.db.link.read(ctx, f.db.sql(text), s.args, func() { list = nil }, func(rows pgx.Rows) error {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		r, err := last.record()
		list = append(list, r)
		return err
	})
	return list, last, err
}
