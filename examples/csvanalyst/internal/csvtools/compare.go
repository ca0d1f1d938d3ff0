package csvtools

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/tools"
)

type (
	selection struct {
		Resource   string            `json:"resourceId" jsonschema:"the id or the name of a file"`
		Conditions []csvdb.Condition `json:"conditions,omitempty"`
	}
	compareInput struct {
		Left      selection       `json:"left"`
		Right     selection       `json:"right"`
		Aggregate csvdb.Aggregate `json:"aggregate"`
		GroupBy   string          `json:"groupBy,omitempty" jsonschema:"a column of both files"`
		Session   tools.Bound[SessionID]
	}
	comparison struct {
		Figure string `json:"figure"`
		// Currency is the currency of the left side.
		Currency string     `json:"currency,omitempty"`
		Groups   []compared `json:"rows"`
		// Truncated says that a side has more groups than are compared.
		Truncated bool `json:"truncated,omitempty"`
		// Rounded says that the figure of a side is rounded.
		Rounded bool     `json:"rounded,omitempty"`
		SQL     []string `json:"sql"`
	}
	compared struct {
		Group      any      `json:"group,omitempty"`
		Left       any      `json:"left"`
		Right      any      `json:"right"`
		Difference *float64 `json:"difference,omitempty"` // right minus left
		Percent    *float64 `json:"percent,omitempty"`    // of left
	}
)

func (b box) compare(ctx context.Context, in compareInput) (comparison, error) {
	c := comparison{Figure: in.Aggregate.Name(), Groups: []compared{}}
	var sides [2]csvdb.Table
	var figure csvdb.Cells
	for i, s := range []selection{in.Left, in.Right} {
		q := csvdb.Selection{Where: s.Conditions, Aggregates: []csvdb.Aggregate{in.Aggregate}, Limit: csvdb.MaxRows}
		if in.GroupBy != "" {
			q.GroupBy, q.OrderBy = []string{in.GroupBy}, in.GroupBy
		}
		t, err := b.selection(ctx, file{Resource: s.Resource, Session: in.Session}, q)
		if err != nil {
			return comparison{}, err
		}
		sides[i] = t.Table
		if cells := t.Columns[len(t.Columns)-1]; i == 0 || cells.Decimals > figure.Decimals {
			figure = cells
		}
		c.note(t)
	}
	if l, r := currency(sides[0]), currency(sides[1]); l != "" && r != "" && l != r {
		return comparison{}, fmt.Errorf("%w: the amounts of the left side are in %s and those of the right side in %s; compute each with aggregateCsvData", csvdb.ErrQuestion, l, r)
	}
	c.Currency = currency(sides[0])
	if in.GroupBy == "" {
		c.Groups = append(c.Groups, pair(figure, nil, sides[0].Rows[0][0], sides[1].Rows[0][0]))
		return c, nil
	}
	right := map[string]any{}
	for _, row := range sides[1].Rows {
		right[fmt.Sprint(row[0])] = row[1]
	}
	for _, row := range sides[0].Rows {
		key := fmt.Sprint(row[0])
		c.Groups = append(c.Groups, pair(figure, row[0], row[1], right[key]))
		delete(right, key)
	}
	for _, row := range sides[1].Rows { // groups of the right side only
		if _, left := right[fmt.Sprint(row[0])]; left {
			c.Groups = append(c.Groups, pair(figure, row[0], nil, row[1]))
		}
	}
	return c, nil
}

// note adds the flags and the statement of a side.
func (c *comparison) note(t selected) {
	c.Truncated, c.Rounded = c.Truncated || t.Truncated, c.Rounded || t.Rounded
	c.SQL = append(c.SQL, t.SQL)
}

// currency returns the currency of the figure of a side.
func currency(t csvdb.Table) string { return t.Columns[len(t.Columns)-1].Currency }

func pair(figure csvdb.Cells, group, left, right any) compared {
	p := compared{Group: group, Left: left, Right: right}
	l, ok1 := number(left)
	r, ok2 := number(right)
	if ok1 && ok2 {
		d := figure.Round(r - l)
		p.Difference = &d
		if l != 0 {
			percent := csvdb.Cells{Decimals: 2}.Round(100 * (r - l) / l)
			p.Percent = &percent
		}
	}
	return p
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
