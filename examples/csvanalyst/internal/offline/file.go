package offline

import (
	"path"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A column and a file have the data that the prompt tells about them.
type (
	column struct {
		csvdb.Column
		// key says that the column has whole numbers and the name of the file, as the column votes of votes.csv.
		key bool
		// rows says that the column has the name of the file, and another text in each row. So it names the rows, too.
		rows bool
	}
	file struct {
		ID       string   `json:"resourceId"`
		Name     string   `json:"name"`
		RowCount *int64   `json:"rowCount"`
		Columns  []column `json:"columns"`
	}
)

func (c column) number() bool { return c.Type == "integer" || c.Type == "real" }
func (c column) dated() bool  { return c.Type == "date" || c.Type == "time" }

// year reports whether a column has years as numbers.
func (c column) year() bool { return c.Type == "integer" && slices.Contains(stems(c.Name), "year") }

// identifier reports whether the numbers of a column are names, such as an order number or a year.
func (c column) identifier() bool {
	parts := stems(c.Name)
	return c.key || len(parts) > 0 && set("id no nr number code zip year")[parts[len(parts)-1]]
}

// quantity reports whether a column has numbers to compute with.
func (c column) quantity() bool { return c.number() && !c.identifier() }

// unlisted reports whether a column has names that the prompt does not list.
func (c column) unlisted() bool {
	return c.Type == csvdb.Text && len(c.Values) == 0 && !c.identifier()
}

// is reports whether a column is of an aspect.
func (c column) is(a aspect) bool {
	switch a {
	case dated:
		return c.dated()
	case money:
		return c.number() && (c.Currency != "" || slices.ContainsFunc(stems(c.Name), func(s string) bool { return set("price amount cost revenue turnover")[s] }))
	}
	return c.quantity()
}

// names returns the names by which a person may call a column: as it is, in words, without a unit in parentheses, or
// without the code of the currency. A column that is called as the rows has none.
func (c column) names() []string {
	if c.key {
		return nil
	}
	parts := stems(c.Name)
	out := []string{c.Name, strings.Join(parts, " ")}
	if bare, _, found := strings.Cut(c.Name, "("); found {
		out = append(out, bare)
	}
	if last := len(parts) - 1; last > 0 && strings.EqualFold(parts[last], c.Currency) {
		out = append(out, strings.Join(parts[:last], " "))
	}
	return out
}

// named returns the column of a name.
func (f *file) named(name string) *column {
	for i := range f.Columns {
		if f.Columns[i].Name == name {
			return &f.Columns[i]
		}
	}
	return &column{}
}

// nouns returns the stems of the words for the rows of the file: of its name, and of the names of its identifiers.
func (f *file) nouns() map[string]bool {
	names := stems(f.bareName())
	for _, c := range f.Columns {
		if parts := stems(c.Name); c.Unique && c.identifier() && len(parts) > 1 && !c.year() {
			names = append(names, parts[:len(parts)-1]...)
		}
	}
	out := map[string]bool{}
	for _, s := range names {
		out[s] = !strings.ContainsAny(s, "0123456789")
	}
	return out
}

// bareName returns the name of the file in lower case, without its ending.
func (f *file) bareName() string {
	return strings.ToLower(strings.TrimSuffix(f.Name, path.Ext(f.Name)))
}

// only returns the only column of an aspect, or nil. "Amount" comes before its namesake "Amount_2", and a column
// of years serves for dates if there are none.
func (f *file) only(a aspect) (only *column) {
	for i := range f.Columns {
		c := &f.Columns[i]
		if !c.is(a) || only != nil && strings.HasPrefix(c.Name, only.Name+"_") {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	if i := slices.IndexFunc(f.Columns, column.year); only == nil && a == dated && i >= 0 {
		return &f.Columns[i]
	}
	return only
}

// measure returns the column of numbers that is meant if none is named: the only one, or the only one of money.
func (f *file) measure() *column {
	if c := f.only(anything); c != nil {
		return c
	}
	return f.only(money)
}
