package csvdb

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A Type is the type of all values of a column.
type Type string

// The types of a column. Dates and times are stored as text in the form of ISO 8601, which sorts by time.
// A boolean is stored with the text of the file, such as "TRUE", and compared as "yes" or "no".
const (
	Integer Type = "integer"
	Real    Type = "real"
	Date    Type = "date"
	Time    Type = "time"
	Boolean Type = "boolean"
	Text    Type = "text"
)

// number reports whether the values are numbers.
func (t Type) number() bool { return t == Integer || t == Real }

// dated reports whether the values are dates or times.
func (t Type) dated() bool { return t == Date || t == Time }

// A format is a way to write values of a type. A column has the first format that fits all its cells.
type format struct {
	kind  Type
	note  string // another meaning that a person may have intended
	read  func(cell string) (any, bool)
	point byte // the decimal mark
}

// Dates whose day and month cannot be confused. A column may have several of these formats.
var (
	plainDays  = []string{"2006-01-02", "2006/01/02", "2.1.2006", "2 Jan 2006", "2 January 2006", "Jan 2, 2006", "January 2, 2006"}
	plainTimes = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2.1.2006 15:04", "2.1.2006 15:04:05"}
)

var formats = []format{
	{Integer, "", integer, 0},
	{Real, "", realNumber, '.'},
	{Real, "a number such as 1,234.5 is read as 1234.5", grouped(",", "."), '.'},
	{Real, "a number such as 1.234,5 is read as 1234.5", grouped(".", ","), ','},
	{Date, "", moments(time.DateOnly, plainDays[0]), 0},
	{Date, "", moments(time.DateOnly, plainDays...), 0},
	{Date, "a date such as 03/04/2020 is read as month, day, year", moments(time.DateOnly, "1/2/2006"), 0},
	{Date, "a date such as 03/04/2020 is read as day, month, year", moments(time.DateOnly, "2/1/2006"), 0},
	{Time, "", moments(time.DateTime, plainTimes...), 0},
	{Time, "a date without a time is read as midnight", moments(time.DateTime, append(plainDays, plainTimes...)...), 0},
	{Boolean, "", yesOrNo, 0},
}

// isNull reports whether a cell of a column that is not text stands for no value.
func isNull(cell string) bool {
	switch cell {
	case "", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan", "None", "-":
		return true
	}
	return false
}

// integer reads an integer. It refuses leading zeros, as in an article number, and numbers of more than 15 digits,
// which a float of another program might not hold.
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

// grouped returns a function that reads numbers. They may have a thousands separator, a decimal mark and a currency
// sign.
func grouped(thousands, point string) func(string) (any, bool) {
	t, p := regexp.QuoteMeta(thousands), regexp.QuoteMeta(point)
	shape := regexp.MustCompile(`^[-+]?(?:\d{1,3}(?:` + t + `\d{3})+|\d+)(?:` + p + `\d+)?$`)
	return func(cell string) (any, bool) {
		sign, number := "", strings.TrimSpace(strings.Trim(cell, currencySigns))
		if rest, negative := strings.CutPrefix(cell, "-"); negative {
			sign, number = "-", strings.TrimSpace(strings.Trim(rest, currencySigns))
		}
		number = sign + number
		if !shape.MatchString(number) || len(number) > 20 || len(number) > 15 && !strings.Contains(number, thousands) || len(number) > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9' {
			return nil, false
		}
		number = strings.ReplaceAll(strings.ReplaceAll(number, thousands, ""), point, ".")
		f, err := strconv.ParseFloat(number, 64)
		return f, err == nil
	}
}

// moments returns a function that reads dates or times in any of the layouts.
func moments(stored string, layouts ...string) func(string) (any, bool) {
	return func(cell string) (any, bool) {
		if len(cell) < 8 || len(cell) > 40 {
			return nil, false
		}
		for _, layout := range layouts {
			if digit(cell[0]) != digit(layout[0]) {
				continue
			}
			if at, err := time.Parse(layout, cell); err == nil {
				return at.UTC().Format(stored), true
			}
		}
		return nil, false
	}
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func yesOrNo(cell string) (any, bool) {
	switch strings.ToLower(cell) {
	case "yes", "true":
		return "yes", true
	case "no", "false":
		return "no", true
	}
	return nil, false
}

// The signs of currencies, and their codes.
const currencySigns = "$€£¥"

var currencies = map[string]string{"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}

const (
	// maxValues is the maximum number of different values that are listed for a column, and maxValue is the maximum
	// number of bytes of each.
	maxValues = 40
	maxValue  = 40
	// maxListed is the maximum number of bytes of the values of all columns, which are part of a prompt.
	maxListed = 8 << 10
	// maxDecimals limits the decimals of a column, since a number such as 1e-20 has many.
	maxDecimals = 30
	// manyCurrencies is the currency of a column whose cells have different signs.
	manyCurrencies = "?"
)

// guess finds the format of a column from its cells.
type guess struct {
	fits     uint // a bit for each of the formats
	values   int  // cells that have a value
	texts    int  // cells that are not empty, "n/a" included
	currency string
	// decimals are the most digits after a point, and after a comma.
	decimals map[byte]int
	// different has the different values, or is nil if they are many or long.
	different map[string]bool
}

func newGuess() guess {
	return guess{fits: 1<<len(formats) - 1, decimals: map[byte]int{}, different: map[string]bool{}}
}

func (g *guess) see(cell string) {
	if cell == "" {
		return
	}
	g.texts++
	if g.different != nil {
		g.list(cell)
	}
	if isNull(cell) {
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
	if g.fits&numbers != 0 {
		g.measure(cell)
	}
}

// list keeps a value of a column that has few different values.
func (g *guess) list(cell string) {
	if g.different[cell] {
		return
	}
	if len(cell) > maxValue || len(g.different) == maxValues {
		g.different = nil
		return
	}
	g.different[strings.Clone(cell)] = true
}

// numbers are the formats of numbers.
var numbers = func() (bits uint) {
	for i, f := range formats {
		if f.kind.number() {
			bits |= 1 << i
		}
	}
	return bits
}()

// measure keeps the currency and the decimals of a number.
func (g *guess) measure(cell string) {
	sign := strings.Trim(cell, "0123456789.,+- ")
	if code := currencies[sign]; code != "" && g.currency != code {
		g.currency = map[bool]string{true: code, false: manyCurrencies}[g.currency == ""]
	}
	mantissa, power, _ := strings.Cut(strings.ToLower(cell), "e")
	exponent, _ := strconv.Atoi(power) // zero if there is none
	for _, point := range []byte{'.', ','} {
		digits := 0
		if i := strings.LastIndexByte(mantissa, point); i >= 0 {
			digits = min(len(strings.TrimRight(mantissa[i+1:], currencySigns+" ")), 12)
		}
		g.decimals[point] = max(g.decimals[point], min(digits-exponent, maxDecimals))
	}
}

// currencyIn finds the code or the sign of a currency in the name of a column: "price_eur", "Spent (€)".
func currencyIn(name string) string {
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !strings.ContainsRune(currencySigns, r) }) {
		switch code := strings.ToUpper(word); code {
		case "USD", "EUR", "GBP", "JPY", "CHF", "SEK", "NOK", "DKK", "PLN":
			return code
		}
		if code := currencies[word]; code != "" {
			return code
		}
	}
	return ""
}

// format returns the format of the column, which is text when no format fits.
func (g *guess) format() format {
	text := format{kind: Text, read: func(cell string) (any, bool) { return cell, true }}
	if g.values == 0 {
		return text
	}
	for i, f := range formats {
		if g.fits>>i&1 == 1 {
			if f.kind.number() && g.currency == manyCurrencies {
				text.note = "the amounts are of several currencies and are read as text"
				return text
			}
			return f
		}
	}
	return text
}

// column returns the description of the column.
func (g *guess) column(name string, rows int64) Column {
	f := g.format()
	c := Column{Name: name, Type: f.kind, Empty: rows - int64(g.values)}
	switch {
	case f.kind.number():
		c.Decimals, c.Currency = g.decimals[f.point], g.currency
		if c.Currency == "" {
			c.Currency = currencyIn(name)
		}
	case f.kind == Text:
		c.Values = slices.Sorted(maps.Keys(g.different))
	}
	if f.kind == Text { // here "n/a" is a text
		c.Empty = rows - int64(g.texts)
	}
	return c
}

// value returns the stored value of a cell.
func (f format) value(cell string) any {
	cell = strings.TrimSpace(cell)
	if f.kind == Text {
		if cell == "" {
			return nil
		}
		return cell
	}
	v, ok := f.read(cell)
	switch {
	case !ok:
		return nil
	case f.kind == Boolean: // rows show the text of the file
		return cell
	}
	return v
}
