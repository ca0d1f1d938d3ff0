package server

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/weft-go/weft/server/runs"
)

// A page is the part of a request that selects a part of a list.
type page struct {
	Limit     *int     `json:"limit"`
	Offset    int      `json:"offset"`
	SortBy    string   `json:"sort_by"`
	SortOrder string   `json:"sort_order"`
	Select    []string `json:"select"`
}

const maxLimit = 1000

// query adds the page to a query. orders maps the fields by which clients may sort the list.
func (p *page) query(q *runs.Query, orders map[string]runs.Order) error {
	limit := 10
	if p.Limit != nil {
		limit = *p.Limit
	}
	if limit < 1 || limit > maxLimit || p.Offset < 0 {
		return invalid("The limit is %d and the offset is %d; the limit must be from 1 to %d, and the offset not negative.", limit, p.Offset, maxLimit)
	}
	q.Limit, q.Offset, q.Order, q.Reverse = limit, p.Offset, runs.ByCreated, p.SortOrder != "asc"
	if p.SortBy != "" {
		order, ok := orders[p.SortBy]
		if !ok {
			return invalid("A list cannot be sorted by %q.", shortened(p.SortBy))
		}
		q.Order = order
	}
	switch p.SortOrder {
	case "", "asc", "desc", "ASC", "DESC":
		q.Reverse = !strings.EqualFold(p.SortOrder, "asc")
		return nil
	}
	return invalid("The sort order is %q; it must be asc or desc.", shortened(p.SortOrder))
}

// headers sends the offset of the next page, and the number of objects. Like the reference server, it counts at most one
// object after the page.
func (p *page) headers(c *call, q runs.Query, total, sent int) {
	end := q.Offset + sent
	if end < total {
		c.w.Header().Set("X-Pagination-Next", strconv.Itoa(end))
		total = end + 1
	}
	c.w.Header().Set("X-Pagination-Total", strconv.Itoa(total))
}

// chosen returns the object with only the selected fields.
func chosen(v any, fields []string) (any, error) {
	if len(fields) == 0 {
		return v, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for _, f := range fields {
		if v, ok := all[f]; ok {
			out[f] = v
		}
	}
	return out, nil
}
