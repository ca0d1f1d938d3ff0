package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A table is what the tools return, as far as an answer needs it.
type table struct {
	Columns []cells `json:"columns"`
	Rows    [][]any `json:"rows"`
	Matched int64   `json:"matched"`
	Rounded bool    `json:"rounded"`
}

// answer puts an answer together from the result of a tool.
func (q *question) answer(s step) string {
	var r table
	switch err := json.Unmarshal([]byte(s.answer), &r); {
	case s.failed:
		return "That did not work: " + plain(s.answer)
	case err != nil:
		return plain(s.answer)
	case len(q.figures) == 0:
		return q.sayRows(r)
	case len(q.groups) > 0:
		return q.sayGroups(r)
	}
	return q.sayFigures(r)
}

// place says which rows an answer is about.
func (q *question) place() string { return "in " + plain(q.file.Name) + q.where() }

// inFull writes a figure in words.
func (f figure) inFull() string {
	title := f.Title()
	return plain(strings.ToLower(title[:1]) + title[1:])
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
			parts = append(parts, fmt.Sprintf("the %s is %s%s", f.inFull(), roughly, amount(v, r.Columns[i].Currency, q.file.named(f.Column).Decimals)))
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
	by, figures := plain(strings.Join(q.groups, " and ")), make([]string, len(q.figures))
	if q.period != "" {
		by += " (" + q.period + ")"
	}
	for i, f := range q.figures {
		figures[i] = f.inFull()
	}
	out := ""
	if len(q.ends) > 0 && q.n <= 1 {
		out = q.sayBest(r) + "\n\n"
	}
	out += fmt.Sprintf("The %s by %s%s, %s:", strings.Join(figures, " and the "), by, map[bool]string{true: ", rounded"}[r.Rounded], q.place())
	shown := r.Rows[:min(len(r.Rows), 30)]
	for _, row := range shown {
		out += "\n- " + q.groupName(row) + ": " + q.valuesOf(r, row)
	}
	if left := r.Matched - int64(len(shown)); left > 0 {
		out += "\n- and " + separated(float64(left), -1) + " more"
	}
	if q.end().order < 0 && q.figures[0].Function == "count" && len(q.conditions) > 0 {
		out += "\n\nGroups without such a row are left out."
	}
	return out
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
	f := q.figures[0]
	figure := mostOf[q.end().order] + " " + f.inFull()
	if f.Function == "max" || f.Function == "min" {
		figure = f.inFull()
	}
	if len(names) > 1 {
		return fmt.Sprintf("%s have the %s: %s each.", strings.Join(names, ", "), figure, q.valuesOf(r, first))
	}
	return fmt.Sprintf("%s has the %s: %s.", names[0], figure, q.valuesOf(r, first))
}

var mostOf = map[int]string{1: "highest", -1: "lowest"}

// groupName writes the values of the groups of a row.
func (q *question) groupName(row []any) string {
	out := make([]string, len(q.groups))
	for i, name := range q.groups {
		out[i] = q.file.named(name).write(row[i])
		if text, ok := row[i].(string); ok && q.period != "" && q.file.named(name).dated() {
			out[i] = inWords(text)
		}
		if row[i] == nil {
			out[i] = "(no " + plain(name) + ")"
		}
	}
	return shorten(strings.Join(out, ", "), 120)
}

// valuesOf writes the figures of a row.
func (q *question) valuesOf(r table, row []any) string {
	var out []string
	for i := len(q.groups); i < len(row) && i < len(r.Columns); i++ {
		decimals := 0
		if at := i - len(q.groups); at < len(q.figures) {
			decimals = q.file.named(q.figures[at].Column).Decimals
		}
		out = append(out, amount(row[i], r.Columns[i].Currency, decimals))
	}
	return strings.Join(out, ", ")
}

// sayRows says rows. For a superlative without a number it says the first row, and whether other rows are equal.
func (q *question) sayRows(r table) string {
	if len(r.Rows) == 0 {
		return "There are no rows " + q.place() + "."
	}
	lead := plain(q.file.Name) + " has " + rowsOf(r.Matched) + q.where()
	if int64(len(r.Rows)) < r.Matched {
		lead += fmt.Sprintf("; here are %d", len(r.Rows))
	}
	if len(q.ends) > 0 {
		c := q.ends[0].column
		at := slices.IndexFunc(r.Columns, func(cell cells) bool { return cell.Name == c.Name })
		if at < 0 || r.Rows[0][at] == nil {
			return fmt.Sprintf("No row has a value of %s, %s.", plain(c.Name), q.place())
		}
		most := mostOf[q.end().order]
		if c.dated() {
			most = map[int]string{1: "latest", -1: "earliest"}[q.end().order]
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
			slices.ContainsFunc(q.conditions, func(o csvdb.Condition) bool { return o.Column == c.Name })
		if row[i] != nil && (i < 2 || len(r.Columns) <= 5 || about) {
			parts = append(parts, shorten(q.file.named(c.Name).write(row[i]), 60))
		}
	}
	if len(parts) == 0 {
		return "(empty)"
	}
	return strings.Join(parts, ", ")
}

var signs = map[string]string{
	"eq": "is", "ne": "is not", "lt": "is below", "le": "is at most", "gt": "is above", "ge": "is at least",
	"between": "is between", "in_period": "is in", "empty": "is empty", "not_empty": "is not empty", "in": "is",
}

var dateSigns = map[string]string{"lt": "is before", "gt": "is after", "ge": "is not before", "le": "is not after"}

// where writes conditions in words.
func (q *question) where() string {
	var parts []string
	for _, o := range q.conditions {
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
