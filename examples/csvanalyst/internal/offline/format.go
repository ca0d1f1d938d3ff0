package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-go/weft/tools"
)

var currencySigns = map[string]string{"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}

// amount writes a value of a tool for people: a number with separators, with the currency if it has one. A fraction of an
// amount of money, or of a column whose cells have two decimals, has two decimals at least.
func amount(v any, currency string, decimals int) string {
	f, isNumber := v.(float64)
	switch {
	case v == nil:
		return "none"
	case !isNumber:
		return plain(fmt.Sprint(v))
	}
	money := currency != "" || decimals == 2
	decimals = -1
	if _, fraction, _ := strings.Cut(strconv.FormatFloat(f, 'f', -1, 64), "."); money && len(fraction) == 1 { // $2.50
		decimals = 2
	}
	if currency == "" {
		return separated(f, decimals)
	}
	if sign := currencySigns[currency]; sign != "" {
		if f < 0 {
			return "-" + sign + separated(-f, decimals)
		}
		return sign + separated(f, decimals)
	}
	return separated(f, decimals) + " " + currency
}

// write writes a value of the column for people. A number that is a name, such as a year, has no separators.
func (c column) write(v any) string {
	if f, ok := v.(float64); ok && c.identifier() {
		return strings.ReplaceAll(separated(f, -1), ",", "")
	}
	return amount(v, c.Currency, c.Decimals)
}

// writeText writes the value of a condition like a value of the column.
func (c column) writeText(text string) string {
	var f float64
	if !c.number() || json.Unmarshal([]byte(text), &f) != nil {
		return plain(text)
	}
	return c.write(f)
}

// separated writes a number with commas between thousands.
func separated(f float64, decimals int) string {
	text := strconv.FormatFloat(f, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(text, ".")
	sign := ""
	if rest, negative := strings.CutPrefix(whole, "-"); negative {
		sign, whole = "-", rest
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction
}

// markdown matches what has a meaning in Markdown: marks, the begin of a list or a title, and of emphasis.
var markdown = regexp.MustCompile("[\\\\`*\\[\\]<>|~]|^[#+-]|\\b_")

// plain makes a text of a file safe to show as Markdown or in a terminal: its marks have no effect, and characters
// that are not shown or that change the direction of the text are written as their codes.
func plain(text string) string {
	text = tools.VisibleLine(strings.Join(strings.Fields(text), " "))
	if numeric.MatchString(text) {
		return text
	}
	return markdown.ReplaceAllString(text, `\$0`)
}

// shorten cuts a long text.
func shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// rowsOf writes a number of rows.
func rowsOf(n int64) string {
	if n == 1 {
		return "1 row"
	}
	return separated(float64(n), -1) + " rows"
}

// cells are a column of a table: its name, and the currency of its amounts.
type cells struct{ Name, Currency string }

// UnmarshalJSON reads a name, or an object for amounts.
func (c *cells) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &c.Name)
	}
	type object cells
	return json.Unmarshal(data, (*object)(c))
}
