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

// A Condition is a test of a checkpoint's metadata. Create it with [Text], [Number] or
// [Has].
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

// Op is a comparison operator.
type Op int

// The comparison operators.
const (
	Equal Op = iota
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

var operators = []string{"=", "<>", "<", "<=", ">", ">="}

// Text compares a metadata value as text, byte by byte. Metadata without the key never
// matches.
func Text(key string, op Op, value string) Condition {
	return Condition{key: key, op: op, text: value, kind: conditionText}
}

// Number compares a metadata value as a number: "9" is less than "10". Metadata without
// the key never matches. A value that is not a number never matches.
func Number(key string, op Op, value float64) Condition {
	return Condition{key: key, op: op, number: value, kind: conditionNumber}
}

// Has matches metadata that has the key.
func Has(key string) Condition { return Condition{key: key} }

// A Search selects checkpoints of all threads.
type Search struct {
	// Prefix selects the threads whose ids begin with it.
	Prefix string
	// Where lists conditions. A checkpoint has to match all of them.
	Where []Condition
	// Latest selects only the newest matching checkpoint of each thread.
	Latest bool
	// Limit is the maximum number of checkpoints. Zero means no limit.
	Limit int
}

// Find yields checkpoints of all threads, with the same fields as List. They are ordered
// by thread id, and newest first within a thread. [Text] conditions with [Equal] use an
// index.
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

// A statement is an SQL statement that is built from constant texts. Values of the caller
// are always arguments.
type statement struct {
	text strings.Builder
	args []any
}

// with appends text, in which each ? stands for the next element of args.
func (b *statement) with(text string, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		b.args = append(b.args, arg)
		fmt.Fprintf(&b.text, "%s$%d", before, len(b.args))
		text = after
	}
	b.text.WriteString(text)
}

// A finder reads the pages of a search.
type finder struct {
	store  *Store
	search *Search
	thread string // of the last checkpoint that was read
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
	err = f.store.retry(ctx, maintenanceTimeout, func(t try) error {
		rows = rows[:0]
		return f.store.link.send(ctx, t.limit, text, args, func(found pgx.Rows) error {
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

// number is a regular expression for numbers that PostgreSQL can convert to numeric. It
// contains no question mark, which would stand for an argument.
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
