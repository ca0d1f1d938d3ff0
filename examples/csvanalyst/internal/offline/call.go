package offline

import (
	"fmt"
	"slices"
	"strings"
)

const (
	manyGroups = 100 // the most groups and rows that a tool returns
	fewRows    = 20
	ties       = 6 // rows that are asked for to see whether the first is the only one
)

// call returns the call that answers the question, or why there is none.
func (t talk) call(q *question) (wanted, string) {
	switch {
	case q.nothing():
		return wanted{}, q.help("")
	case len(q.unknown) > 0:
		return wanted{}, q.help("I did not understand " + quoted(q.unknown) + ".")
	case q.problem != "":
		return wanted{}, q.problem
	}
	switch {
	case q.verb == "describe":
		return q.describe(), ""
	case q.verb == "search" && len(q.lookups) > 0:
		return wanted{"searchCsvText", arguments{"resourceId": q.file.ID, "text": q.searchText()}}, ""
	case q.verb == "compare":
		if other := t.other(q.file); other != nil {
			return q.compareFiles(*other)
		}
		return q.compareGroups()
	}
	return q.compute()
}

// compute asks for figures or rows.
func (q *question) compute() (wanted, string) {
	in := arguments{"resourceId": q.file.ID}
	if len(q.functions) > 0 || len(q.groupBy) > 0 {
		return q.figures(in)
	}
	if len(q.columns) != 1 || q.order != 0 || q.n != 0 || q.noun {
		return q.rows(in)
	}
	switch only := q.columns[0]; {
	case q.plural(only) && q.file.named(only).Type == "text": // "which departments are there"
		q.groupBy, q.columns = q.columns, nil
		return q.figures(in)
	case !q.plural(only) && q.verb == "" && len(q.conditions) == 0: // "salary"
		return q.describe(), ""
	}
	return q.rows(in)
}

func (q *question) describe() wanted {
	in := arguments{"resourceId": q.file.ID}
	if len(q.columns) > 0 {
		in["columns"] = q.columns
	}
	return wanted{"getCsvStatistics", in}
}

func (q *question) searchText() string {
	words := make([]string, len(q.lookups))
	for i, l := range q.lookups {
		words[i] = l.text
	}
	return strings.Join(words, " ")
}

// plural reports whether the question names a column in the plural.
func (q *question) plural(name string) bool {
	return slices.ContainsFunc(q.words, func(w word) bool {
		return w.column > 0 && q.file.Columns[w.column-1].Name == name && w.lower != w.stem
	})
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "\"" + shorten(plain(s)) + "\""
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

// rows asks for rows, in the order of a column if there is a superlative.
func (q *question) rows(in arguments) (wanted, string) {
	limit := fewRows
	if q.order != 0 {
		limit = ties
		if q.many {
			return wanted{}, q.help("I do not know what \"most\" is about.")
		}
		if q.orderBy == "" {
			q.orderBy = q.measure()
		}
		if q.orderBy == "" {
			return wanted{}, fmt.Sprintf("By which column? Name it, such as: the highest %s. %s", q.example(), q.columnList())
		}
		in["orderBy"], in["descending"] = q.orderBy, q.order > 0
		q.columns = slices.DeleteFunc(q.columns, func(name string) bool { return name == q.orderBy })
	}
	if q.n > 0 {
		limit = q.n
	}
	if limit != fewRows { // which is the default
		in["limit"] = min(limit, manyGroups)
	}
	if len(q.columns) > 0 && q.order == 0 {
		in["columns"] = q.columns
	}
	if len(q.conditions) == 0 {
		return wanted{"loadCsvData", in}, ""
	}
	in["conditions"] = q.conditions
	return wanted{"filterCsvRows", in}, ""
}

// figures asks for aggregates.
func (q *question) figures(in arguments) (wanted, string) {
	if problem := q.completeFigures(); problem != "" {
		return wanted{}, problem
	}
	in["aggregates"] = q.functions
	if len(q.groupBy) > 0 {
		in["groupBy"], in["limit"] = q.groupBy, manyGroups
		first := q.file.named(q.groupBy[0])
		switch {
		case q.order != 0 || q.n > 0:
			in["orderBy"], in["descending"] = q.functions[0].name(), q.order >= 0
			in["limit"] = 10
			if q.n > 0 {
				in["limit"] = min(q.n, manyGroups)
			}
			if first.Empty > 0 {
				q.add(condition{Column: first.Name, Op: "not_empty"})
			}
		case q.period != "": // the tool orders by time
		case first.number() || first.dated():
			in["orderBy"] = q.groupBy[0]
		default:
			in["orderBy"], in["descending"] = q.functions[0].name(), true
		}
		if q.period != "" {
			in["period"] = q.period
		}
	}
	if len(q.conditions) == 0 {
		return wanted{"aggregateCsvData", in}, ""
	}
	in["conditions"] = q.conditions
	return wanted{"filterAndAggregateCsvData", in}, ""
}

// completeFigures gives each figure its column, and refuses what a figure cannot say.
func (q *question) completeFigures() string {
	if len(q.functions) == 0 {
		if problem := q.chooseFigure(); problem != "" {
			return problem
		}
	} else if q.order != 0 && len(q.groupBy) == 0 {
		return "I do not know which group the superlative is about. Ask, for example: which " + q.exampleGroup() + " has the highest total " + q.example() + "?"
	}
	for i := range q.functions {
		if i > 0 && q.both {
			q.functions[i].Column = q.functions[0].Column
		}
		if problem := q.completeFigure(&q.functions[i]); problem != "" {
			return problem
		}
	}
	left := slices.DeleteFunc(slices.Clone(q.columns), func(name string) bool {
		return slices.Contains(q.groupBy, name) || slices.ContainsFunc(q.functions, func(f figure) bool { return f.Column == name }) ||
			slices.ContainsFunc(q.conditions, func(c condition) bool { return c.Column == name })
	})
	if len(left) > 0 {
		return q.help("I did not understand what " + quoted(left) + " is for.")
	}
	return ""
}

// chooseFigure finds the figure of groups for which the question names no function: "top 3 customers by amount".
func (q *question) chooseFigure() string {
	column := q.orderBy
	if column == "" {
		column = q.takeColumn(false)
	}
	if column != "" && !q.file.named(column).number() {
		column, q.many = "", false
	}
	ordered := q.order != 0 || q.n > 0
	f := figure{Function: "count"}
	switch {
	case column == "" && ordered && !q.many:
		return "By which figure? Ask, for example, for the highest total " + q.example() + " by " + q.groupBy[0] + "."
	case column == "":
	case !ordered:
		return "Which figure of " + column + "? Ask for the total, the average, the highest or the lowest."
	case q.many || q.n > 0:
		f = figure{"sum", column}
	default:
		f = figure{map[int]string{1: "max", -1: "min"}[q.order], column}
	}
	q.functions = []figure{f}
	return ""
}

// completeFigure gives a figure without a column the one that the question names, or else means.
func (q *question) completeFigure(f *figure) string {
	if f.Function == "count" || f.Column != "" {
		return ""
	}
	if f.Column = q.takeColumn(f.Function == "count_distinct"); f.Column == "" && f.Function != "count_distinct" {
		f.Column = q.measure()
	}
	if f.Column == "" {
		return "Of which column? " + q.columnList()
	}
	return ""
}

// takeColumn takes the first of the columns that have no purpose yet: one of numbers, unless any will do.
func (q *question) takeColumn(whatever bool) string {
	for i, name := range q.columns {
		if c := q.file.named(name); whatever || c.number() && !c.identifier() {
			q.columns = slices.Delete(slices.Clone(q.columns), i, i+1)
			return name
		}
	}
	return ""
}

func (q *question) compareGroups() (wanted, string) {
	const how = "What shall I compare? Name two values of a column, such as: compare the total amount of X and Y."
	at := slices.IndexFunc(q.conditions, func(c condition) bool { return c.Op == "in" && len(c.Values) == 2 })
	if at < 0 || len(q.groupBy) > 1 || q.order != 0 {
		return wanted{}, how
	}
	if len(q.functions) == 0 {
		q.functions = []figure{{Function: "count"}}
	}
	groups := q.groupBy
	q.groupBy = nil
	problem := q.completeFigures()
	q.groupBy = groups
	if problem != "" || len(q.functions) != 1 {
		return wanted{}, pick(problem, how)
	}
	both := q.conditions[at]
	rest := slices.Delete(slices.Clone(q.conditions), at, at+1)
	side := func(value string) arguments {
		all := append([]condition{{Column: both.Column, Op: "eq", Value: value}}, rest...)
		return arguments{"resourceId": q.file.ID, "conditions": all}
	}
	in := arguments{"left": side(both.Values[0]), "right": side(both.Values[1]), "aggregate": q.functions[0]}
	if len(groups) > 0 {
		in["groupBy"] = groups[0]
	}
	return wanted{"compareCsvData", in}, ""
}

func pick(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

func (q *question) compareFiles(other file) (wanted, string) {
	if len(q.functions) == 0 {
		q.functions = []figure{{Function: "count"}}
	}
	if len(q.conditions) > 0 || q.order != 0 || len(q.functions) > 1 || q.period != "" || len(q.groupBy) > 1 {
		return wanted{}, "Of two files I compare one figure of all rows, such as: compare the total amount of the two files."
	}
	if problem := q.completeFigures(); problem != "" {
		return wanted{}, problem
	}
	in := arguments{
		"left": arguments{"resourceId": q.file.ID}, "right": arguments{"resourceId": other.ID}, "aggregate": q.functions[0],
	}
	if len(q.groupBy) > 0 {
		in["groupBy"] = q.groupBy[0]
	}
	return wanted{"compareCsvData", in}, ""
}

// about says once in an answer that rules give it.
const about = "I am a set of rules and not a language model; the README says how to choose one."

// help says what the rules understand, with the columns of the file.
func (q *question) help(first string) string {
	var b strings.Builder
	if first != "" {
		b.WriteString(first + " ")
	}
	b.WriteString(about + " " + q.columnList() + "\nAsk me, for example:")
	number, group := q.example(), q.exampleGroup()
	examples := []string{"how many rows are there?"}
	if q.file.named(number).number() {
		examples = append(examples, "the average "+number, "top 3 rows by "+number)
		if q.file.named(group).Type == "text" {
			examples = append(examples, "total "+number+" by "+group, "which "+group+" has the highest total "+number+"?")
		}
		if q.only(dated) != "" && q.yearColumn() == "" {
			examples = append(examples, "total "+number+" by month")
		}
	}
	if values := q.file.named(group).Values; len(values) > 0 {
		examples = append(examples, "how many rows where "+group+" is "+values[0]+"?")
	}
	for _, e := range append(examples, "describe the columns") {
		b.WriteString("\n- " + plain(e))
	}
	return b.String()
}

func (q *question) columnList() string {
	names := make([]string, 0, fewRows)
	for _, c := range q.file.Columns[:min(len(q.file.Columns), fewRows)] {
		names = append(names, plain(c.Name))
	}
	if more := len(q.file.Columns) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("The columns of %s are %s.", plain(q.file.Name), strings.Join(names, ", "))
}
