package csvdb

import (
	"context"
	"fmt"
	"strings"
)

// maxDistinct is the maximum number of rows of a table whose different values are counted. A count takes a copy of
// the column.
const maxDistinct = 2_000_000

// Statistics describe a column.
type Statistics struct {
	Column   string `json:"column"`
	Type     Type   `json:"type"`
	Count    int64  `json:"count"` // of cells that have a value
	Empty    int64  `json:"empty"`
	Distinct any    `json:"distinct,omitempty"` // absent, as is Top, if the table has more than maxDistinct rows
	Min      any    `json:"min,omitempty"`
	Max      any    `json:"max,omitempty"`
	// Mean, Median and StdDev are set for columns of numbers. Median is absent for more than maxMedian values.
	Mean   any `json:"mean,omitempty"`
	Median any `json:"median,omitempty"`
	StdDev any `json:"stddev,omitempty"`
	// Top has the most frequent values with their counts, for columns that are not numbers.
	Top [][]any `json:"top,omitempty"`
}

// Statistics returns the statistics of the first 50 of the columns, or of all columns if none is named.
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
	row, err := of("min", "max")
	if err != nil {
		return s, err
	}
	s.Min, s.Max = row[0], row[1]
	large := d.Schema.RowCount > maxDistinct
	if !large {
		if row, err = of("count_distinct"); err != nil {
			return s, err
		}
		s.Distinct = row[0]
	}
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
	if large {
		return s, nil
	}
	top, err := d.Select(ctx, Selection{
		GroupBy: []string{c.Name}, Aggregates: []Aggregate{{Function: "count"}}, OrderBy: "count", Descending: true, Limit: 5,
		Where: []Condition{{Column: c.Name, Op: "not_empty"}},
	})
	s.Top = top.Rows
	return s, err
}

// A Found is the result of a search.
type Found struct {
	// In has the columns in which the text was found.
	In []FoundIn `json:"in"`
	Table
}

// A FoundIn counts the rows in which a column contains the text, and the rows in which the cell equals the text.
type FoundIn struct {
	Column string `json:"column"`
	Rows   int64  `json:"rows"`
	Equal  int64  `json:"equal"`
}

// Search finds the rows that contain a text in any of the columns, whatever its case. Without columns, Search looks
// in all.
func (d *DB) Search(ctx context.Context, text string, columns []string, limit int) (Found, error) {
	if strings.TrimSpace(text) == "" {
		return Found{}, fmt.Errorf("%w: there is no text to look for", ErrQuestion)
	}
	if len(columns) == 0 {
		columns = d.Schema.Names()
	}
	q := &query{d: d}
	var names, parts, counts []string
	for _, name := range columns {
		c, err := q.column(name)
		if err != nil {
			return Found{}, err
		}
		names = append(names, c.Name)
		if v, ok := yesOrNo(strings.TrimSpace(text)); ok && c.Type == Boolean { // the file may say true
			parts = append(parts, fmt.Sprintf("ifnull(%s = '%s', 0)", c.compared(), v))
			counts = append(counts, fmt.Sprintf("total(%[1]s), total(?2 <> '' AND %[1]s)", parts[len(parts)-1]))
			continue
		}
		parts = append(parts, has(quote(c.Name), text))
		counts = append(counts, fmt.Sprintf("total(%s), total(fold(CAST(%s AS TEXT)) = ?2)", parts[len(parts)-1], quote(c.Name)))
	}
	anywhere, needle := strings.Join(parts, " OR "), strings.ToLower(strings.TrimSpace(text))
	args := []any{pattern(needle), needle}
	found := Found{In: []FoundIn{}}
	if limit <= 0 || limit > MaxRows {
		limit = MaxRows
	}
	var err error
	if found.Table, err = d.run(ctx, fmt.Sprintf("SELECT * FROM data WHERE ?2 <> '' AND (%s) LIMIT %d", anywhere, limit), args); err != nil || len(found.Rows) == 0 {
		return found, err
	}
	t, err := d.run(ctx, fmt.Sprintf("SELECT total(%s), %s FROM data", anywhere, strings.Join(counts, ", ")), args)
	if err != nil {
		return Found{}, err
	}
	figure := func(i int) int64 { f, _ := t.Rows[0][i].(float64); return int64(f) }
	found.Matched = figure(0)
	for i, name := range names {
		if rows := figure(1 + 2*i); rows > 0 {
			found.In = append(found.In, FoundIn{Column: name, Rows: rows, Equal: figure(2 + 2*i)})
		}
	}
	return found, nil
}

// has returns the SQL condition that a column contains a text, whatever its case. LIKE is faster, but it ignores
// the case of ASCII letters only.
func has(column, text string) string {
	for _, r := range text {
		if r > 127 {
			return "ifnull(instr(fold(" + column + "), ?2) > 0, 0)"
		}
	}
	return "ifnull(" + column + ` LIKE ?1 ESCAPE '\', 0)`
}

// pattern returns the pattern of LIKE for a text.
func pattern(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(text) + "%"
}
