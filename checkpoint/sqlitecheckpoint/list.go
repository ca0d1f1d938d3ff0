package sqlitecheckpoint

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// listPage is the number of checkpoints that one read transaction reads.
const listPage = 128

const (
	// rowsQuery selects the rows between two keys, without the keys themselves. Its
	// arguments are both keys and the limit.
	rowsQuery = `SELECT ` + rowColumns + ` FROM cp_step s ` + joinParent +
		`WHERE s.key > ? AND s.key < ? ORDER BY s.key DESC LIMIT ?`

	// namespaceRowsQuery selects rows of one namespace. Its arguments are the namespace
	// and those of rowsQuery.
	namespaceRowsQuery = `SELECT ` + rowColumns + ` FROM cp_step s INDEXED BY cp_step_namespace ` + joinParent +
		`WHERE s.namespace = ? AND s.namespace > 0 AND s.key > ? AND s.key < ? ORDER BY s.key DESC LIMIT ?`
)

// List implements [checkpoint.Store]. It reads in pages: a checkpoint that is
// removed during the loop may be missing, and one that is stored during the loop
// is not yielded.
func (s *Store) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.Checkpoint{}, err)
			return
		}
		l := lister{store: s, query: q, page: listPage}
		if q.Limit > 0 {
			l.page = min(l.page, q.Limit)
		}
		for !l.done {
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
		}
	}
}

// A lister holds the progress of a List.
type lister struct {
	store  *Store
	query  checkpoint.Query
	text   string         // of the SQL query; empty before the first page
	args   []any          // of the SQL query, without the last two: before and limit
	before int64          // the key of the last row that was read
	page   int            // the number of rows to read next
	count  int            // checkpoints that were returned
	done   bool           // there is nothing more to read
	at     checkpoint.Key // named in errors
}

// next returns the next page. If it returns an error, it also returns the checkpoints that it
// read before the error.
func (l *lister) next(ctx context.Context) ([]checkpoint.Checkpoint, error) {
	l.at = checkpoint.Key{Thread: l.query.Thread, Namespace: l.query.Namespace}
	begin := *l
	var page []checkpoint.Checkpoint
	err := l.store.db.Read(ctx, func(q *sqlitedb.Session) error {
		*l, page = begin, page[:0] // Read may call this function again.
		if l.text == "" {
			if known, err := l.start(q); err != nil || !known {
				l.done = true
				return err
			}
		}
		rows, err := readRows(q, l.text, append(slices.Clip(l.args), l.before, l.page))
		l.done, l.page = len(rows) < l.page, listPage
		for _, r := range rows {
			l.at.ID, l.before = r.c.ID, r.key
			// Also verify the rows that do not match the query: a damaged column may cause the
			// mismatch.
			if err := r.complete(q, &l.store.names, l.query.Thread); err != nil {
				return err
			}
			if !selects(&l.query, &r.c) {
				continue
			}
			if l.query.Writes {
				writes, err := pendingWrites(q, r.key, r.c.ID)
				if err != nil {
					return err
				}
				r.c.Writes = writes
			}
			page = append(page, r.c)
			if l.count++; l.count == l.query.Limit {
				l.done = true
				return nil
			}
		}
		l.at.ID = ""
		return err
	})
	return page, err
}

// selects reports whether a query selects a checkpoint of its thread.
func selects(q *checkpoint.Query, c *checkpoint.Checkpoint) bool {
	if !q.AllNamespaces && c.Namespace != q.Namespace || q.Source != "" && c.Source != q.Source ||
		q.Run != "" && c.Run != q.Run || q.Step != nil && c.Step != *q.Step {
		return false
	}
	for name, value := range q.Metadata {
		if got, ok := c.Metadata[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// start sets the SQL query. It returns false if no checkpoint can match.
func (l *lister) start(q *sqlitedb.Session) (bool, error) {
	thread, err := findThread(q, l.query.Thread)
	if err != nil {
		return false, err
	}
	l.before = endKey(thread)
	if l.query.Before != "" {
		l.at.ID = l.query.Before
		if l.before, err = l.findBefore(q, thread); err != nil {
			return false, err
		}
	}
	if thread == 0 {
		return false, nil
	}
	l.text, l.args = rowsQuery, []any{firstKey(thread)}
	if !l.query.AllNamespaces && l.query.Namespace != "" {
		namespace, known, err := findNamespace(q, thread, l.query.Namespace)
		if err != nil || !known {
			return false, err
		}
		l.text, l.args = namespaceRowsQuery, []any{namespace, firstKey(thread)}
		// A row whose namespace is damaged is not in the index.
		if err := l.store.verifyNewer(q, l.query.Thread, firstKey(thread)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// findBefore returns the key of the checkpoint that the query names in Before.
func (l *lister) findBefore(q *sqlitedb.Session, thread int64) (int64, error) {
	if thread == 0 {
		return 0, checkpoint.ErrNotFound
	}
	id := packID(l.query.Before)
	key, _, err := findID(q, thread, id)
	if err != nil || key != 0 {
		return key, err
	}
	if err := l.store.confirmMissing(q, thread, l.query.Thread, id); err != nil {
		return 0, err
	}
	return 0, checkpoint.ErrNotFound
}

// readRows runs a query. If a row is damaged, it returns the rows before it and an error.
func readRows(q *sqlitedb.Session, query string, args []any) ([]*row, error) {
	var rows []*row
	err := q.Each(query, args, func(scan func(...any) error) (bool, error) {
		r, err := scanRow(scan)
		if err != nil {
			return false, fmt.Errorf("checkpoint %q: %w", r.c.ID, err)
		}
		rows = append(rows, r)
		return true, nil
	})
	return rows, err
}

// verifyNewer verifies the rows that are newer than a key. A query has skipped them because
// they are in other namespaces. verifyNewer reads one page at most.
func (s *Store) verifyNewer(q *sqlitedb.Session, thread string, key int64) error {
	return s.verifyRows(q, thread, key, endKey(threadOf(key)))
}

// verifyRows verifies the checksums of the newest rows between two keys, one page
// at most.
func (s *Store) verifyRows(q *sqlitedb.Session, thread string, after, before int64) error {
	rows, err := readRows(q, rowsQuery, []any{after, before, listPage})
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := r.complete(q, &s.names, thread); err != nil {
			return fmt.Errorf("checkpoint %q: %w", r.c.ID, err)
		}
	}
	return nil
}
