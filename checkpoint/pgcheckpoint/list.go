package pgcheckpoint

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// listPage is the maximum number of rows in a page. No connection is held while the caller
// handles a page.
const listPage = 128

// List implements [checkpoint.Store]. It reads page by page. Checkpoints that are
// removed meanwhile may be left out, and checkpoints that are stored meanwhile are not
// yielded.
func (s *Store) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		at := checkpoint.Key{Thread: q.Thread, Namespace: q.Namespace}
		if err := q.Check(); err != nil {
			yield(checkpoint.Checkpoint{}, err)
			return
		}
		if err := checkKey(checkpoint.Key{Thread: q.Thread, Namespace: q.Namespace, ID: q.Before}); err != nil {
			yield(checkpoint.Checkpoint{}, s.fail("list", at, err))
			return
		}
		l := lister{store: s, query: &q}
		for more := true; more; {
			rows, err := l.next(ctx)
			for i := range rows {
				if err = ctx.Err(); err != nil {
					break
				}
				c, rerr := rows[i].checkpoint()
				if rerr != nil {
					at.ID, err = c.ID, rerr
					break
				}
				if !yield(c, nil) {
					return
				}
			}
			if err != nil {
				yield(checkpoint.Checkpoint{}, s.fail("list", at, err))
				return
			}
			more = len(rows) == listPage && (q.Limit == 0 || l.count < q.Limit)
		}
	}
}

// A lister reads the pages of a list.
type lister struct {
	store  *Store
	query  *checkpoint.Query
	before *int32 // the number of the last checkpoint that was read
	count  int
}

// next returns the next page.
func (l *lister) next(ctx context.Context) ([]row, error) {
	limit := listPage
	if l.query.Limit > 0 {
		limit = min(limit, l.query.Limit-l.count)
	}
	args, possible := l.args(limit)
	if !possible {
		return nil, nil
	}
	var rows []row
	text := l.store.sql(listQuery)
	err := l.store.retry(ctx, l.store.timeout, func(t try) error {
		rows = rows[:0]
		return l.store.link.send(ctx, t.limit, text, args, func(found pgx.Rows) error {
			r := row{thread: l.query.Thread}
			err := found.Scan(append(r.fields(), r.writeFields()...)...)
			rows = append(rows, r)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 && l.count == 0 && l.query.Before != "" {
		return nil, l.checkBefore(ctx)
	}
	if len(rows) > 0 {
		l.before = &rows[len(rows)-1].seq
	}
	l.count += len(rows)
	return rows, nil
}

const (
	// listQuery has the parameters tenant and thread; the number and the id to list
	// before; the namespace, source, step, run and metadata; a limit, and whether to
	// read pending writes.
	listQuery = `SELECT * FROM weft.cp_list($1::text, $2::text, $3::int, $4::uuid, $5::text,
	$6::text, $7::bigint, $8::text, $9::text::jsonb, $10::int, $11::boolean)`

	// hasIDQuery has the parameters tenant, thread and id.
	hasIDQuery = `SELECT EXISTS (SELECT FROM weft.cp_step s JOIN weft.cp_thread t ON t.key = s.thread
	WHERE t.tenant = $1::text AND t.id = $2::text AND s.id = $3::uuid)`
)

// checkBefore returns [checkpoint.ErrNotFound] if the thread has no checkpoint with the id
// l.query.Before.
func (l *lister) checkBefore(ctx context.Context) error {
	found := false
	args := []any{l.store.tenant, l.query.Thread, packID(l.query.Before).uuid}
	err := l.store.query(ctx, hasIDQuery, args, func(rows pgx.Rows) error { return rows.Scan(&found) })
	if err == nil && !found {
		err = fmt.Errorf("before %q: %w", l.query.Before, checkpoint.ErrNotFound)
	}
	return err
}

// args returns the arguments of listQuery for the next page. It returns false if no stored
// checkpoint can match the query.
func (l *lister) args(limit int) ([]any, bool) {
	q := l.query
	info := runInfo{run: q.Run, metadata: q.Metadata}
	if info.check() != nil || !storable(string(q.Source)) {
		return nil, false
	}
	meta, err := metaJSON(q.Metadata)
	if err != nil {
		return nil, false
	}
	before := optionalID(q.Before)
	if l.before != nil {
		before.Valid = false
	}
	namespace, step := &q.Namespace, (*int64)(nil)
	if q.AllNamespaces {
		namespace = nil
	}
	if q.Step != nil {
		n := int64(*q.Step)
		step = &n
	}
	return []any{
		l.store.tenant, q.Thread, l.before, before, namespace,
		optionalText(string(q.Source)), step, optionalText(q.Run), meta, limit, q.Writes,
	}, true
}

// optionalText returns null for an empty text.
func optionalText(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
