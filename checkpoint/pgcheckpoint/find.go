package pgcheckpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// A Condition is what a checkpoint's metadata has to meet. It is made by [Text],
// [Number] and [Has].
type Condition struct {
	key    string
	op     Op
	text   string
	number float64
	kind   conditionKind
}

type conditionKind int

const (
	conditionHas conditionKind = iota
	conditionText
	conditionNumber
)

// Op is how a value of metadata compares to another.
type Op int

// How a value may compare.
const (
	Equal Op = iota
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

var operators = []string{"=", "<>", "<", "<=", ">", ">="}

// Text compares a value of metadata as text, byte by byte. Metadata that lacks the
// key does not meet it, whatever the operator.
func Text(key string, op Op, value string) Condition {
	return Condition{key: key, op: op, text: value, kind: conditionText}
}

// Number compares a value of metadata as a number: "9" is less than "10". What is no
// number, and metadata that lacks the key, do not meet it.
func Number(key string, op Op, value float64) Condition {
	return Condition{key: key, op: op, number: value, kind: conditionNumber}
}

// Has is met by metadata that has the key.
func Has(key string) Condition { return Condition{key: key} }

// A Search selects checkpoints of all threads.
type Search struct {
	// Prefix keeps the threads whose ids begin with it.
	Prefix string
	// Where are the conditions, all of which have to be met.
	Where []Condition
	// Latest keeps the newest checkpoint of each thread only, of those that meet
	// the conditions.
	Latest bool
	// Limit is the most to yield. Zero means all.
	Limit int
}

// Find yields checkpoints as List does, of all threads by the thread's id and then the
// newest first. A Text that is Equal is looked up in an index.
func (s *Store) Find(ctx context.Context, q Search) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		f := finder{store: s, search: &q}
		err := f.check()
		for more := err == nil; more; {
			var rows []row
			if rows, err = f.next(ctx); err != nil {
				break
			}
			for i := range rows {
				c, rerr := rows[i].checkpoint()
				if rerr != nil || ctx.Err() != nil {
					yield(checkpoint.Checkpoint{}, s.fail("find", c.Key, firstError(ctx.Err(), rerr)))
					return
				}
				if !yield(c, nil) {
					return
				}
			}
			more = len(rows) == listPage && (q.Limit == 0 || f.count < q.Limit)
		}
		if err != nil {
			yield(checkpoint.Checkpoint{}, s.fail("find", checkpoint.Key{Thread: q.Prefix}, err))
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
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

// A finder is a search that is under way.
type finder struct {
	store  *Store
	search *Search
	thread string // of the last one that was read
	seq    int32
	count  int
}

func (f *finder) check() error {
	if f.search.Limit < 0 {
		return fmt.Errorf("limit %d: %w", f.search.Limit, checkpoint.ErrInvalid)
	}
	if err := checkText("prefix", f.search.Prefix); err != nil {
		return err
	}
	for _, c := range f.search.Where {
		if c.op < Equal || c.op > GreaterOrEqual {
			return fmt.Errorf("operator %d: %w", c.op, checkpoint.ErrInvalid)
		}
		if err := checkText("condition", c.key+c.text); err != nil {
			return err
		}
	}
	return nil
}

func (f *finder) next(ctx context.Context) ([]row, error) {
	limit := listPage
	if f.search.Limit > 0 {
		limit = min(limit, f.search.Limit-f.count)
	}
	text, args, err := f.statement(limit)
	if err != nil {
		return nil, err
	}
	var rows []row
	text = f.store.sql(text)
	err = f.store.retry(ctx, func(bool) error {
		rows = rows[:0]
		return f.store.link.send(ctx, labour, text, args, func(found pgx.Rows) error {
			var r row
			err := found.Scan(append(r.fields(), &r.thread)...)
			rows = append(rows, r)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if n := len(rows); n > 0 {
		f.thread, f.seq = rows[n-1].thread, rows[n-1].seq
	}
	f.count += len(rows)
	return rows, nil
}

// statement returns the query for a page.
func (f *finder) statement(limit int) (string, []any, error) {
	b := statement{}
	b.with(`SELECT `)
	if f.search.Latest {
		b.with(`DISTINCT ON (t.id) `)
	}
	b.with(rowColumns+`, t.id FROM weft.cp_thread t JOIN weft.cp_step s ON s.thread = t.key `+rowJoins+
		` WHERE t.tenant = ?::text`, f.store.tenant)
	if f.search.Prefix != "" {
		b.with(` AND starts_with(t.id, ?::text) AND t.id >= ?::text`, f.search.Prefix, f.search.Prefix)
	}
	for _, c := range f.search.Where {
		if err := c.add(&b); err != nil {
			return "", nil, err
		}
	}
	switch {
	case f.count > 0 && f.search.Latest:
		b.with(` AND t.id > ?::text`, f.thread)
	case f.count > 0:
		b.with(` AND (t.id > ?::text OR t.id = ?::text AND s.seq < ?::int)`, f.thread, f.thread, f.seq)
	}
	b.with(` ORDER BY t.id, s.seq DESC LIMIT ?::int`, limit)
	return b.text.String(), b.args, nil
}

// number matches what PostgreSQL takes for a number. In a statement, a question mark
// would stand for an argument.
const number = `'^-{0,1}[0-9]{1,200}([.][0-9]{1,200}){0,1}([eE][-+]{0,1}[0-9]{1,2}){0,1}$'`

func (c *Condition) add(b *statement) error {
	switch {
	case c.kind == conditionHas:
		b.with(` AND o.meta ->> ?::text IS NOT NULL`, c.key)
	case c.kind == conditionNumber:
		value := strconv.FormatFloat(c.number, 'g', -1, 64)
		b.with(` AND CASE WHEN o.meta ->> ?::text ~ `+number+` THEN (o.meta ->> ?::text)::numeric `+
			operators[c.op]+` ?::text::numeric ELSE false END`, c.key, c.key, value)
	case c.op == Equal:
		pair, err := json.Marshal(map[string]string{c.key: c.text})
		if err != nil {
			return err
		}
		b.with(` AND o.meta @> ?::text::jsonb`, string(pair))
	default:
		b.with(` AND (o.meta ->> ?::text) COLLATE "C" `+operators[c.op]+` ?::text`, c.key, c.text)
	}
	return nil
}
