package sqlitememory

import (
	"context"
	"database/sql"
	"iter"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// Find implements [driver.FactStore]. It selects the facts at the beginning, and reads them page by
// page. It leaves out facts that are removed or no longer selected when their page is read.
func (f *factStore) Find(ctx context.Context, q driver.FactQuery) iter.Seq2[driver.FactRecord, error] {
	return func(yield func(driver.FactRecord, error) bool) {
		l := finder{facts: f, query: &q}
		for more := true; more; {
			page, err := l.next(ctx)
			for _, r := range page {
				if !yield(r.FactRecord, nil) {
					return
				}
			}
			if err != nil {
				yield(driver.FactRecord{}, f.db.fail("find", err))
				return
			}
			more = len(l.keys) > 0
		}
	}
}

// A finder is a call of Find in progress.
type finder struct {
	facts *factStore
	query *driver.FactQuery
	sel   *selection // nil before the first page
	keys  []int64    // of the facts that are still to be read
}

func (l *finder) next(ctx context.Context) (page []*row, err error) {
	sel, keys := l.sel, l.keys
	err = l.facts.db.sql.Read(ctx, func(q *sqlitedb.Session) (err error) {
		if l.sel == nil {
			if sel, err = factSelection(q, l.query); err != nil || sel.none {
				return err
			}
			if keys, err = newestKeys(ctx, q, sel, l.query); err != nil {
				return err
			}
		}
		page, err = byKeys(q, factsByKeys+` AND `+sel.text, keys[:min(pageRows, len(keys))], sel.args, scanRow)
		return err
	})
	l.sel, l.keys = sel, keys[min(pageRows, len(keys)):]
	kept := page[:0]
	for _, r := range page {
		if sel.holds(r.Metadata) {
			kept = append(kept, r)
		}
	}
	return kept, err
}

// newestKeys returns the keys of the facts that a query selects, newest first.
func newestKeys(ctx context.Context, q *sqlitedb.Session, sel *selection, query *driver.FactQuery) ([]int64, error) {
	limit, limited := query.Most()
	if !limited {
		limit = -1
	}
	columns, inSQL := `f.key, NULL`, limit
	if len(sel.where) > 0 {
		columns, inSQL = `f.key, f.metadata`, -1
	}
	var keys []int64
	text := `SELECT ` + columns + ` FROM mem_fact f WHERE ` + sel.text + ` ORDER BY f.created_at DESC, f.id DESC LIMIT ?`
	err := q.Each(text, append(sel.args[:len(sel.args):len(sel.args)], inSQL), func(scan func(...any) error) (bool, error) {
		var key int64
		var metadata sql.RawBytes
		if err := scan(&key, &metadata); err != nil {
			return false, err
		}
		if sel.holds(metadata) {
			keys = append(keys, key)
		}
		return len(keys) != limit, ctx.Err()
	})
	return keys, err
}
