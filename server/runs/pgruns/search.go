package pgruns

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/server/runs"
)

// A condition is the text of a search from FROM on, with its arguments.
type condition struct {
	text string
	args []any
}

// and adds a condition. %s stands for the argument.
func (c *condition) and(text string, arg any) {
	c.text += ` AND ` + strings.Replace(text, `%s`, c.arg(arg), 1)
}

// arg adds an argument and returns its placeholder.
func (c *condition) arg(arg any) string {
	c.args = append(c.args, arg)
	return fmt.Sprintf(`$%d`, len(c.args))
}

// ofOpen reports whether the table run_open can answer a query: interrupted threads or failed threads, in the order of the
// table's index.
func ofOpen(q *runs.Query) bool {
	return q.Kind == runs.Thread && len(q.Statuses) == 1 && (q.Statuses[0] == "interrupted" || q.Statuses[0] == "error") &&
		(q.Order == "" || q.Order == runs.ByCreated)
}

// ofLive reports whether the table run_live can answer a query: unfinished runs or busy threads. For a query with a
// parent or ids, other indexes are better.
func ofLive(q *runs.Query) bool {
	live := map[runs.Kind][]string{runs.Run: {"pending", "running"}, runs.Thread: {"busy"}}[q.Kind]
	return len(q.Statuses) > 0 && q.Parent == "" && q.IDs == nil &&
		!slices.ContainsFunc(q.Statuses, func(status string) bool { return !slices.Contains(live, status) })
}

const (
	liveRecords = ` FROM weft.run_live JOIN weft.run_record USING (kind, id) WHERE kind = $1`
	openThreads = ` FROM weft.run_open JOIN weft.run_record ON id = thread AND kind = $1 AND kind <> 'run' WHERE state = $2`
	countOpen   = `SELECT count(*) FROM weft.run_open WHERE state = $1`
)

func conditionOf(q *runs.Query) (*condition, error) {
	c := &condition{text: ` FROM weft.run_record WHERE kind = $1`, args: []any{string(q.Kind)}}
	switch {
	case ofOpen(q):
		c = &condition{text: openThreads, args: append(c.args, q.Statuses[0])}
	case ofLive(q):
		c.text = liveRecords
	case q.Kind != runs.Run:
		c.text += ` AND kind <> 'run'` // so that the index of labels can be used
	}
	if q.IDs != nil {
		c.and(`id = ANY(%s::text[])`, q.IDs)
	}
	if q.Parent != "" {
		c.and(`parent = %s`, q.Parent)
	}
	if q.Owner != nil {
		c.and(`owner = %s`, *q.Owner)
	}
	if q.Graph != "" {
		c.and(`graph = %s`, q.Graph)
	}
	if q.Name != "" {
		c.and(`strpos(folded, %s) > 0`, strings.ToLower(q.Name))
	}
	if len(q.Statuses) > 0 && !ofOpen(q) {
		c.and(`status = ANY(%s::text[])`, q.Statuses)
	}
	if !q.Expired.IsZero() {
		c.and(`expires <= %s`, q.Expired)
	}
	labels, err := labelsOf(q.Metadata)
	if err != nil {
		return nil, err
	}
	if labels != "{}" {
		c.and(`labels @> %s::text::jsonb`, labels)
	}
	return c, c.filter(q)
}

// filter adds the condition of the filter of a query.
func (c *condition) filter(q *runs.Query) error {
	f := &q.Filter
	labels, err := labelsOf(f.Metadata)
	if err != nil {
		return err
	}
	var own []string
	if f.Owner != nil && strings.ContainsRune(*f.Owner, 0) {
		own = append(own, `false`) // no record has such an owner
	} else if f.Owner != nil {
		own = append(own, `owner = `+c.arg(*f.Owner))
	}
	if labels != "{}" {
		own = append(own, `labels @> `+c.arg(labels)+`::text::jsonb`)
	}
	if len(own) == 0 {
		return nil
	}
	text := strings.Join(own, ` AND `)
	if len(f.IDs) > 0 {
		text = `(` + text + ` OR id = ANY(` + c.arg(withoutNUL(f.IDs)) + `::text[]))`
	}
	if q.Kind == runs.Run {
		text = `parent IN (SELECT id FROM weft.run_record WHERE kind = 'thread' AND kind <> 'run' AND ` + text + `)`
	}
	c.text += ` AND ` + text
	return nil
}

var orders = map[runs.Order]string{
	runs.ByID: "id", runs.ByUpdated: "updated, id", runs.ByName: "name, id", runs.ByStatus: "status, id", runs.ByGraph: "graph, id",
	runs.ByExpires: "expires, id",
}

func orderOf(q *runs.Query) string {
	columns := orders[q.Order]
	if columns == "" {
		columns = "created, id"
	}
	if ofOpen(q) {
		columns = "made, thread"
	}
	if q.Reverse {
		columns = strings.ReplaceAll(columns, ",", " DESC,") + " DESC"
	}
	return ` ORDER BY ` + columns
}

// Search implements [runs.Store]. If records change meanwhile, the total may not fit the page.
func (s *Store) Search(ctx context.Context, q runs.Query) ([]runs.Record, int, error) {
	found, total, err := s.search(ctx, &q)
	if err != nil {
		return nil, 0, s.fail("search", err)
	}
	return found, total, nil
}

func (s *Store) search(ctx context.Context, q *runs.Query) (found []runs.Record, total int, err error) {
	if hasNUL(q) {
		return nil, 0, ctx.Err() // no record has such a text
	}
	c, err := conditionOf(q)
	if err != nil {
		return nil, 0, err
	}
	page := &condition{text: `SELECT ` + recordColumns + c.text + orderOf(q), args: c.args[:len(c.args):len(c.args)]}
	if q.Limit > 0 {
		page.text += ` LIMIT ` + page.arg(q.Limit)
	}
	if q.Offset > 0 {
		page.text += ` OFFSET ` + page.arg(q.Offset)
	}
	err = s.rows(ctx, s.timeout, pgdb.AnyFault, page.text, page.args, func() { found = nil }, func(rows pgx.Rows) error {
		r, err := scanRecord(rows)
		found = append(found, r)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	if q.Uncounted || (q.Limit <= 0 || len(found) < q.Limit) && (q.Offset <= 0 || len(found) > 0) {
		return found, q.Offset + len(found), nil
	}
	text, args := `SELECT count(*)`+c.text, c.args
	if c.text == openThreads { // the search has no other condition
		text, args = countOpen, args[1:]
	}
	err = s.query(ctx, text, args, func(rows pgx.Rows) error { return rows.Scan(&total) })
	return found, total, err
}

// hasNUL reports whether a query asks for a text with a NUL, which no record has and PostgreSQL cannot compare. It
// removes such texts from the lists of ids and statuses.
func hasNUL(q *runs.Query) bool {
	q.IDs, q.Statuses = withoutNUL(q.IDs), withoutNUL(q.Statuses)
	return strings.ContainsRune(q.Parent+q.Graph+q.Name, 0) || q.Owner != nil && strings.ContainsRune(*q.Owner, 0)
}

func withoutNUL(list []string) []string {
	if list == nil {
		return nil
	}
	kept := []string{}
	for _, text := range list {
		if !strings.ContainsRune(text, 0) {
			kept = append(kept, text)
		}
	}
	return kept
}
