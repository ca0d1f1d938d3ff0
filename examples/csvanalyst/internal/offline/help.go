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
	number := f.example()
	examples := []string{"how many rows are there?", "describe the columns"}
	if f.named(number).quantity() {
		examples = append(examples, "the highest "+number, "the average "+number)
	}
	if g := f.group(); g != "" {
		examples = append(examples, "how many rows by "+g+"?", "how many rows where "+g+" is "+f.named(g).Values[0]+"?", "which "+g+" has the highest total "+number+"?")
	}
	for i := range examples {
		examples[i] = "\n- " + plain(examples[i])
	}
	return first + about + " " + f.columnList() + "\nAsk me, for example:" + strings.Join(examples, "")
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
	const most = 20
	var names []string
	for _, c := range f.Columns[:min(len(f.Columns), most)] {
		names = append(names, plain(c.Name))
	}
	if more := len(f.Columns) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("The columns of %s are %s.", plain(f.Name), strings.Join(names, ", "))
}
