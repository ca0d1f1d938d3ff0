package server

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/weft-go/weft/server/runs"
)

type threadSearch struct {
	page
	IDs      []string        `json:"ids"`
	Metadata json.RawMessage `json:"metadata"`
	Values   json.RawMessage `json:"values"`
	Status   string          `json:"status"`
}

var threadOrders = map[string]runs.Order{
	"thread_id": runs.ByID, "status": runs.ByStatus, "created_at": runs.ByCreated, "updated_at": runs.ByUpdated, "state_updated_at": runs.ByUpdated,
}

func (c *call) threadQuery() (threadSearch, runs.Query, error) {
	var b threadSearch
	q := runs.Query{Kind: runs.Thread}
	if err := c.body(&b, false); err != nil {
		return b, q, err
	}
	q.Metadata, q.IDs = orEmpty(b.Metadata), b.IDs
	switch b.Status {
	case "":
	case threadIdle, threadBusy, threadInterrupted, threadError:
		q.Statuses = []string{b.Status}
	default:
		return b, q, invalid("There is no status %q.", shortened(b.Status))
	}
	if err := errors.Join(object("metadata", b.Metadata), object("values", b.Values)); err != nil {
		return b, q, err
	}
	return b, q, b.query(&q, threadOrders)
}

func (c *call) searchThreads() error {
	b, q, err := c.threadQuery()
	if err != nil {
		return err
	}
	found, total, err := c.foundThreads(b, q)
	if err != nil {
		return err
	}
	values := len(b.Select) == 0 || slices.Contains(b.Select, "values") || slices.Contains(b.Select, "interrupts")
	out := []any{}
	for _, r := range found {
		t, err := c.s.readThread(c.ctx(), r, values)
		if err != nil {
			return err
		}
		v, err := chosen(t, b.Select)
		if err != nil {
			return err
		}
		out = append(out, v)
	}
	b.headers(c, q, total, len(out))
	return c.send(out)
}

// foundThreads returns the page of the threads that a search selects. For a search by values, it reads the state of each
// thread.
func (c *call) foundThreads(b threadSearch, q runs.Query) ([]runs.Record, int, error) {
	if string(orEmpty(b.Values)) == "{}" {
		return c.search(q)
	}
	limit, offset := q.Limit, q.Offset
	q.Limit, q.Offset = 0, 0
	all, _, err := c.search(q)
	if err != nil {
		return nil, 0, err
	}
	var found []runs.Record
	for _, r := range all {
		t, err := c.s.readThread(c.ctx(), r, true)
		if err != nil {
			return nil, 0, err
		}
		if runs.Contains(t.Values, b.Values) {
			found = append(found, r)
		}
	}
	rest := found[min(offset, len(found)):]
	return rest[:min(limit, len(rest))], len(found), nil
}

func (c *call) countThreads() error {
	b, q, err := c.threadQuery()
	if err != nil {
		return err
	}
	_, total, err := c.foundThreads(b, q)
	if err != nil {
		return err
	}
	return c.send(total)
}
