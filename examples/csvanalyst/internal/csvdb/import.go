package csvdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// A Schema describes a file.
type Schema struct {
	// Version is 1 if the columns have their Decimals. It is 0 in databases of older versions.
	Version  int      `json:"version,omitempty"`
	Columns  []Column `json:"columns"`
	RowCount int64    `json:"rowCount"`
	// Delimiter and Encoding are the delimiter and the encoding of the file. Header reports whether its first row
	// names the columns.
	Delimiter string `json:"delimiter"`
	Encoding  string `json:"encoding"`
	Header    bool   `json:"header"`
	// Notes describe irregularities, such as rows that are too short.
	Notes []string `json:"notes,omitempty"`
}

// A Column describes a column of a table.
type Column struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	// Empty is the number of cells without a value.
	Empty int64 `json:"empty,omitempty"`
	// Currency is the ISO code of the currency of the amounts, by the sign of each cell or by the name.
	Currency string `json:"currency,omitempty"`
	// Decimals is the maximum number of decimals of the cells.
	Decimals int `json:"decimals,omitempty"`
	// Values are all values of a text column, if they are few and short.
	Values []string `json:"values,omitempty"`
	// Unique reports that no value of the column occurs twice. It is set for the first column and for identifiers
	// only.
	Unique bool `json:"unique,omitempty"`
	// From and To are the first and the last date.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Names returns the names of the columns.
func (s Schema) Names() []string {
	out := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		out[i] = c.Name
	}
	return out
}

// survey is the result of the first pass over all rows.
type survey struct {
	shape
	header  []string
	guesses []guess
	rows    int64
	short   odd
	long    odd
}

// odd counts irregular rows, and keeps the numbers of their first lines.
type odd struct {
	count int64
	lines []string
}

func (o *odd) add(line int) {
	if o.count++; len(o.lines) < 5 {
		o.lines = append(o.lines, fmt.Sprint(line))
	}
}

func (o *odd) note(what string) []string {
	if o.count == 0 {
		return nil
	}
	more := ""
	if o.count > int64(len(o.lines)) {
		more = " and others"
	}
	return []string{fmt.Sprintf("%d rows have %s than the header (line %s%s)", o.count, what, strings.Join(o.lines, ", "), more)}
}

// Import imports a CSV file into a new database. An error that wraps [ErrNotCSV] says in words what is wrong with
// the file. If Import fails, it makes no database. Import needs no more memory for a larger file.
func Import(ctx context.Context, file, database string) (Schema, error) {
	s, err := find(file)
	if err != nil {
		return Schema{}, fmt.Errorf("csvdb: %w", err)
	}
	v, err := s.survey(ctx, file)
	if errors.Is(err, errQuotes) {
		s.lazy = true
		v, err = s.survey(ctx, file)
	}
	if err == nil && len(v.guesses) == 0 {
		err = fmt.Errorf("%w: it has no rows", ErrNotCSV)
	}
	if err != nil {
		return Schema{}, fmt.Errorf("csvdb: %w", err)
	}
	schema, half := v.schema(), database+".half"
	defer func() { _ = os.Remove(half) }() // only a failed import leaves this file
	if err := errors.Join(os.RemoveAll(half), os.WriteFile(half, nil, 0o600), v.load(ctx, file, half, &schema)); err != nil {
		return Schema{}, fmt.Errorf("csvdb: %w", err)
	}
	if err := os.Rename(half, database); err != nil {
		return Schema{}, fmt.Errorf("csvdb: %w", err)
	}
	return schema, nil
}

// survey reads all rows to detect the types of the columns.
func (s shape) survey(ctx context.Context, file string) (*survey, error) {
	v := &survey{shape: s}
	first := true
	err := s.rows(file, func(row []string, line int) error {
		if first {
			first = false
			if len(row) > maxColumns {
				return fmt.Errorf("%w: it has %d columns, and there may be %d", ErrNotCSV, len(row), maxColumns)
			}
			v.guesses = make([]guess, len(row))
			for i := range row {
				v.guesses[i] = newGuess()
			}
			if s.header {
				v.header = append(v.header, row...)
				return nil
			}
		}
		if v.rows++; v.rows%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case len(row) < len(v.guesses):
			v.short.add(line)
		case len(row) > len(v.guesses):
			v.long.add(line)
		}
		for i := range min(len(row), len(v.guesses)) {
			v.guesses[i].see(strings.TrimSpace(row[i]))
		}
		return nil
	})
	return v, err
}

func (v *survey) schema() Schema {
	s := Schema{Version: 1, RowCount: v.rows, Delimiter: string(v.comma), Encoding: v.encoding, Header: v.shape.header}
	listed := 0 // bytes of values
	for i, name := range names(v.header, len(v.guesses)) {
		g := &v.guesses[i]
		c := g.column(name, v.rows)
		for _, value := range c.Values {
			listed += len(value)
		}
		if listed > maxListed {
			c.Values = nil
		}
		s.Columns = append(s.Columns, c)
		if f := g.format(); f.note != "" {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %s", name, f.note))
		}
	}
	s.Notes = append(s.Notes, v.short.note("fewer cells")...)
	s.Notes = append(s.Notes, v.long.note("more cells, which are left out,")...)
	switch {
	case v.encoding == Windows1252:
		s.Notes = append(s.Notes, "the text is no UTF-8 and was read as Windows-1252")
	case v.broken > 0:
		s.Notes = append(s.Notes, fmt.Sprintf("%d bytes are no UTF-8 and were replaced", v.broken))
	}
	if v.lazy {
		s.Notes = append(s.Notes, "quotes stand where they should not, and were read as text")
	}
	if !v.shape.header {
		s.Notes = append(s.Notes, "the first row seems to be data, so the columns are numbered")
	}
	return s
}

// batch is the maximum number of rows of an INSERT. An INSERT with batchBytes bytes takes no further row.
const (
	batch      = 64
	batchBytes = 1 << 20
)

// load is the second pass: it writes the rows, and completes the schema. It writes no journal, because nobody opens
// the database before it is complete.
func (v *survey) load(ctx context.Context, file, database string, s *Schema) error {
	db, err := sql.Open("sqlite", address(database, "mode=rwc&_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=cache_size(-8000)"))
	if err != nil {
		return err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, script := range []string{create(*s), "CREATE TABLE about (schema TEXT NOT NULL)", "BEGIN"} {
		if _, err := conn.ExecContext(ctx, script); err != nil {
			return err
		}
	}
	if err := v.insert(ctx, conn, file); err != nil {
		return err
	}
	if err := s.complete(ctx, conn); err != nil {
		return err
	}
	about, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "INSERT INTO about VALUES (?)", string(about)); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// complete sets the parts of the schema that need all rows: the first and the last date, and whether identifiers
// are unique.
func (s *Schema) complete(ctx context.Context, conn *sql.Conn) error {
	for i := range s.Columns {
		c := &s.Columns[i]
		name := quote(c.Name)
		switch {
		case c.Type.dated():
			var from, to sql.NullString
			if err := conn.QueryRowContext(ctx, fmt.Sprintf("SELECT min(%[1]s), max(%[1]s) FROM data", name)).Scan(&from, &to); err != nil {
				return err
			}
			c.From, c.To = from.String, to.String
		case c.Empty == 0 && s.RowCount > 1 && s.RowCount <= maxDistinct && (i == 0 || identifier.MatchString(c.Name)):
			if err := conn.QueryRowContext(ctx, "SELECT count(DISTINCT "+name+") = count(*) FROM data").Scan(&c.Unique); err != nil {
				return err
			}
		}
	}
	return nil
}

// identifier matches names of columns whose values are names or numbers of rows.
var identifier = regexp.MustCompile(`(?i)(^|[^\pL])(id|nr|no|number|key|code)\.?$|[a-z]I[dD]$`)

func create(s Schema) string {
	columns := make([]string, len(s.Columns))
	for i, c := range s.Columns {
		kind := map[Type]string{Integer: "INTEGER", Real: "REAL"}[c.Type]
		if kind == "" {
			kind = "TEXT"
		}
		columns[i] = quote(c.Name) + " " + kind
	}
	return "CREATE TABLE data (" + strings.Join(columns, ", ") + ")"
}

func (v *survey) insert(ctx context.Context, conn *sql.Conn, file string) error {
	width := len(v.guesses)
	formats := make([]format, width)
	for i := range formats {
		formats[i] = v.guesses[i].format()
	}
	rows := max(1, min(batch, 30000/max(width, 1)))
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", width), ",") + ")"
	full, err := conn.PrepareContext(ctx, "INSERT INTO data VALUES "+strings.TrimSuffix(strings.Repeat(row+",", rows), ","))
	if err != nil {
		return err
	}
	defer full.Close()
	values, size := make([]any, 0, rows*width), 0
	write := func() error {
		var err error
		switch n := len(values) / width; n {
		case 0:
		case rows:
			_, err = full.ExecContext(ctx, values...)
		default:
			_, err = conn.ExecContext(ctx, "INSERT INTO data VALUES "+strings.TrimSuffix(strings.Repeat(row+",", n), ","), values...)
		}
		values, size = values[:0], 0
		return err
	}
	skip := v.shape.header
	err = v.shape.rows(file, func(cells []string, _ int) error {
		if skip {
			skip = false
			return nil
		}
		for i, f := range formats {
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			values, size = append(values, f.value(cell)), size+len(cell)
		}
		if len(values) < rows*width && size < batchBytes {
			return nil
		}
		return write()
	})
	if err != nil {
		return err
	}
	return write()
}

// address returns the URI of a database file. It escapes the path.
func address(path, options string) string {
	u := url.URL{Scheme: "file", Opaque: url.PathEscape(path), RawQuery: options}
	return strings.ReplaceAll(u.String(), "%2F", "/")
}

// quote quotes the name of a column for a statement.
func quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
