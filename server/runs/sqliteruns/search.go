package sqliteruns

import (
	"context"
	"encoding/json"
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
	c := &condition{text: ` FROM run_record WHERE kind = ?`, args: []any{string(q.Kind)}}
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

var orders = map[runs.Order]string{
	runs.ByID: "id", runs.ByUpdated: "updated, id", runs.ByName: "name, id", runs.ByStatus: "status, id", runs.ByGraph: "graph, id",
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
	all := runs.Contains(json.RawMessage(`{}`), q.Metadata)
	err = s.read(ctx, "search", func(r *sqlitedb.Session) (err error) {
		if all {
			found, total, err = page(r, &q, c)
		} else {
			found, total, err = filtered(ctx, r, &q, c)
		}
		return err
	})
	return found, total, err
}

// page returns the page of a search without metadata.
func page(r *sqlitedb.Session, q *runs.Query, c *condition) (found []runs.Record, total int, err error) {
	if _, err := r.One(`SELECT count(*)`+c.text, c.args, &total); err != nil {
		return nil, 0, err
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
	return found, total, err
}

// filtered returns the page of a search by metadata.
func filtered(ctx context.Context, r *sqlitedb.Session, q *runs.Query, c *condition) (found []runs.Record, total int, err error) {
	var keys []int64
	err = r.Each(`SELECT key, metadata`+c.text+orderOf(q), c.args, func(scan func(...any) error) (bool, error) {
		var key int64
		var metadata []byte
		if err := scan(&key, &metadata); err != nil {
			return false, err
		}
		if !runs.Contains(metadata, q.Metadata) {
			return true, ctx.Err()
		}
		if total++; total > q.Offset && (q.Limit <= 0 || len(keys) < q.Limit) {
			keys = append(keys, key)
		}
		return true, nil
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
