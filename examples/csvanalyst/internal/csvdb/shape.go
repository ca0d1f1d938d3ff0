package csvdb

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	// maxRecord is the maximum number of bytes of a row. Otherwise a quote that is never
	// closed would make the rest of the file one row.
	maxRecord = 1 << 20
	// maxColumns is the maximum number of columns of a table.
	maxColumns = 1000
	// maxCells is the maximum number of cells of a row. Package csv needs 40 bytes for each cell of a row, so
	// a row of delimiters alone would take forty times its size.
	maxCells = 10 * maxColumns
	// sample is the number of rows that find reads to detect the delimiter and the header.
	sample = 50
)

// shape is the format of a file, as find detects it.
type shape struct {
	encoding string
	broken   int
	comma    rune
	lazy     bool // a quote may stand anywhere, as with csv.Reader.LazyQuotes
	header   bool
}

// Errors of rows that are too large.
var (
	errRecord = fmt.Errorf("a row has more than %d bytes: is there a quote that is never closed?", maxRecord)
	errCells  = fmt.Errorf("a row has more than %d cells", maxCells)
)

// meter is a reader that fails before package csv has to hold a row that is too large.
type meter struct {
	r     io.Reader
	comma byte
	lazy  bool // a quote does not show reliably where a cell begins
	left  int  // bytes that the row may still have
	eof   bool

	quoted bool
	cells  int // of the row
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errRecord
	}
	n, err := m.r.Read(p[:min(len(p), m.left)])
	m.left -= n
	m.eof = m.eof || errors.Is(err, io.EOF)
	for _, c := range p[:n] {
		switch {
		case c == '"' && !m.lazy:
			m.quoted = !m.quoted
		case m.quoted:
		case c == '\n':
			m.cells = 0
		case c == m.comma:
			m.cells++
		}
		if m.cells >= maxCells {
			return 0, errCells
		}
	}
	return n, err
}

// rows calls fn with each row of a file and the number of its line. fn must not keep the row. If fn returns
// errStop, rows ends without an error.
func (s shape) rows(path string, fn func(row []string, line int) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	m := &meter{r: decoders[s.encoding].NewDecoder().Reader(f), comma: byte(s.comma), lazy: s.lazy, left: 2 * maxRecord}
	r := csv.NewReader(m)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord, r.ReuseRecord = s.comma, s.lazy, -1, true
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return refused(err, m.eof)
		}
		m.left = 2 * maxRecord
		line, _ := r.FieldPos(0)
		if err := fn(row, line); errors.Is(err, errStop) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// errStop ends rows early. errQuotes is returned for a file that needs lazy quotes.
var (
	errStop   = errors.New("stop")
	errQuotes = errors.New("quotes stand where they should not")
)

func refused(err error, eof bool) error {
	p, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case errors.Is(err, errRecord), errors.Is(err, errCells):
		return fmt.Errorf("%w: %w", ErrNotCSV, err)
	case !ok:
		return err
	case eof && errors.Is(p.Err, csv.ErrQuote) && p.Line > p.StartLine:
		return fmt.Errorf("%w: the quote that opens in the row of line %d is never closed", ErrNotCSV, p.StartLine)
	case errors.Is(p.Err, csv.ErrQuote), errors.Is(p.Err, csv.ErrBareQuote):
		return fmt.Errorf("line %d: %w", p.Line, errQuotes)
	}
	return fmt.Errorf("%w: line %d: %w", ErrNotCSV, p.Line, p.Err)
}

// head returns the first rows, with the beginning of each cell.
func (s shape) head(path string) ([][]string, error) {
	var out [][]string
	err := s.rows(path, func(row []string, _ int) error {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.Clone(cell[:min(len(cell), maxValue)]) // so that a row of a megabyte is not kept
		}
		out = append(out, cells)
		if len(out) == sample {
			return errStop
		}
		return nil
	})
	if errors.Is(err, errQuotes) && !s.lazy {
		s.lazy = true
		return s.head(path)
	}
	return out, err
}

// find detects the shape of a file.
func find(path string) (shape, error) {
	f, err := os.Open(path)
	if err != nil {
		return shape{}, err
	}
	defer f.Close()
	var s shape
	if s.encoding, s.broken, err = encodingOf(f); err != nil {
		return shape{}, err
	}
	var best [][]string
	score, failed := -1.0, error(nil)
	for _, comma := range []rune{',', ';', '\t', '|'} {
		try := s
		try.comma = comma
		rows, err := try.head(path)
		if err != nil {
			failed = err
			continue
		}
		if n := evenness(rows); n > score {
			score, best, s.comma = n, rows, comma
		}
	}
	if failed != nil && score <= 0 { // any file can be read as one column
		return shape{}, failed
	}
	s.header = hasHeader(best)
	return s, nil
}

// evenness returns a score that is high if most rows have the same, large number of columns.
func evenness(rows [][]string) float64 {
	counts := map[int]int{}
	for _, r := range rows {
		counts[len(r)]++
	}
	common, times := 1, 0
	for width, n := range counts {
		if n > times || n == times && width > common {
			common, times = width, n
		}
	}
	if common == 1 {
		return 0
	}
	share := float64(times) / float64(len(rows))
	return share*share*10 + float64(min(common, 9))/10
}

// hasHeader reports whether the first row names the columns. A row of numbers and dates only is no header. Neither is a
// row with a number or a date, other than a year, above a column of numbers and dates.
func hasHeader(rows [][]string) bool {
	if len(rows) == 0 {
		return false
	}
	numbers, words := 0, 0
	for i, cell := range rows[0] {
		cell = strings.TrimSpace(cell)
		switch {
		case cell == "":
		case !isValue(cell):
			words++
		case len(cell) == 4 && (cell[0] == '1' || cell[0] == '2'):
			numbers++ // a year may be the name of a column
		case columnOfValues(rows[1:], i):
			return false
		default:
			numbers++
		}
	}
	return words > 0 || numbers == 0 && len(rows) > 1
}

func columnOfValues(rows [][]string, i int) bool {
	seen := false
	for _, r := range rows {
		if i < len(r) && !isNull(strings.TrimSpace(r[i])) {
			if seen = true; !isValue(strings.TrimSpace(r[i])) {
				return false
			}
		}
	}
	return seen || len(rows) == 0
}

// isValue reports whether a cell is a number or a date.
func isValue(cell string) bool {
	for _, f := range formats {
		if _, ok := f.read(cell); ok && f.kind != Boolean {
			return true
		}
	}
	return false
}

// names makes column names from a header. No name is empty, and no two names are equal, whatever their case.
func names(header []string, width int) []string {
	out, taken := make([]string, width), map[string]bool{}
	for i := range out {
		name := ""
		if i < len(header) {
			name = strings.Join(strings.Fields(strings.ToValidUTF8(header[i], "")), " ")
		}
		if r := []rune(name); len(r) > 100 {
			name = string(r[:100])
		}
		if name == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		unique := name
		for n := 2; taken[strings.ToLower(unique)]; n++ {
			unique = fmt.Sprintf("%s_%d", name, n)
		}
		taken[strings.ToLower(unique)] = true
		out[i] = unique
	}
	return out
}
