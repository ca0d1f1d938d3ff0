package sqlitecheckpoint

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// listPage is how many checkpoints are read at once. No view of the database is
// held while the caller has them.
const listPage = 128

// List implements [checkpoint.Store]. It reads as it goes, and may leave out what
// is removed in the meantime; what is stored in the meantime it does not yield.
func (s *Store) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.Checkpoint{}, err)
			return
		}
		l := lister{store: s, query: q}
		for more := true; more; {
			page, err := l.next(ctx)
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
			if err != nil {
				yield(checkpoint.Checkpoint{}, s.fail("list", l.at, err))
				return
			}
			more = len(page) == listPage && (q.Limit == 0 || l.count < q.Limit)
		}
	}
}

// A lister is a list that is under way.
type lister struct {
	store  *Store
	query  checkpoint.Query
	text   string // of the query; empty before the first page
	args   []any  // without the last two, before and limit
	before int64  // the key of the last one that was read
	count  int
	at     checkpoint.Key // what an error is about
}

// next returns the next page, which may come with an error.
func (l *lister) next(ctx context.Context) ([]checkpoint.Checkpoint, error) {
	l.at = checkpoint.Key{Thread: l.query.Thread, Namespace: l.query.Namespace}
	var page []checkpoint.Checkpoint
	err := l.store.db.Read(ctx, func(q *sqlitedb.Session) error {
		page = page[:0]
		if l.text == "" {
			if known, err := l.start(q); err != nil || !known {
				return err
			}
		}
		rows, err := l.rows(q)
		for _, r := range rows {
			l.at.ID = r.c.ID
			if err := r.complete(q, &l.store.names, l.query.Thread); err != nil {
				return err
			}
			if l.query.Writes {
				if r.c.Writes, err = pendingWrites(q, r.key); err != nil {
					return err
				}
			}
			page = append(page, r.c)
			l.count++
		}
		l.at.ID = ""
		return err
	})
	return page, err
}

// rows returns those before a damaged one with the error about that.
func (l *lister) rows(q *sqlitedb.Session) ([]*row, error) {
	limit := listPage
	if l.query.Limit > 0 {
		limit = min(limit, l.query.Limit-l.count)
	}
	rows := make([]*row, 0, limit)
	err := q.Each(l.text, append(slices.Clip(l.args), l.before, limit), func(scan func(...any) error) (bool, error) {
		r, err := scanRow(scan)
		if err != nil {
			return false, fmt.Errorf("checkpoint %q: %w", r.c.ID, err)
		}
		rows = append(rows, r)
		l.before = r.key
		return true, nil
	})
	return rows, err
}

// start makes the query. It reports false if there is nothing to list.
func (l *lister) start(q *sqlitedb.Session) (bool, error) {
	thread, err := findThread(q, l.query.Thread)
	if err != nil {
		return false, err
	}
	l.before = endKey(thread)
	if l.query.Before != "" {
		l.at.ID = l.query.Before
		if thread != 0 {
			if l.before, _, err = findID(q, thread, packID(l.query.Before)); err != nil {
				return false, err
			}
		}
		if thread == 0 || l.before == 0 {
			return false, checkpoint.ErrNotFound
		}
	}
	if thread == 0 {
		return false, nil
	}
	var namespace int64
	if !l.query.AllNamespaces {
		var known bool
		if namespace, known, err = findNamespace(q, thread, l.query.Namespace); err != nil || !known {
			return false, err
		}
	}
	l.text, l.args = listQuery(&l.query, thread, namespace)
	return true, nil
}

// listQuery joins parts that are constants: whatever a caller gives is an
// argument. It lacks the last two: the key to list before, and a limit.
func listQuery(q *checkpoint.Query, thread, namespace int64) (string, []any) {
	var b strings.Builder
	var args []any
	with := func(text string, values ...any) {
		b.WriteString(text)
		args = append(args, values...)
	}
	with(`SELECT ` + rowColumns + ` FROM cp_step s `)
	if namespace != 0 {
		with(`INDEXED BY cp_step_namespace `)
	}
	with(joinParent+`WHERE s.key > ?`, firstKey(thread))
	switch {
	case namespace != 0:
		with(` AND s.namespace = ? AND s.namespace > 0`, namespace)
	case !q.AllNamespaces:
		with(` AND s.namespace = 0`)
	}
	if q.Source != "" {
		with(` AND s.source = ?`, packSource(q.Source))
	}
	if q.Step != nil {
		with(` AND s.step = ?`, *q.Step)
	}
	if q.Run != "" || len(q.Metadata) > 0 {
		with(` AND s.origin IN (SELECT o.key FROM cp_origin o WHERE o.thread = ?`, thread)
		if q.Run != "" {
			with(` AND o.run = ?`, q.Run)
		}
		if len(q.Metadata) > 0 {
			with(` AND (SELECT count(*) FROM cp_label l WHERE l.origin = o.key AND (l.name, l.value) IN (VALUES `)
			for i, name := range slices.Sorted(maps.Keys(q.Metadata)) {
				if i > 0 {
					with(`, `)
				}
				with(`(?, ?)`, name, q.Metadata[name])
			}
			with(`)) = ?`, len(q.Metadata))
		}
		with(`)`)
	}
	with(` AND s.key < ? ORDER BY s.key DESC LIMIT ?`)
	return b.String(), args
}
