package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/tools"
)

var currencySigns = map[string]string{"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥"}

// write writes a value of the column for people: a number with separators, with the currency if it has one. A fraction of
// an amount of money, or of a column whose cells have two decimals, has two decimals at least. A number that is a name,
// such as a year, has no separators.
func (c column) write(v any) string {
	f, isNumber := v.(float64)
	switch {
	case v == nil:
		return "none"
	case !isNumber:
		return plain(fmt.Sprint(v))
	case c.identifier():
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	text, sign := separated(f), currencySigns[c.Currency]
	if _, fraction, _ := strings.Cut(text, "."); len(fraction) == 1 && (c.Currency != "" || c.Decimals == 2) { // $2.50
		text += "0"
	}
	switch {
	case sign != "" && f < 0:
		return "-" + sign + text[1:]
	case c.Currency != "" && sign == "":
		return text + " " + c.Currency
	}
	return sign + text
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
func separated(f float64) string {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	whole, _, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// inWords writes a period of the tools for people.
func inWords(period string) string {
	if month, err := time.Parse("--01", period); err == nil {
		return month.Month().String() + " (of any year)"
	}
	if month, err := time.Parse("2006-01", period); err == nil {
		return month.Format("January 2006")
	}
	return period
}

// markdown matches characters with a meaning in Markdown, also the ones that begin a list, a title or emphasis.
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
	return separated(float64(n)) + " rows"
}
