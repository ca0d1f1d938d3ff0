package csvdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// MaxRows is the maximum number of rows of an answer.
	MaxRows = 100
	// maxCell is the maximum number of characters of a cell in an answer.
	maxCell = 300
)

// ErrQuestion is returned for a question that the file cannot answer. The error that wraps it says why.
var ErrQuestion = errors.New("this can not be asked")

// A DB is a file's database, open for reading. It is safe for concurrent use.
type DB struct {
	db     *sql.DB
	Schema Schema
}

// Open opens a database that Import has made. The caller closes it.
func Open(ctx context.Context, path string) (*DB, error) {
	db, err := sql.Open("sqlite", address(path, "mode=ro&immutable=1&_pragma=query_only(1)&_pragma=trusted_schema(0)&_pragma=temp_store(1)&_pragma=cache_size(-16000)"))
	if err != nil {
		return nil, fmt.Errorf("csvdb: %w", err)
	}
	db.SetMaxOpenConns(1) // so that the limit of start holds for every connection
	d := &DB{db: db}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("csvdb: %w", err), db.Close())
	}
	return d, nil
}

func (d *DB) start(ctx context.Context) error {
	conn, err := d.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_ATTACHED, 0); err != nil {
		return err
	}
	var about string
	if err := conn.QueryRowContext(ctx, "SELECT schema FROM about").Scan(&about); err != nil {
		return err
	}
	return json.Unmarshal([]byte(about), &d.Schema)
}

// Close closes the database.
func (d *DB) Close() error { return d.db.Close() }

// A Condition restricts the rows of a selection. Its values are texts in the forms that the JSON Schema of Value
// describes.
type Condition struct {
	Column string   `json:"column" jsonschema:"the name of a column"`
	Op     string   `json:"op" enum:"eq,ne,lt,le,gt,ge,contains,starts_with,in,between,in_period,empty,not_empty"`
	Value  string   `json:"value,omitempty" jsonschema:"the value to compare with: numbers as 1234.5; dates as 2006-01-31; for in_period 2006, 2006-Q1, 2006-01 or 2006-01-31, or --01 for January of every year"`
	Values []string `json:"values,omitempty" jsonschema:"the values of in, or both ends of between, which count too"`
}

// An Aggregate is a figure to compute from many rows.
type Aggregate struct {
	Function string `json:"function" enum:"count,count_distinct,sum,avg,min,max,median,stddev"`
	Column   string `json:"column,omitempty" jsonschema:"the name of a column; count needs none"`
}

// A Selection is a query: the rows to select, and the columns or figures to return.
type Selection struct {
	Columns    []string    // which to return; none means all
	Where      []Condition // a row must meet all of them, or with Any at least one
	Any        bool
	GroupBy    []string
	Period     string      // day, month, quarter or year: groups of the dates of GroupBy, instead of each date
	Aggregates []Aggregate // with them, a row for each group is returned
	OrderBy    string      // a column, or the name of an aggregate: "sum amount"
	Descending bool
	Limit      int // zero means 20; never more than MaxRows
	Offset     int
}

// A Table is the result of a selection.
type Table struct {
	Columns []Cells `json:"columns"`
	Rows    [][]any `json:"rows"`
	// Matched is the number of all rows or groups that match.
	Matched int64 `json:"matched"`
	// Rounded says that an average, a median or a deviation is rounded.
	Rounded bool `json:"rounded,omitempty"`
	// SQL is the statement that was run, with ? for each value.
	SQL string `json:"sql"`
}

// Cells describe a column of a [Table]. In JSON, they are the name, or an object with name, type and currency for
// amounts of money.
type Cells struct {
	Name     string
	Currency string
	Decimals int // of numbers
	average  bool
}

// MarshalJSON returns the form that the table of the chat page reads.
func (c Cells) MarshalJSON() ([]byte, error) {
	if c.Currency == "" {
		return json.Marshal(c.Name)
	}
	return json.Marshal(map[string]string{"name": c.Name, "type": "money", "currency": c.Currency})
}

// Round rounds a number to the decimals of the column, and a very small one to three digits. An average below 1 keeps
// six digits.
func (c Cells) Round(f float64) float64 {
	if c.average && math.Abs(f) < 1 {
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 6, 64), 64)
		return f
	}
	if f != 0 && math.Abs(f) < 0.5*math.Pow10(-c.Decimals) {
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', 3, 64), 64)
		return f
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', c.Decimals, 64), 64)
	if err != nil {
		return f
	}
	return rounded
}

// query builds a statement.
type query struct {
	d    *DB
	args []any
}

// Select answers a selection. The error of an invalid selection wraps [ErrQuestion].
func (d *DB) Select(ctx context.Context, s Selection) (Table, error) {
	q := &query{d: d}
	what, err := q.what(s)
	if err != nil {
		return Table{}, err
	}
	from, err := q.from(s)
	if err != nil {
		return Table{}, err
	}
	order, err := q.order(s)
	if err != nil {
		return Table{}, err
	}
	limit := s.Limit
	if limit <= 0 {
		limit = 20
	}
	statement := fmt.Sprintf("SELECT %s%s%s LIMIT %d", what, from, order, min(limit, MaxRows))
	if s.Offset > 0 {
		statement += fmt.Sprintf(" OFFSET %d", s.Offset)
	}
	t, err := d.run(ctx, statement, q.args)
	if err != nil {
		return Table{}, err
	}
	q.finish(&t, s)
	t.Matched = int64(len(t.Rows))
	if len(t.Rows) == min(limit, MaxRows) || s.Offset > 0 {
		err = d.db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1"+from+")", q.args...).Scan(&t.Matched)
	}
	return t, err
}

// what returns the list of columns and figures in SQL.
func (q *query) what(s Selection) (string, error) {
	groups, err := q.groups(s)
	if err != nil {
		return "", err
	}
	names := []string{}
	for _, g := range groups {
		names = append(names, pick(g.text == quote(g.name), g.text, g.text+" AS "+quote(g.name)))
	}
	if len(s.Aggregates) == 0 {
		columns, err := q.columns(s.Columns)
		if err != nil {
			return "", err
		}
		names = append(names, columns...)
	}
	for _, a := range s.Aggregates {
		figure, err := q.figure(a)
		if err != nil {
			return "", err
		}
		names = append(names, figure+" AS "+quote(a.Name()))
	}
	if len(names) == 0 {
		return "*", nil
	}
	return strings.Join(names, ", "), nil
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// A group is a column to group by: its name in the table, and its text in SQL.
type group struct{ name, text string }

// periods are the SQL expressions for the period of a date in ISO 8601.
var periods = map[string]string{
	"day":     "substr(%[1]s, 1, 10)",
	"month":   "substr(%[1]s, 1, 7)",
	"quarter": "substr(%[1]s, 1, 4) || '-Q' || ((substr(%[1]s, 6, 2) + 2) / 3)",
	"year":    "substr(%[1]s, 1, 4)",
}

func (q *query) groups(s Selection) ([]group, error) {
	period, known := periods[s.Period]
	if s.Period != "" && !known {
		return nil, fmt.Errorf("%w: there is no period %q; there are day, month, quarter and year", ErrQuestion, s.Period)
	}
	var out []group
	dated := false
	for _, name := range s.GroupBy {
		c, err := q.column(name)
		if err != nil {
			return nil, err
		}
		g := group{c.Name, c.compared()}
		if known && c.Type.dated() {
			g, dated = group{c.Name + " (" + s.Period + ")", fmt.Sprintf(period, g.text)}, true
		}
		out = append(out, g)
	}
	if known && !dated {
		return nil, fmt.Errorf("%w: a period needs a column of dates in groupBy", ErrQuestion)
	}
	return out, nil
}

// finish describes the columns of a table, and rounds its figures: sums of decimal fractions are not exact.
func (q *query) finish(t *Table, s Selection) {
	first := len(t.Columns) - len(s.Aggregates)
	for i := range t.Columns {
		cells := &t.Columns[i]
		if i < first {
			if c, err := q.column(cells.Name); err == nil {
				cells.Currency, cells.Decimals = c.Currency, c.Decimals
			}
			continue
		}
		a := s.Aggregates[i-first]
		c, err := q.column(a.Column)
		if err != nil || !c.Type.number() || strings.HasPrefix(a.Function, "count") {
			continue
		}
		cells.Currency, cells.Decimals = c.Currency, c.Decimals
		switch {
		case c.Type == Real && c.Decimals == 0 && q.d.Schema.Version == 0: // databases of older versions do not have the decimals
			cells.Decimals = 9
		case a.Function != "sum" && a.Function != "min" && a.Function != "max":
			cells.Decimals, cells.average = max(2, c.Decimals), true
		}
		t.round(i)
	}
}

// round rounds the figures of a column.
func (t *Table) round(i int) {
	c := t.Columns[i]
	for _, row := range t.Rows {
		if f, ok := row[i].(float64); ok {
			rounded := c.Round(f)
			t.Rounded = t.Rounded || c.average && math.Abs(rounded-f) > 1e-9*math.Abs(f) // a smaller difference is an error of floating-point arithmetic
			row[i] = rounded
		}
	}
}

func (q *query) from(s Selection) (string, error) {
	text := " FROM data"
	var parts []string
	for _, c := range s.Where {
		part, err := q.condition(c)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		text += " WHERE " + strings.Join(parts, map[bool]string{true: " OR ", false: " AND "}[s.Any])
	}
	groups, err := q.groups(s)
	if err != nil || len(groups) == 0 {
		return text, err
	}
	return text + " GROUP BY " + listOf(groups), nil
}

func listOf(groups []group) string {
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.text
	}
	return strings.Join(texts, ", ")
}

func (q *query) order(s Selection) (string, error) {
	groups, err := q.groups(s)
	if err != nil {
		return "", err
	}
	name := s.OrderBy
	switch {
	case name == "" && s.Period != "":
		name = listOf(groups)
	case name == "":
		return "", nil
	case slices.ContainsFunc(s.Aggregates, func(a Aggregate) bool { return strings.EqualFold(a.Name(), name) }):
		name = quote(name)
	default:
		at := slices.IndexFunc(groups, func(g group) bool { return strings.EqualFold(g.name, name) || strings.HasPrefix(g.name, name+" (") })
		if at >= 0 {
			name = groups[at].text
			break
		}
		c, err := q.column(name)
		if err != nil {
			return "", err
		}
		name = c.compared()
	}
	if s.Descending {
		name += " DESC"
	}
	name += " NULLS LAST"
	if len(groups) > 0 { // so that groups with equal values always have the same order
		name += ", " + listOf(groups)
	}
	return " ORDER BY " + name, nil
}

// compared returns the SQL expression to compare the values of a column. The values of type boolean are yes and no,
// even if the file has true and false.
func (c Column) compared() string {
	if c.Type == Boolean {
		return "truth(" + quote(c.Name) + ")"
	}
	return quote(c.Name)
}

// column finds a column by its name, whatever the case.
func (q *query) column(name string) (Column, error) {
	for _, c := range q.d.Schema.Columns {
		if strings.EqualFold(c.Name, strings.TrimSpace(name)) {
			return c, nil
		}
	}
	return Column{}, fmt.Errorf("%w: there is no column %q; the columns are %q", ErrQuestion, name, q.d.Schema.Names())
}

func (q *query) columns(list []string) ([]string, error) {
	var out []string
	for _, name := range list {
		c, err := q.column(name)
		if err != nil {
			return nil, err
		}
		out = append(out, quote(c.Name))
	}
	return out, nil
}

// Name returns the name of the figure's column in a table, such as "sum amount".
func (a Aggregate) Name() string {
	return strings.TrimSpace(strings.ReplaceAll(a.Function, "_", " ") + " " + a.Column)
}

// Title returns the figure in words, such as "Total amount".
func (a Aggregate) Title() string {
	if a.Function == "count" && a.Column == "" {
		return "Number of rows"
	}
	words := map[string]string{
		"count": "Number of values of", "count_distinct": "Number of different values of", "sum": "Total", "avg": "Average", "median": "Median",
		"min": "Lowest", "max": "Highest", "stddev": "Standard deviation of",
	}[a.Function]
	return words + " " + a.Column
}

func (q *query) figure(a Aggregate) (string, error) {
	if a.Function == "count" && a.Column == "" {
		return "count(*)", nil
	}
	c, err := q.column(a.Column)
	if err != nil {
		return "", err
	}
	name := c.compared()
	switch a.Function {
	case "count", "min", "max":
		return a.Function + "(" + name + ")", nil
	case "count_distinct":
		return "count(DISTINCT " + name + ")", nil
	}
	if !c.Type.number() {
		return "", fmt.Errorf("%w: %s of %q, which is a column of type %s", ErrQuestion, a.Function, c.Name, c.Type)
	}
	switch a.Function {
	case "sum", "avg", "median":
		return a.Function + "(" + name + ")", nil
	case "stddev":
		return fmt.Sprintf("sqrt(max(0, avg(1.0*%[1]s*%[1]s) - avg(%[1]s)*avg(%[1]s)))", name), nil
	}
	return "", fmt.Errorf("%w: there is no function %q", ErrQuestion, a.Function)
}

// run runs a statement and reads its rows.
func (d *DB) run(ctx context.Context, statement string, args []any) (Table, error) {
	rows, err := d.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return Table{}, fmt.Errorf("csvdb: %w", err)
	}
	defer rows.Close()
	t := Table{Rows: [][]any{}, SQL: statement}
	names, err := rows.Columns()
	if err != nil {
		return Table{}, fmt.Errorf("csvdb: %w", err)
	}
	for _, name := range names {
		t.Columns = append(t.Columns, Cells{Name: name})
	}
	for rows.Next() {
		row, into := make([]any, len(t.Columns)), make([]any, len(t.Columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return Table{}, fmt.Errorf("csvdb: %w", err)
		}
		for i, v := range row {
			row[i] = shown(v)
		}
		t.Rows = append(t.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return Table{}, fmt.Errorf("csvdb: %w", err)
	}
	return t, nil
}

// shown returns a value for a table. It cuts long texts, and writes values that JSON lacks as text.
func shown(v any) any {
	switch v := v.(type) {
	case string:
		if r := []rune(v); len(r) > maxCell {
			return string(r[:maxCell]) + "…"
		}
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case []byte:
		return string(v)
	}
	return v
}
