package pgcheckpoint

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// A markChange is an element of the argument p_marks of cp_put_marked and cp_set_marks.
type markChange struct {
	Task   string            `json:"task"`
	Number *int64            `json:"number"`
	Status checkpoint.Status `json:"status,omitempty"`
	Node   string            `json:"node"`
}

// markChanges returns the changes that pending writes make to the status of their thread, as JSON,
// or null if there are none. A write with a negative index replaces the mark with the same task and
// index. A result or a failure ends the earlier marks of its task.
func markChanges(writes []checkpoint.Write) (*string, error) {
	var changes []markChange
	for i := range writes {
		if w := &writes[i]; w.Index < 0 {
			number := int64(w.Index)
			changes = append(changes, markChange{Task: w.Task, Number: &number})
		}
	}
	marks, ended := checkpoint.Marks(writes)
	for _, task := range ended {
		changes = append(changes, markChange{Task: task})
	}
	if changes = append(changes, newMarks(marks)...); changes == nil {
		return nil, nil
	}
	text, err := json.Marshal(changes)
	return new(string(text)), err
}

func newMarks(marks []checkpoint.Mark) []markChange {
	var changes []markChange
	for _, m := range marks {
		if storable(m.Node) {
			changes = append(changes, markChange{m.Task, new(int64(m.Index)), m.Status, m.Node})
		}
	}
	return changes
}

const (
	// newestWritesQuery has one parameter, the key of the thread. It selects the newest
	// checkpoint of the root namespace, with its pending writes.
	newestWritesQuery = `SELECT s.id, s.name,
	ARRAY(SELECT w.task FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number),
	ARRAY(SELECT w.number FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number),
	ARRAY(SELECT w.data FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number)
	FROM weft.cp_step s WHERE s.thread = $1::bigint AND s.space = 0 ORDER BY s.seq DESC LIMIT 1`

	// setMarksQuery has the parameters key of the thread, and marks.
	setMarksQuery = `SELECT weft.cp_set_marks($1::bigint,
	coalesce((SELECT max(time) FROM weft.cp_step WHERE thread = $1::bigint AND space = 0), now()), $2::text::jsonb)`
)

// resetStatus computes the status of a thread from the pending writes of its newest checkpoint.
func (s *Store) resetStatus(ctx context.Context, tx *link, key int64) error {
	var newest id
	var packed packedWrites
	err := tx.query(ctx, s.sql(newestWritesQuery), []any{key}, func(rows pgx.Rows) error {
		return rows.Scan(&newest.uuid, &newest.name, &packed.tasks, &packed.numbers, &packed.data)
	})
	if err != nil {
		return err
	}
	text, err := newest.text()
	if err != nil {
		return err
	}
	writes, err := packed.unpack(text)
	if err != nil {
		return err
	}
	marks, _ := checkpoint.Marks(writes)
	list, err := json.Marshal(append([]markChange{}, newMarks(marks)...))
	if err != nil {
		return err
	}
	return tx.query(ctx, s.sql(setMarksQuery), []any{key, string(list)}, ignoreRow)
}

const (
	// statusQuery has the parameters tenant, status, node and thread to list after, and a
	// limit. The index cp_open_status has all its columns in its order.
	statusQuery = `SELECT node, id, max(time) FROM weft.cp_open
	WHERE tenant = $1::text AND status = $2::text AND (node, id) > ($3::text, $4::text)
	GROUP BY tenant, status, node, id ORDER BY node, id LIMIT $5::int`

	// nodeStatusQuery is statusQuery for one node.
	nodeStatusQuery = `SELECT node, id, max(time) FROM weft.cp_open
	WHERE tenant = $1::text AND status = $2::text AND node = $3::text AND id > $4::text
	GROUP BY tenant, status, node, id ORDER BY node, id LIMIT $5::int`
)

// ListStatus implements [checkpoint.StatusLister]. It reads one index, page by page, so a page
// costs the same wherever it is in the list.
func (s *Store) ListStatus(ctx context.Context, q checkpoint.StatusQuery) iter.Seq2[checkpoint.ThreadStatus, error] {
	return func(yield func(checkpoint.ThreadStatus, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.ThreadStatus{}, err)
			return
		}
		if !storable(q.Node) || !storable(q.After.Node) || !storable(q.After.Thread) {
			return // no stored name is equal to it
		}
		for more := true; more; {
			page, err := s.statuses(ctx, &q)
			for _, t := range page {
				if !yield(t, nil) {
					return
				}
				q.After = t
			}
			if err != nil {
				yield(checkpoint.ThreadStatus{}, s.fail("list by status", checkpoint.Key{}, err))
				return
			}
			if more = len(page) == listPage; q.Limit > 0 {
				q.Limit -= len(page)
				more = more && q.Limit > 0
			}
		}
	}
}

// statuses returns the next page of a list.
func (s *Store) statuses(ctx context.Context, q *checkpoint.StatusQuery) ([]checkpoint.ThreadStatus, error) {
	limit := listPage
	if q.Limit > 0 {
		limit = min(limit, q.Limit)
	}
	text, args := statusQuery, []any{s.tenant, string(q.Status), q.After.Node, q.After.Thread, limit}
	if q.Node != "" {
		text, args[2] = nodeStatusQuery, q.Node
		switch {
		case q.After.Node > q.Node:
			return nil, nil
		case q.After.Node < q.Node:
			args[3] = ""
		}
	}
	var page []checkpoint.ThreadStatus
	text = s.sql(text)
	err := s.retry(ctx, s.timeout, func(t try) error {
		page = page[:0]
		return s.link.send(ctx, t.limit, text, args, func(rows pgx.Rows) error {
			one := checkpoint.ThreadStatus{Status: q.Status}
			err := rows.Scan(&one.Node, &one.Thread, &one.Time)
			page = append(page, one)
			return err
		})
	})
	return page, err
}
