package offline

import (
	"fmt"
	"slices"
	"strings"
)

// about says once in an answer that rules give it.
const about = "I am a set of rules and not a language model; the README says how to choose one."

// help says what the rules understand, with questions about the file that they answer.
func (f *file) help(first string) string {
	if first != "" {
		first += " "
	}
	number, group := f.example(), f.group()
	examples := []string{"how many rows are there?", "describe the columns"}
	if f.named(number).quantity() {
		examples = append(examples, "the highest "+plain(number), "the average "+plain(number))
	}
	if group != "" && f.named(number).quantity() {
		examples = append(examples, "the total "+plain(number)+" by "+plain(group))
	}
	if group != "" {
		examples = append(examples, "how many rows by "+plain(group)+"?", "how many rows where "+plain(group+" is "+f.named(group).Values[0])+"?")
	}
	return first + about + " " + f.columnList() + "\nAsk me, for example:\n- " + strings.Join(examples, "\n- ")
}

// example returns the name of a column of numbers, or else of any column.
func (f *file) example() string {
	if c := f.measure(); c != nil {
		return c.Name
	}
	at := max(0, slices.IndexFunc(f.Columns, column.quantity))
	if at < len(f.Columns) {
		return f.Columns[at].Name
	}
	return "amount"
}

// group returns the name of a column of a few texts, or none.
func (f *file) group() string {
	for _, c := range f.Columns {
		if c.Type == "text" && len(c.Values) > 1 {
			return c.Name
		}
	}
	return ""
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
			out += ", " + separated(float64(c.Empty), -1) + " empty"
		}
		if len(c.Values) > 0 {
			out += ": " + shorten(plain(strings.Join(c.Values, ", ")), 60)
		}
	}
	return out
}
