package pgmemory

import (
	"context"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory"
)

// Facts is a [memory.Store], and a [memory.Sweeper]. It is as safe for concurrent use as its [DB].
type Facts struct{ db *DB }

var _ interface {
	memory.Store
	memory.Sweeper
} = (*Facts)(nil)

var factTable = table{"weft.mem_fact", "mem_fact_near_", `weft.mem_fact f JOIN weft.mem_scope s ON s.key = f.scope`}

// page is how many rows are read at once. No connection is held while the caller has them.
const page = 256

const eventsQuery = `SELECT e.key, e.kind, e.was, e.became, e.actor, e.at FROM weft.mem_event e JOIN weft.mem_scope s ON s.key = e.scope
	WHERE s.digest = $1::bytea AND e.fact = $2::text::uuid AND e.key > $3::bigint ORDER BY e.key LIMIT $4::int`

// History implements [memory.Store].
func (f *Facts) History(ctx context.Context, s memory.Scope, id string) iter.Seq2[memory.Event, error] {
	return func(yield func(memory.Event, error) bool) {
		if !isID(id) {
			return
		}
		for after, more := int64(0), true; more; {
			list, last, err := f.events(ctx, s, id, after)
			for _, e := range list {
				if !yield(e, nil) {
					return
				}
			}
			if err != nil {
				yield(memory.Event{}, f.db.fail("history", err))
				return
			}
			after, more = last, len(list) == page
		}
	}
}

// events returns a page, and the key of the last event in it.
func (f *Facts) events(ctx context.Context, s memory.Scope, id string, after int64) (list []memory.Event, last int64, err error) {
	last = after
	err = f.db.link.read(ctx, f.db.sql(eventsQuery), []any{scopeDigest(s), id, after, page}, func() { list, last = nil, after }, func(rows pgx.Rows) error {
		e := memory.Event{ID: id}
		if err := rows.Scan(&last, &e.Kind, &e.Before, &e.After, &e.By, &e.At); err != nil {
			return err
		}
		e.At = e.At.UTC()
		list = append(list, e)
		return nil
	})
	return list, last, err
}
