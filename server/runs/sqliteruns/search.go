package sqliteruns

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/server/runs"
)

// A condition is the part of a search that SQLite evaluates.
type condition struct {
	text string
	args []any
}

func (c *condition) and(text string, args ...any) {
	c.text += ` AND ` + text
	c.args = append(c.args, args...)
}

func conditionOf(q *runs.Query) (*condition, error) {
	table := `run_record`
	if q.Kind == runs.Run && q.IDs == nil && !q.Filter.Any() {
		table += ` INDEXED BY run_record_parent` // SQLite would read the runs of all threads in order
	}
	c := &condition{text: ` FROM ` + table + ` WHERE kind = ?`, args: []any{string(q.Kind)}}
	for _, list := range []struct {
		column string
		values []string
		given  bool
	}{{"id", q.IDs, q.IDs != nil}, {"status", q.Statuses, len(q.Statuses) > 0}} {
		if !list.given {
			continue
		}
		values, err := json.Marshal(list.values)
		if err != nil {
			return nil, err
		}
		c.and(list.column+` IN (SELECT value FROM json_each(?))`, string(values))
	}
	if q.Parent != "" {
		c.and(`parent = ?`, q.Parent)
	}
	if q.Owner != nil {
		c.and(`owner = ?`, *q.Owner)
	}
	if q.Graph != "" {
		c.and(`graph = ?`, q.Graph)
	}
	if q.Name != "" {
		c.and(`instr(folded, ?) > 0`, strings.ToLower(q.Name))
	}
	if !q.Expired.IsZero() {
		c.and(`expires <= ?`, q.Expired.UnixMicro())
	}
	return c, nil
}

// filter adds the conditions of the query's filter that SQLite can evaluate.
func (c *condition) filter(q *runs.Query) error {
	if q.Filter.Owner == nil {
		return nil
	}
	text, args := `owner = ?`, []any{*q.Filter.Owner}
	if len(q.Filter.IDs) > 0 {
		ids, err := json.Marshal(q.Filter.IDs)
		if err != nil {
			return err
		}
		text, args = `(`+text+` OR id IN (SELECT value FROM json_each(?)))`, append(args, string(ids))
	}
	if q.Kind == runs.Run {
		text = `parent IN (SELECT id FROM run_record WHERE kind = 'thread' AND ` + text + `)`
	}
	c.and(text, args...)
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
	if q.Reverse {
		columns = strings.ReplaceAll(columns, ",", " DESC,") + " DESC"
	}
	return ` ORDER BY ` + columns
}

// Search implements [runs.Store].
func (s *Store) Search(ctx context.Context, q runs.Query) (found []runs.Record, total int, err error) {
	c, err := conditionOf(&q)
	if err != nil {
		return nil, 0, s.fail("search", err)
	}
	err = s.read(ctx, "search", func(r *sqlitedb.Session) error {
		found, total, err = search(ctx, r, &q, c)
		return err
	})
	return found, total, err
}

func search(ctx context.Context, r *sqlitedb.Session, q *runs.Query, c *condition) ([]runs.Record, int, error) {
	byThread := q.Kind == runs.Run && !runs.Contains(nil, q.Filter.Metadata)
	if byThread {
		threads, err := threadsOf(ctx, r, &q.Filter)
		if err != nil {
			return nil, 0, err
		}
		c.and(`parent IN (SELECT value FROM json_each(?))`, threads)
	} else if err := c.filter(q); err != nil {
		return nil, 0, err
	}
	if runs.Contains(nil, q.Metadata) && (byThread || runs.Contains(nil, q.Filter.Metadata)) {
		return page(r, q, c)
	}
	return filtered(ctx, r, q, c)
}

// threadsOf returns the ids of the threads that a filter selects, as JSON.
func threadsOf(ctx context.Context, r *sqlitedb.Session, f *runs.Filter) (string, error) {
	q := &runs.Query{Kind: runs.Thread, Filter: *f}
	c, err := conditionOf(q)
	if err == nil {
		err = c.filter(q)
	}
	ids := []string{}
	if err == nil {
		err = each(ctx, r, q, c, func(_ int64, thread *runs.Record) { ids = append(ids, thread.ID) })
	}
	data, merr := json.Marshal(ids)
	return string(data), errors.Join(err, merr)
}

// page returns the page of a search without metadata.
func page(r *sqlitedb.Session, q *runs.Query, c *condition) (found []runs.Record, total int, err error) {
	if !q.Uncounted {
		if _, err := r.One(`SELECT count(*)`+c.text, c.args, &total); err != nil {
			return nil, 0, err
		}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	text := `SELECT ` + recordColumns + c.text + orderOf(q) + ` LIMIT ? OFFSET ?`
	err = r.Each(text, append(c.args[:len(c.args):len(c.args)], limit, q.Offset), func(scan func(...any) error) (bool, error) {
		one, err := scanRecord(scan)
		found = append(found, one)
		return true, err
	})
	return found, max(total, len(found)), err
}

// each calls f for each record that a search by metadata selects, with the fields that are searched.
func each(ctx context.Context, r *sqlitedb.Session, q *runs.Query, c *condition, f func(key int64, r *runs.Record)) error {
	return r.Each(`SELECT key, id, owner, metadata`+c.text+orderOf(q), c.args, func(scan func(...any) error) (bool, error) {
		var key int64
		var one runs.Record
		var metadata []byte
		if err := scan(&key, &one.ID, &one.Owner, &metadata); err != nil {
			return false, err
		}
		one.Metadata = metadata
		// For runs, the condition has already selected the threads.
		if runs.Contains(one.Metadata, q.Metadata) && (q.Kind == runs.Run || q.Filter.Has(&one)) {
			f(key, &one)
		}
		return true, ctx.Err()
	})
}

// filtered returns the page of a search by metadata.
func filtered(ctx context.Context, r *sqlitedb.Session, q *runs.Query, c *condition) (found []runs.Record, total int, err error) {
	var keys []int64
	err = each(ctx, r, q, c, func(key int64, _ *runs.Record) {
		if total++; total > q.Offset && (q.Limit <= 0 || len(keys) < q.Limit) {
			keys = append(keys, key)
		}
	})
	if err != nil {
		return nil, 0, err
	}
	for _, key := range keys {
		err := r.Each(`SELECT `+recordColumns+` FROM run_record WHERE key = ?`, []any{key}, func(scan func(...any) error) (bool, error) {
			one, err := scanRecord(scan)
			found = append(found, one)
			return false, err
		})
		if err != nil {
			return nil, 0, err
		}
	}
	return found, total, nil
}
