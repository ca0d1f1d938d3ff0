package offline

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A column and a file have the data that the prompt gives for them.
type (
	column struct {
		csvdb.Column
		// rows reports that the column has the name of the file and a unique value in each row, so its values name
		// the rows.
		rows bool
	}
	file struct {
		ID       string   `json:"resourceId"`
		Name     string   `json:"name"`
		RowCount *int64   `json:"rowCount"`
		Columns  []column `json:"columns"`
	}
)

func (c column) number() bool { return c.Type == csvdb.Integer || c.Type == csvdb.Real }
func (c column) dated() bool  { return c.Type == csvdb.Date || c.Type == csvdb.Time }
func (c column) money() bool  { return c.number() && c.Currency != "" }

// identifier reports whether the numbers of a column are names, such as an order number or a year.
func (c column) identifier() bool {
	parts := stems(c.Name)
	return c.rows || len(parts) > 0 && set("id no nr number code zip year")[parts[len(parts)-1]]
}

// quantity reports whether a column has numbers to compute with.
func (c column) quantity() bool { return c.number() && !c.identifier() }

// takes reports whether c is a column of dates, and t is a period or a number that may be a year.
func (c *column) takes(t token) bool {
	return c != nil && c.dated() && (t.kind == period || t.kind == numeral && isYear.MatchString(t.text))
}

// withYear adds the year to a month, if all dates of the column are of one year.
func (c column) withYear(period string) string {
	if month, found := strings.CutPrefix(period, "--"); found && len(c.From) >= 4 && len(c.To) >= 4 && c.From[:4] == c.To[:4] {
		return c.From[:4] + "-" + month
	}
	return period
}

// names returns the names by which a person may call a column: the name itself, its words, the name without a unit
// in parentheses, and the words without a last word that is the currency or "name". A column whose values name the
// rows has none.
func (c column) names() []string {
	if c.rows {
		return nil
	}
	parts := stems(c.Name)
	out := []string{c.Name, strings.Join(parts, " ")}
	if bare, _, found := strings.Cut(c.Name, "("); found {
		out = append(out, bare)
	}
	if last := len(parts) - 1; last > 0 && (strings.EqualFold(parts[last], c.Currency) || parts[last] == "name") {
		out = append(out, strings.Join(parts[:last], " "))
	}
	return out
}

// named returns the column with a name, or an empty column.
func (f *file) named(name string) *column {
	for i := range f.Columns {
		if f.Columns[i].Name == name {
			return &f.Columns[i]
		}
	}
	return &column{}
}

// nouns returns the stems of the words for the rows: "row", and the words of the file's name without digits.
func (f *file) nouns() map[string]bool {
	out := map[string]bool{"row": true}
	for _, s := range stems(f.bareName()) {
		if !strings.ContainsAny(s, "0123456789") {
			out[s] = true
		}
	}
	return out
}

// bareName returns the name of the file in lower case, without its extension.
func (f *file) bareName() string {
	return strings.ToLower(strings.TrimSuffix(f.Name, path.Ext(f.Name)))
}

// only returns the one column for which the function is returns true, or nil if there are none or several. It ignores a
// column such as "Amount_2" after "Amount".
func (f *file) only(is func(column) bool) (only *column) {
	for i := range f.Columns {
		c := &f.Columns[i]
		if !is(*c) || only != nil && strings.HasPrefix(c.Name, only.Name+"_") {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// about tells the user that rules answer.
const about = "I am a set of rules and not a language model; the README says how to choose one."

// help returns a first sentence, the columns of the file, and example questions that the rules can answer.
func (f *file) help(first string) string {
	examples := []string{"how many rows are there?", "describe the columns"}
	number := slices.IndexFunc(f.Columns, column.quantity)
	if number >= 0 {
		name := plain(f.Columns[number].Name)
		examples = append(examples, "the highest "+name, "the average "+name)
	}
	group := slices.IndexFunc(f.Columns, func(c column) bool { return c.Type == csvdb.Text && len(c.Values) > 1 })
	if group >= 0 {
		name := plain(f.Columns[group].Name)
		examples = append(examples, "how many rows by "+name+"?", "how many rows where "+name+" is "+plain(f.Columns[group].Values[0])+"?")
	}
	return strings.TrimSpace(first+" "+about) + " " + f.columnList() + "\nAsk me, for example:\n- " + strings.Join(examples, "\n- ")
}

// columnList names the columns.
func (f *file) columnList() string {
	names := make([]string, len(f.Columns))
	for i, c := range f.Columns {
		names[i] = plain(c.Name)
	}
	return fmt.Sprintf("The columns of %s are %s.", plain(f.Name), shorten(strings.Join(names, ", "), 500))
}

// describe describes the file with the data of the prompt.
func (f *file) describe() string {
	out := fmt.Sprintf("%s has %s and %d columns:", plain(f.Name), rowsOf(*f.RowCount), len(f.Columns))
	for _, c := range f.Columns {
		out += "\n- " + plain(c.Name) + ": " + string(c.Type)
		if c.From != "" {
			out += ", from " + c.From + " to " + c.To
		}
		if c.Empty > 0 {
			out += ", " + separated(float64(c.Empty)) + " empty"
		}
		if len(c.Values) > 0 {
			out += ": " + shorten(plain(strings.Join(c.Values, ", ")), 60)
		}
	}
	return out
}
