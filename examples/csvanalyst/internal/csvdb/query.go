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
	// MaxRows is how many rows a question is answered with at most.
	MaxRows = 100
	// maxCell is how many characters of a cell are returned.
	maxCell = 300
)

// ErrQuestion says that a question can not be asked of this file, and why.
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
	db.SetMaxOpenConns(1) // so that the limit below is that of every connection
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

// A Condition is what a row has to fulfil. Values are as a person writes them.
type Condition struct {
	Column string   `json:"column" jsonschema:"the name of a column"`
	Op     string   `json:"op" enum:"eq,ne,lt,le,gt,ge,contains,starts_with,in,between,empty,not_empty"`
	Value  string   `json:"value,omitempty" jsonschema:"what to compare with; dates as 2006-01-02"`
	Values []string `json:"values,omitempty" jsonschema:"the values of in, or both ends of between"`
}

// An Aggregate is a figure of many rows.
type Aggregate struct {
	Function string `json:"function" enum:"count,count_distinct,sum,avg,min,max,median,stddev"`
	Column   string `json:"column,omitempty" jsonschema:"the name of a column; count needs none"`
}

// A Selection is a question: which rows, and what of them.
type Selection struct {
	Columns    []string    // which to return; none means all
	Where      []Condition // all have to be fulfilled, or with Any one of them
	Any        bool
	GroupBy    []string
	Aggregates []Aggregate // with them, a row for each group is returned
	OrderBy    string      // a column, or the name of an aggregate: "sum amount"
	Descending bool
	Limit      int // zero means 20; never more than MaxRows
	Offset     int
}

// A Table answers a selection.
type Table struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
	// Matched is how many rows, or groups, there are in all.
	Matched int64 `json:"matched"`
	// SQL is the statement that was run, with ? for each value.
	SQL string `json:"sql"`
}

// query is a statement that is being written.
type query struct {
	d    *DB
	args []any
}

// Select answers a question. What is wrong with it is an error that wraps
// [ErrQuestion].
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
	t.Matched = int64(len(t.Rows))
	if len(t.Rows) == min(limit, MaxRows) || s.Offset > 0 {
		err = d.db.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1"+from+")", q.args...).Scan(&t.Matched)
	}
	return t, err
}

// what is the list of columns and figures.
func (q *query) what(s Selection) (string, error) {
	names, err := q.columns(append(slices.Clone(s.GroupBy), pick(len(s.Aggregates) == 0, s.Columns)...))
	if err != nil {
		return "", err
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

func pick(take bool, list []string) []string {
	if !take {
		return nil
	}
	return list
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
	groups, err := q.columns(s.GroupBy)
	if err != nil || len(groups) == 0 {
		return text, err
	}
	return text + " GROUP BY " + strings.Join(groups, ", "), nil
}

func (q *query) order(s Selection) (string, error) {
	if s.OrderBy == "" {
		return "", nil
	}
	name := quote(s.OrderBy)
	if !slices.ContainsFunc(s.Aggregates, func(a Aggregate) bool { return strings.EqualFold(a.Name(), s.OrderBy) }) {
		c, err := q.column(s.OrderBy)
		if err != nil {
			return "", err
		}
		name = quote(c.Name)
	}
	if s.Descending {
		name += " DESC"
	}
	return " ORDER BY " + name + " NULLS LAST", nil
}

// column finds a column, whatever its case.
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

// Name is that of the figure's column in a table: "sum amount".
func (a Aggregate) Name() string {
	return strings.TrimSpace(strings.ReplaceAll(a.Function, "_", " ") + " " + a.Column)
}

func (q *query) figure(a Aggregate) (string, error) {
	if a.Function == "count" && a.Column == "" {
		return "count(*)", nil
	}
	c, err := q.column(a.Column)
	if err != nil {
		return "", err
	}
	name := quote(c.Name)
	switch a.Function {
	case "count", "min", "max":
		return a.Function + "(" + name + ")", nil
	case "count_distinct":
		return "count(DISTINCT " + name + ")", nil
	}
	if c.Type != Integer && c.Type != Real {
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

var operators = map[string]string{"eq": "=", "ne": "IS NOT", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

// condition writes a condition, with its values as parameters.
func (q *query) condition(c Condition) (string, error) {
	column, err := q.column(c.Column)
	if err != nil {
		return "", err
	}
	name := quote(column.Name)
	switch c.Op {
	case "empty":
		return name + " IS NULL", nil
	case "not_empty":
		return name + " IS NOT NULL", nil
	case "contains", "starts_with":
		q.args = append(q.args, strings.ToLower(c.Value))
		return "instr(fold(" + name + "), ?) " + map[bool]string{true: "> 0", false: "= 1"}[c.Op == "contains"], nil
	case "in", "between":
		return q.list(column, c)
	}
	op, ok := operators[c.Op]
	if !ok {
		return "", fmt.Errorf("%w: there is no op %q", ErrQuestion, c.Op)
	}
	if err := q.value(column, c.Value); err != nil {
		return "", err
	}
	if c.Op == "eq" || c.Op == "ne" {
		return side(column, name) + " " + op + " " + side(column, "?"), nil
	}
	return name + " " + op + " ?", nil
}

// list writes a condition with several values.
func (q *query) list(column Column, c Condition) (string, error) {
	if len(c.Values) == 0 || c.Op == "between" && len(c.Values) != 2 {
		return "", fmt.Errorf("%w: %s needs values; between, two of them", ErrQuestion, c.Op)
	}
	for _, v := range c.Values {
		if err := q.value(column, v); err != nil {
			return "", err
		}
	}
	if c.Op == "between" {
		return quote(column.Name) + " BETWEEN ? AND ?", nil
	}
	marks := strings.Repeat(side(column, "?")+",", len(c.Values))
	return side(column, quote(column.Name)) + " IN (" + strings.TrimSuffix(marks, ",") + ")", nil
}

// side is one side of an equation: texts are equal whatever their case.
func side(c Column, what string) string {
	if c.Type == Text {
		return "fold(" + what + ")"
	}
	return what
}

// value adds a parameter of the type that a column has.
func (q *query) value(c Column, text string) error {
	if c.Type == Integer || c.Type == Real {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || math.IsNaN(f) {
			return fmt.Errorf("%w: %q is no number, and %q is a column of numbers", ErrQuestion, text, c.Name)
		}
		q.args = append(q.args, f)
		return nil
	}
	q.args = append(q.args, text)
	return nil
}

// run runs a statement and reads its rows.
func (d *DB) run(ctx context.Context, statement string, args []any) (Table, error) {
	rows, err := d.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return Table{}, fmt.Errorf("csvdb: %w", err)
	}
	defer rows.Close()
	t := Table{Rows: [][]any{}, SQL: statement}
	if t.Columns, err = rows.Columns(); err != nil {
		return Table{}, fmt.Errorf("csvdb: %w", err)
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

// shown is a value as it is returned: long texts are cut, and what JSON does not
// have is text.
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
