package offline

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A table has the part of a tool's result that an answer needs. A row has the columns of the file, or its groups
// and then the figure.
type table struct {
	Rows    [][]any `json:"rows"`
	Matched int64   `json:"matched"`
	Rounded bool    `json:"rounded"`
}

// answer writes an answer from the result of a tool.
func (q *question) answer(s step) string {
	var r table
	switch err := json.Unmarshal([]byte(s.answer), &r); {
	case s.failed:
		return "That did not work: " + plain(s.answer)
	case err != nil:
		return plain(s.answer)
	case len(r.Rows) == 0:
		return "There are no rows " + q.place() + "."
	case q.figure == nil:
		return q.sayRows(r)
	case len(q.groups) > 0:
		return q.sayGroups(r)
	}
	return q.sayFigure(r)
}

// place names the file and the conditions of an answer.
func (q *question) place() string { return "in " + plain(q.file.Name) + q.where() }

// inFull writes the figure in words.
func (q *question) inFull() string {
	title := q.figure.Title()
	return plain(strings.ToLower(title[:1]) + title[1:])
}

// sayFigure writes the figure of all rows that match.
func (q *question) sayFigure(r table) string {
	n, hasValue := r.Rows[0][0].(float64)
	switch {
	case q.figure.Function == "count":
		return map[bool]string{true: "There is ", false: "There are "}[n == 1] + rowsOf(int64(n)) + " " + q.place() + "."
	case !hasValue:
		return fmt.Sprintf("There is no %s, because no row has a value, %s.", q.inFull(), q.place())
	}
	return fmt.Sprintf("The %s is %s%s, %s.", q.inFull(), map[bool]string{true: "about "}[r.Rounded], q.valueOf(r.Rows[0]), q.place())
}

// sayGroups writes the figure of each group. If the question has a superlative, sayGroups first writes the sentence
// of sayBest.
func (q *question) sayGroups(r table) string {
	by, out := plain(strings.Join(q.groups, " and ")), ""
	if q.period != "" {
		by += " (" + q.period + ")"
	}
	if q.end != nil {
		out = q.sayBest(r) + "\n\n"
	}
	out += fmt.Sprintf("The %s by %s%s, %s:", q.inFull(), by, map[bool]string{true: ", rounded"}[r.Rounded], q.place())
	shown := r.Rows[:min(len(r.Rows), 30)]
	for _, row := range shown {
		out += "\n- " + q.groupName(row) + ": " + q.valueOf(row)
	}
	if left := r.Matched - int64(len(shown)); left > 0 {
		out += "\n- and " + separated(float64(left)) + " more"
	}
	if q.end != nil && q.end.order < 0 && q.figure.Function == "count" && len(q.conditions) > 0 {
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
	figure := mostOf[q.end.order] + " " + q.inFull()
	if len(names) > 1 {
		return fmt.Sprintf("%s have the %s: %s each.", strings.Join(names, ", "), figure, q.valueOf(first))
	}
	return fmt.Sprintf("%s has the %s: %s.", names[0], figure, q.valueOf(first))
}

var mostOf = map[int]string{1: "highest", -1: "lowest"}

// groupName writes the values of a row in the columns of the groups.
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

// valueOf writes the figure of a row.
func (q *question) valueOf(row []any) string {
	return q.file.named(q.figure.Column).write(row[len(q.groups)])
}

// sayRows lists rows. For a superlative that asks for one row, sayRows lists every row with the best value, at most
// ties of them.
func (q *question) sayRows(r table) string {
	lead := plain(q.file.Name) + " has " + rowsOf(r.Matched) + q.where()
	if int64(len(r.Rows)) < r.Matched {
		lead += fmt.Sprintf("; here are %d", len(r.Rows))
	}
	if q.end != nil {
		c, most := q.end.column, mostOf[q.end.order]
		at := slices.IndexFunc(q.file.Columns, func(other column) bool { return other.Name == c.Name })
		if r.Rows[0][at] == nil {
			return fmt.Sprintf("No row has a value of %s, %s.", plain(c.Name), q.place())
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
		lead += "\n- " + q.line(row)
	}
	return lead
}

// line writes the values of a row. If the row has more than five columns, line writes only the first two, and the columns
// of the superlative and of the conditions.
func (q *question) line(row []any) string {
	var parts []string
	for i, c := range q.file.Columns {
		about := q.end != nil && q.end.column.Name == c.Name ||
			slices.ContainsFunc(q.conditions, func(o csvdb.Condition) bool { return o.Column == c.Name })
		if row[i] != nil && (i < 2 || len(row) <= 5 || about) {
			parts = append(parts, shorten(c.write(row[i]), 60))
		}
	}
	if len(parts) == 0 {
		return "(empty)"
	}
	return strings.Join(parts, ", ")
}

var signs = map[string]string{
	"eq": "is", "ne": "is not", "lt": "is below", "le": "is at most", "gt": "is above", "ge": "is at least",
	"in_period": "is in", "empty": "is empty", "not_empty": "is not empty", "in": "is",
}

var dateSigns = map[string]string{"lt": "is before", "gt": "is after"}

// where writes conditions in words.
func (q *question) where() string {
	var parts []string
	for _, o := range q.conditions {
		c := q.file.named(o.Column)
		sign, value := signs[o.Op], c.writeText(o.Value)
		if s := dateSigns[o.Op]; s != "" && c.dated() {
			sign = s
		}
		switch {
		case o.Op == "in_period" && len(o.Value) == 10:
			sign = "is"
		case o.Op == "in_period":
			value = inWords(o.Value)
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
