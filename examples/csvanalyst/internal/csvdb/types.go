package csvdb

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Type is what all values of a column are.
type Type string

// The types of a column. Dates and times are kept as text in the form of ISO 8601,
// which sorts as they do.
const (
	Integer Type = "integer"
	Real    Type = "real"
	Date    Type = "date"
	Time    Type = "time"
	Text    Type = "text"
)

// A format is a way to write values of a type. Of those that fit all cells of a
// column, the first counts.
type format struct {
	kind Type
	note string // what a person might have meant otherwise
	read func(cell string) (any, bool)
}

var formats = []format{
	{Integer, "", integer},
	{Real, "", realNumber},
	{Real, "a number such as 1,234.5 is read as 1234.5", grouped(",", ".")},
	{Real, "a number such as 1.234,5 is read as 1234.5", grouped(".", ",")},
	{Date, "", day("2006-01-02")},
	{Date, "", day("2006/01/02")},
	{Date, "", day("02.01.2006")},
	{Date, "a date such as 03/04/2020 is read as month, day, year", day("1/2/2006")},
	{Date, "a date such as 03/04/2020 is read as day, month, year", day("2/1/2006")},
	{Time, "", moment(time.RFC3339)},
	{Time, "", moment("2006-01-02T15:04:05")},
	{Time, "", moment("2006-01-02 15:04:05")},
	{Time, "", moment("2006-01-02 15:04")},
}

// isNull reports whether a cell of a column that is not text stands for none.
func isNull(cell string) bool {
	switch cell {
	case "", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan", "None", "-":
		return true
	}
	return false
}

// integer refuses zeros in front, as an article's number has, and what a float
// of another program could not hold.
func integer(cell string) (any, bool) {
	digits := strings.TrimPrefix(cell, "-")
	if digits == "" || len(digits) > 15 || digits[0] == '0' && len(cell) > 1 || digits[0] < '0' || digits[0] > '9' {
		return nil, false
	}
	n, err := strconv.ParseInt(cell, 10, 64)
	return n, err == nil
}

var decimal = regexp.MustCompile(`^-?(?:0|[1-9]\d{0,14})(?:\.\d+)?(?:[eE][-+]?\d{1,3})?$|^-?\.\d+$`)

func realNumber(cell string) (any, bool) {
	if !decimal.MatchString(cell) {
		return nil, false
	}
	f, err := strconv.ParseFloat(cell, 64)
	return f, err == nil
}

// grouped reads numbers with a mark between thousands and a decimal mark of its
// own, and with a sign of a currency.
func grouped(thousands, point string) func(string) (any, bool) {
	t, p := regexp.QuoteMeta(thousands), regexp.QuoteMeta(point)
	shape := regexp.MustCompile(`^[-+]?(?:\d{1,3}(?:` + t + `\d{3})+|\d+)(?:` + p + `\d+)?$`)
	return func(cell string) (any, bool) {
		number := strings.TrimSpace(strings.Trim(strings.Replace(cell, "-$", "$-", 1), "$€£"))
		if !shape.MatchString(number) || len(number) > 20 || len(number) > 15 && !strings.Contains(number, thousands) || len(number) > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9' {
			return nil, false
		}
		number = strings.ReplaceAll(strings.ReplaceAll(number, thousands, ""), point, ".")
		f, err := strconv.ParseFloat(number, 64)
		return f, err == nil
	}
}

func day(layout string) func(string) (any, bool)    { return moments(layout, time.DateOnly) }
func moment(layout string) func(string) (any, bool) { return moments(layout, time.DateTime) }

func moments(layout, stored string) func(string) (any, bool) {
	return func(cell string) (any, bool) {
		if len(cell) < 8 || cell[0] < '0' || cell[0] > '9' {
			return nil, false
		}
		at, err := time.Parse(layout, cell)
		return at.UTC().Format(stored), err == nil
	}
}

// guess finds the format of a column from its cells.
type guess struct {
	fits   uint // a bit for each of the formats
	values int
	nulls  int
}

func newGuess() guess { return guess{fits: 1<<len(formats) - 1} }

func (g *guess) see(cell string) {
	if isNull(cell) {
		g.nulls++
		return
	}
	g.values++
	for i := 0; g.fits>>i != 0; i++ {
		if g.fits>>i&1 == 1 {
			if _, ok := formats[i].read(cell); !ok {
				g.fits &^= 1 << i
			}
		}
	}
}

// format is that of the column; text when nothing fits, or there is nothing.
func (g *guess) format() format {
	if g.values > 0 {
		for i, f := range formats {
			if g.fits>>i&1 == 1 {
				return f
			}
		}
	}
	return format{kind: Text, read: func(cell string) (any, bool) { return cell, true }}
}

// value is what is stored of a cell.
func (f format) value(cell string) any {
	if f.kind == Text {
		if cell == "" {
			return nil
		}
		return cell
	}
	if v, ok := f.read(strings.TrimSpace(cell)); ok {
		return v
	}
	return nil
}
