package csvdb

import (
	"context"
	"fmt"
	"strings"
)

// Statistics are what can be said of a column.
type Statistics struct {
	Column   string `json:"column"`
	Type     Type   `json:"type"`
	Count    int64  `json:"count"` // of cells that have a value
	Empty    int64  `json:"empty"`
	Distinct any    `json:"distinct"`
	Min      any    `json:"min,omitempty"`
	Max      any    `json:"max,omitempty"`
	// Mean, Median and StdDev are those of numbers; of very many there is no median.
	Mean   any `json:"mean,omitempty"`
	Median any `json:"median,omitempty"`
	StdDev any `json:"stddev,omitempty"`
	// Top are the values that are most frequent, with how often they are, of a
	// text.
	Top [][]any `json:"top,omitempty"`
}

// Statistics returns those of columns; of all if none is named.
func (d *DB) Statistics(ctx context.Context, columns []string) ([]Statistics, error) {
	if len(columns) == 0 {
		columns = d.Schema.Names()
	}
	q := &query{d: d}
	out := []Statistics{}
	for _, name := range columns[:min(len(columns), 50)] {
		c, err := q.column(name)
		if err != nil {
			return nil, err
		}
		s, err := d.statistics(ctx, c)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func (d *DB) statistics(ctx context.Context, c Column) (Statistics, error) {
	of := func(functions ...string) (row []any, err error) {
		var s Selection
		for _, f := range functions {
			s.Aggregates = append(s.Aggregates, Aggregate{Function: f, Column: c.Name})
		}
		t, err := d.Select(ctx, s)
		if err != nil {
			return nil, err
		}
		return t.Rows[0], nil
	}
	s := Statistics{Column: c.Name, Type: c.Type, Count: d.Schema.RowCount - c.Empty, Empty: c.Empty}
	row, err := of("count_distinct", "min", "max")
	if err != nil {
		return s, err
	}
	s.Distinct, s.Min, s.Max = row[0], row[1], row[2]
	if c.Type == Integer || c.Type == Real {
		if row, err = of("avg", "stddev"); err != nil {
			return s, err
		}
		s.Mean, s.StdDev = row[0], row[1]
		if s.Count <= maxMedian {
			if row, err = of("median"); err != nil {
				return s, err
			}
			s.Median = row[0]
		}
		return s, nil
	}
	top, err := d.Select(ctx, Selection{
		GroupBy: []string{c.Name}, Aggregates: []Aggregate{{Function: "count"}}, OrderBy: "count", Descending: true, Limit: 5,
		Where: []Condition{{Column: c.Name, Op: "not_empty"}},
	})
	s.Top = top.Rows
	return s, err
}

// A Found says where a text was found.
type Found struct {
	// Columns says for each column in how many rows the text is found, and in how
	// many of them it is all there is.
	Columns []FoundIn `json:"columns"`
	Table
}

// A FoundIn counts what was found in one column.
type FoundIn struct {
	Column string `json:"column"`
	Rows   int64  `json:"rows"`
	Equal  int64  `json:"equal"`
}

// Search finds the rows that have a text in any of the columns; in all if none is
// named. Case does not count.
func (d *DB) Search(ctx context.Context, text string, columns []string, limit int) (Found, error) {
	if strings.TrimSpace(text) == "" {
		return Found{}, fmt.Errorf("%w: there is no text to look for", ErrQuestion)
	}
	if len(columns) == 0 {
		columns = d.Schema.Names()
	}
	q := &query{d: d}
	found := Found{Columns: []FoundIn{}}
	s := Selection{Any: true, Limit: limit}
	var counts []string
	needle := strings.ToLower(strings.TrimSpace(text))
	for _, name := range columns {
		c, err := q.column(name)
		if err != nil {
			return Found{}, err
		}
		s.Where = append(s.Where, Condition{Column: c.Name, Op: "contains", Value: needle})
		counts = append(counts, fmt.Sprintf("total(instr(fold(%[1]s), ?1) > 0), total(fold(CAST(%[1]s AS TEXT)) = ?1)", quote(c.Name)))
		found.Columns = append(found.Columns, FoundIn{Column: c.Name})
	}
	var err error
	if found.Table, err = d.Select(ctx, s); err != nil {
		return Found{}, err
	}
	if found.Matched == 0 {
		found.Columns = []FoundIn{}
		return found, nil
	}
	t, err := d.run(ctx, "SELECT "+strings.Join(counts, ", ")+" FROM data", []any{needle})
	if err != nil {
		return Found{}, err
	}
	all := found.Columns
	found.Columns = []FoundIn{}
	for i, c := range all {
		rows, _ := t.Rows[0][2*i].(float64)
		equal, _ := t.Rows[0][2*i+1].(float64)
		if rows > 0 {
			found.Columns = append(found.Columns, FoundIn{Column: c.Column, Rows: int64(rows), Equal: int64(equal)})
		}
	}
	return found, nil
}
