package pgcheckpoint

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// listPage is how many checkpoints are read at once. Nothing is open while the
// caller has them.
const listPage = 128

// List implements [checkpoint.Store]. It reads as it goes, and may leave out what
// is removed in the meantime; what is stored in the meantime it does not yield.
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

// A lister is a list that is under way.
type lister struct {
	store  *Store
	query  *checkpoint.Query
	thread int64 // its key, once it is known
	before int32 // the number of the last one that was read
	count  int
}

// next returns the next page.
func (l *lister) next(ctx context.Context) ([]row, error) {
	limit := listPage
	if l.query.Limit > 0 {
		limit = min(limit, l.query.Limit-l.count)
	}
	text, args, possible := l.statement(limit)
	if !possible {
		return nil, nil
	}
	var rows []row
	text = l.store.sql(text)
	err := l.store.retry(ctx, func(bool) error {
		rows = rows[:0]
		return l.store.link.send(ctx, l.store.timeout, text, args, func(found pgx.Rows) error {
			r := row{thread: l.query.Thread}
			fields := append(r.fields(), &l.thread)
			if l.query.Writes {
				fields = append(fields, r.writeFields()...)
			}
			err := found.Scan(fields...)
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
		l.before = rows[len(rows)-1].seq
	}
	l.count += len(rows)
	return rows, nil
}

const (
	listFrom = ` FROM weft.cp_step s ` + rowJoins + ` WHERE `

	// threadKey takes tenant and thread.
	threadKey = `(SELECT t.key FROM weft.cp_thread t WHERE t.tenant = $1::text AND t.id = $2::text)`

	hasIDQuery = `SELECT EXISTS (SELECT FROM weft.cp_step s WHERE s.thread = ` + threadKey + ` AND s.id = $3::uuid)`
)

// checkBefore tells a checkpoint that does not exist from one before which there
// is nothing.
func (l *lister) checkBefore(ctx context.Context) error {
	found := false
	args := []any{l.store.tenant, l.query.Thread, packID(l.query.Before).uuid}
	err := l.store.query(ctx, hasIDQuery, args, func(rows pgx.Rows) error { return rows.Scan(&found) })
	if err == nil && !found {
		err = fmt.Errorf("before %q: %w", l.query.Before, checkpoint.ErrNotFound)
	}
	return err
}

// A statement is put together from parts that are constants: whatever a caller
// gives is an argument.
type statement struct {
	text strings.Builder
	args []any
}

// with adds a part, in which each ? stands for the next argument.
func (b *statement) with(text string, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		b.args = append(b.args, arg)
		fmt.Fprintf(&b.text, "%s$%d", before, len(b.args))
		text = after
	}
	b.text.WriteString(text)
}

// statement returns the query for a page. It reports false if it can find nothing.
func (l *lister) statement(limit int) (text string, args []any, possible bool) {
	q := l.query
	b := statement{}
	b.with(`SELECT ` + rowColumns + `, s.thread`)
	if q.Writes {
		b.with(`, ` + writeColumns)
	}
	b.with(listFrom)
	if l.thread == 0 {
		b.with(`s.thread = (SELECT t.key FROM weft.cp_thread t WHERE t.tenant = ?::text AND t.id = ?::text)`, l.store.tenant, q.Thread)
	} else {
		b.with(`s.thread = ?::bigint`, l.thread)
	}
	switch {
	case q.AllNamespaces:
	case q.Namespace == "":
		b.with(` AND s.space = 0`)
	default:
		b.with(` AND s.space <> 0 AND s.space = weft.cp_space_key(s.thread, ?::text)`, q.Namespace)
	}
	switch {
	case l.before > 0:
		b.with(` AND s.seq < ?::int`, l.before)
	case q.Before != "":
		b.with(` AND s.seq < (SELECT x.seq FROM weft.cp_step x WHERE x.thread = s.thread AND x.id = ?::uuid)`, packID(q.Before).uuid)
	}
	if !l.filters(&b) {
		return "", nil, false
	}
	b.with(` ORDER BY s.seq DESC LIMIT ?::int`, limit)
	return b.text.String(), b.args, true
}

// filters reports false if there is one that nothing stored can meet.
func (l *lister) filters(b *statement) bool {
	q := l.query
	o := origin{run: q.Run, metadata: q.Metadata}
	if o.check() != nil || !storable(string(q.Source)) {
		return false
	}
	if q.Source != "" {
		b.with(` AND s.source = ?::text`, string(q.Source))
	}
	if q.Step != nil {
		b.with(` AND s.step = ?::bigint`, int64(*q.Step))
	}
	if q.Run != "" {
		b.with(` AND o.run = ?::text`, q.Run)
	}
	if len(q.Metadata) > 0 {
		meta, err := metaJSON(q.Metadata)
		if err != nil {
			return false
		}
		b.with(` AND o.meta @> ?::text::jsonb`, *meta)
	}
	return true
}
