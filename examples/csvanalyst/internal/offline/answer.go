package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// What the tools return, as far as an answer needs it.
type (
	table struct {
		Columns []cells `json:"columns"`
		Rows    [][]any `json:"rows"`
		Matched int64   `json:"matched"`
		Rounded bool    `json:"rounded"`
	}
	description struct {
		RowCount int64 `json:"rowCount"`
		Columns  []struct {
			Column   string `json:"column"`
			Type     string `json:"type"`
			Empty    int64  `json:"empty"`
			Distinct any    `json:"distinct"`
			Min      any    `json:"min"`
			Max      any    `json:"max"`
		} `json:"columns"`
		Notes []string `json:"notes"`
	}
)

// answer puts an answer together from the result of a tool.
func (q *question) answer(s step) string {
	switch {
	case s.failed:
		return "That did not work: " + plain(s.answer)
	case s.call.Name == "getCsvStatistics":
		return say(s, q.sayDescription)
	case s.call.Name == "loadCsvData", s.call.Name == "filterCsvRows":
		return say(s, q.sayRows)
	case len(q.groups) > 0:
		return say(s, q.sayGroups)
	}
	return say(s, q.sayFigures)
}

func say[T any](s step, fn func(T) string) string {
	var v T
	if err := json.Unmarshal([]byte(s.answer), &v); err != nil {
		return plain(s.answer)
	}
	return fn(v)
}

// place says which rows an answer is about.
func (q *question) place() string { return "in " + plain(q.file.Name) + q.where(q.conditions) }

// inFull writes a figure in words.
func (f figure) inFull() string {
	if f.Function == "count" {
		return "number of rows"
	}
	words := map[string]string{
		"count_distinct": "number of different values of", "sum": "total", "avg": "average", "max": "highest", "min": "lowest",
		"stddev": "standard deviation of", "median": "median",
	}[f.Function]
	return words + " " + plain(f.Column)
}

// sayFigures says figures of all rows that are asked for.
func (q *question) sayFigures(r table) string {
	if len(r.Rows) != 1 || len(r.Rows[0]) != len(q.figures) || len(r.Columns) != len(q.figures) {
		return "I cannot read the result."
	}
	var parts []string
	for i, f := range q.figures {
		v := r.Rows[0][i]
		n, _ := v.(float64)
		roughly := map[bool]string{true: "about "}[r.Rounded && rounds[f.Function]]
		switch {
		case f.Function == "count" && len(q.figures) == 1:
			return map[bool]string{true: "There is ", false: "There are "}[n == 1] + rowsOf(int64(n)) + " " + q.place() + "."
		case v == nil:
			parts = append(parts, fmt.Sprintf("there is no %s, because no row has a value", f.inFull()))
		default:
			parts = append(parts, fmt.Sprintf("the %s is %s%s", f.inFull(), roughly, amount(v, r.Columns[i].Currency)))
		}
	}
	text := strings.Join(parts, ", and ")
	return strings.ToUpper(text[:1]) + text[1:] + ", " + q.place() + "."
}

// rounds are the functions whose results are rounded.
var rounds = map[string]bool{"avg": true, "median": true, "stddev": true}

// sayGroups says figures of each group, and which group has the highest.
func (q *question) sayGroups(r table) string {
	if len(r.Rows) == 0 {
		return "There are no rows " + q.place() + "."
	}
	var by, figures []string
	for _, name := range q.groups {
		text := plain(name)
		if q.period != "" && q.file.named(name).dated() {
			text += " (" + q.period + ")"
		}
		by = append(by, text)
	}
	for _, f := range q.figures {
		figures = append(figures, f.inFull())
	}
	var b strings.Builder
	if len(q.ends) > 0 && q.n <= 1 {
		b.WriteString(q.sayBest(r) + "\n\n")
	}
	fmt.Fprintf(&b, "The %s by %s%s, %s:", strings.Join(figures, " and the "), strings.Join(by, " and "), map[bool]string{true: ", rounded"}[r.Rounded], q.place())
	shown := r.Rows[:min(len(r.Rows), 30)]
	for _, row := range shown {
		fmt.Fprintf(&b, "\n- %s: %s", q.groupName(row), q.valuesOf(r, row))
	}
	return b.String() + more(r.Matched, shown)
}

// more says how many rows are not shown.
func more(matched int64, shown [][]any) string {
	if left := matched - int64(len(shown)); left > 0 {
		return fmt.Sprintf("\n- and %s more", separated(float64(left), -1))
	}
	return ""
}

// sayBest says which groups have the highest figure, or the lowest.
func (q *question) sayBest(r table) string {
	first, at := r.Rows[0], len(q.groups)
	var names []string
	for _, row := range r.Rows {
		if row[at] == first[at] {
			names = append(names, q.groupName(row))
		}
	}
	figure := q.figures[0].inFull()
	if f := q.figures[0]; f.Function == "max" || f.Function == "min" {
		figure = plain(f.Column)
	}
	verb, each := "has", ""
	if len(names) > 1 {
		verb, each = "have", " each"
	}
	return fmt.Sprintf("%s %s the %s %s: %s%s.", strings.Join(names, ", "), verb, mostOf[q.order()], figure, q.valuesOf(r, first), each)
}

var mostOf = map[int]string{1: "highest", -1: "lowest"}

func (q *question) groupName(row []any) string {
	var out []string
	for i, name := range q.groups {
		c, v := q.file.named(name), row[i]
		text, isText := v.(string)
		switch {
		case v == nil:
			out = append(out, "(no "+plain(name)+")")
		case isText && q.period != "" && c.dated():
			out = append(out, inWords(text))
		default:
			out = append(out, shorten(c.write(v)))
		}
	}
	return strings.Join(out, ", ")
}

func (q *question) valuesOf(r table, row []any) string {
	var out []string
	for i := len(q.groups); i < len(row) && i < len(r.Columns); i++ {
		out = append(out, amount(row[i], r.Columns[i].Currency))
	}
	return strings.Join(out, ", ")
}

// sayRows says rows. Of a superlative without a number, it says the first row, and whether others are equal.
func (q *question) sayRows(r table) string {
	if len(r.Rows) == 0 {
		return "There are no rows " + q.place() + "."
	}
	lead := plain(q.file.Name) + " has " + rowsOf(r.Matched) + q.where(q.conditions)
	if int64(len(r.Rows)) < r.Matched {
		lead += fmt.Sprintf("; here are %d", len(r.Rows))
	}
	if len(q.ends) > 0 {
		c := q.ends[0].column
		at := slices.IndexFunc(r.Columns, func(cell cells) bool { return cell.Name == c.Name })
		if at < 0 || r.Rows[0][at] == nil {
			return fmt.Sprintf("No row has a value of %s, %s.", plain(c.Name), q.place())
		}
		most := mostOf[q.order()]
		if c.dated() {
			most = map[int]string{1: "latest", -1: "earliest"}[q.order()]
		}
		lead += " with the " + most + " " + plain(c.Name)
		if q.n <= 1 {
			lead = fmt.Sprintf("The %s %s is %s, %s", most, plain(c.Name), c.write(r.Rows[0][at]), q.place())
			r.Rows = slices.DeleteFunc(r.Rows, func(row []any) bool { return row[at] != r.Rows[0][at] })
		}
		if q.n <= 1 && len(r.Rows) == ties {
			lead += ". Several rows have it, such as"
		}
	}
	lead += ":"
	for _, row := range r.Rows {
		lead += "\n- " + q.line(r, row)
	}
	return lead
}

// line writes the columns of a row: of many, the first two and those that the question is about.
func (q *question) line(r table, row []any) string {
	var parts []string
	for i, c := range r.Columns {
		about := len(q.ends) > 0 && q.ends[0].column.Name == c.Name || slices.Contains(namesOf(q.columns), c.Name) ||
			slices.ContainsFunc(q.conditions, func(o condition) bool { return o.Column == c.Name })
		if row[i] != nil && (i < 2 || len(r.Columns) <= 5 || about) {
			parts = append(parts, shorten(q.file.named(c.Name).write(row[i])))
		}
	}
	if len(parts) == 0 {
		return "(empty)"
	}
	return strings.Join(parts, ", ")
}

func (q *question) sayDescription(d description) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %s and %d columns:", plain(q.file.Name), rowsOf(d.RowCount), len(q.file.Columns))
	for _, c := range d.Columns {
		currency := q.file.named(c.Column).Currency
		fmt.Fprintf(&b, "\n- %s: %s", plain(c.Column), c.Type)
		if c.Min != nil {
			fmt.Fprintf(&b, ", from %s to %s", shorten(amount(c.Min, currency)), shorten(amount(c.Max, currency)))
		}
		if c.Distinct != nil {
			fmt.Fprintf(&b, ", %s different", amount(c.Distinct, ""))
		}
		if c.Empty > 0 {
			fmt.Fprintf(&b, ", %s empty", separated(float64(c.Empty), -1))
		}
	}
	for _, n := range d.Notes {
		b.WriteString("\n\nNote: " + plain(n) + ".")
	}
	return b.String()
}

var signs = map[string]string{
	"eq": "is", "ne": "is not", "lt": "is below", "le": "is at most", "gt": "is above", "ge": "is at least", "contains": "contains", "starts_with": "starts with",
	"between": "is between", "in_period": "is in", "empty": "is empty", "not_empty": "is not empty", "in": "is",
}

var dateSigns = map[string]string{"lt": "is before", "gt": "is after", "ge": "is not before", "le": "is not after"}

// where writes conditions in words.
func (q *question) where(conditions []condition) string {
	var parts []string
	for _, o := range conditions {
		c := q.file.named(o.Column)
		sign, value := signs[o.Op], c.writeText(o.Value)
		if s := dateSigns[o.Op]; s != "" && (c.dated() || c.year()) {
			sign = s
		}
		switch {
		case o.Op == "in_period" && len(o.Value) == 10:
			sign = "is"
		case o.Op == "in_period":
			value = inWords(o.Value)
		case o.Op == "between":
			value = c.writeText(o.Values[0]) + " and " + c.writeText(o.Values[1])
		case o.Op == "in":
			value = plain(strings.Join(o.Values, " or "))
		}
		parts = append(parts, strings.TrimSpace(plain(o.Column)+" "+sign+" "+value))
	}
	if len(parts) == 0 {
		return ""
	}
	return " where " + strings.Join(parts, " and ")
}
