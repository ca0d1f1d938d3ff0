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
	}
	described struct {
		RowCount int64 `json:"rowCount"`
		Columns  []struct {
			Column string  `json:"column"`
			Type   string  `json:"type"`
			Empty  int64   `json:"empty"`
			Least  any     `json:"min"`
			Most   any     `json:"max"`
			Mean   any     `json:"mean"`
			Median any     `json:"median"`
			Kinds  any     `json:"distinct"`
			Top    [][]any `json:"top"`
		} `json:"columns"`
		Notes []string `json:"notes"`
	}
	comparison struct {
		Currency string `json:"currency"`
		Groups   []struct {
			Group      any `json:"group"`
			Left       any `json:"left"`
			Right      any `json:"right"`
			Difference any `json:"difference"`
			Percent    any `json:"percent"`
		} `json:"rows"`
		Truncated bool `json:"truncated"`
	}
)

// answer puts an answer together from the result of a tool.
func (q *question) answer(t talk, s step) string {
	if s.failed {
		return "That did not work: " + plain(s.answer)
	}
	switch s.call.Name {
	case "getCsvStatistics":
		return say(s, q.description)
	case "searchCsvText":
		return say(s, q.places)
	case "compareCsvData":
		return say(s, func(c comparison) string { return q.difference(t, c) })
	case "loadCsvData", "filterCsvRows":
		return say(s, q.list)
	}
	return say(s, q.result)
}

func say[T any](s step, fn func(T) string) string {
	var v T
	if err := json.Unmarshal([]byte(s.answer), &v); err != nil {
		return plain(s.answer)
	}
	return fn(v)
}

// place says which rows an answer is about.
func (q *question) place() string { return "in " + plain(q.file.Name) + q.where() }

// result says figures.
func (q *question) result(r table) string {
	if len(q.groupBy) > 0 {
		return q.groups(r)
	}
	if len(r.Rows) != 1 || len(r.Rows[0]) != len(q.functions) || len(r.Columns) != len(q.functions) {
		return "I cannot read the result."
	}
	var parts []string
	for i, f := range q.functions {
		v := r.Rows[0][i]
		n, _ := v.(float64)
		switch {
		case f.Function == "count" && len(q.functions) == 1 && n == 1:
			return "There is 1 row " + q.place() + "."
		case f.Function == "count" && len(q.functions) == 1:
			return "There are " + rowsOf(int64(n)) + " " + q.place() + "."
		case f.Function == "count_distinct" && len(q.functions) == 1:
			return fmt.Sprintf("%s has %s different %s %s.", plain(f.Column), amount(v, ""), plural("value", n), q.place())
		case v == nil:
			parts = append(parts, fmt.Sprintf("there is no %s, because no row has a value", inFull(f)))
		default:
			parts = append(parts, fmt.Sprintf("the %s is %s", inFull(f), amount(v, r.Columns[i].Currency)))
		}
	}
	text := strings.Join(parts, ", and ")
	return strings.ToUpper(text[:1]) + text[1:] + ", " + q.place() + "."
}

func plural(noun string, n float64) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// groups says a figure of each group, or which group has the highest.
func (q *question) groups(r table) string {
	if len(r.Rows) == 0 {
		return "There are no rows " + q.place() + "."
	}
	by := make([]string, len(q.groupBy))
	for i, name := range q.groupBy {
		by[i] = plain(name)
		if q.period != "" && q.file.named(name).dated() {
			by[i] += " (" + q.period + ")"
		}
	}
	var figures []string
	for _, f := range q.functions {
		figures = append(figures, inFull(f))
	}
	var b strings.Builder
	if q.order != 0 && q.n <= 1 {
		b.WriteString(q.best(r) + "\n\n")
	}
	fmt.Fprintf(&b, "The %s by %s, %s:", strings.Join(figures, " and the "), strings.Join(by, " and "), q.place())
	shown := r.Rows[:min(len(r.Rows), 30)]
	for _, row := range shown {
		fmt.Fprintf(&b, "\n- %s: %s", q.groupName(row), q.values(r, row))
	}
	if left := r.Matched - int64(len(shown)); left > 0 {
		fmt.Fprintf(&b, "\n- and %s more", separated(float64(left), -1))
	}
	return b.String()
}

// best says which group has the highest figure, or the lowest.
func (q *question) best(r table) string {
	first := r.Rows[0]
	at := len(q.groupBy)
	var names []string
	for _, row := range r.Rows {
		if row[at] != first[at] {
			break
		}
		names = append(names, q.groupName(row))
	}
	most := map[int]string{1: "highest", -1: "lowest"}[q.order]
	figure := inFull(q.functions[0])
	if f := q.functions[0]; f.Function == "max" || f.Function == "min" {
		figure = plain(f.Column)
	}
	value := q.values(r, first)
	if len(names) == 1 {
		return fmt.Sprintf("%s has the %s %s: %s.", names[0], most, figure, value)
	}
	return fmt.Sprintf("%s have the %s %s: %s each.", strings.Join(names, ", "), most, figure, value)
}

func (q *question) groupName(row []any) string {
	var out []string
	for i, name := range q.groupBy {
		switch v := row[i].(type) {
		case nil:
			out = append(out, "(no "+plain(name)+")")
		case string:
			if q.period != "" && q.file.named(name).dated() {
				v = inWords(v)
			}
			out = append(out, shorten(plain(pick(v, "empty"))))
		default:
			out = append(out, q.file.named(name).write(v))
		}
	}
	return strings.Join(out, ", ")
}

func (q *question) values(r table, row []any) string {
	var out []string
	for i := len(q.groupBy); i < len(row) && i < len(r.Columns); i++ {
		out = append(out, amount(row[i], r.Columns[i].Currency))
	}
	return strings.Join(out, ", ")
}

// inFull writes a figure in words.
func inFull(f figure) string {
	words := map[string]string{
		"count_distinct": "number of different values of", "sum": "total", "avg": "average", "max": "highest", "min": "lowest",
		"stddev": "standard deviation of", "median": "median",
	}[f.Function]
	if f.Function == "count" {
		return "number of rows"
	}
	return words + " " + plain(f.Column)
}

// list says rows. Of a superlative without a number it says the first row.
func (q *question) list(r table) string {
	if len(r.Rows) == 0 {
		return "There are no rows " + q.place() + "."
	}
	if q.order != 0 && q.n <= 1 {
		return q.extreme(r)
	}
	lead := fmt.Sprintf("%s has %s%s", plain(q.file.Name), rowsOf(r.Matched), q.where())
	if int64(len(r.Rows)) < r.Matched {
		lead += fmt.Sprintf("; here are %d", len(r.Rows))
	}
	if q.order != 0 {
		lead += fmt.Sprintf(" with the %s %s", map[int]string{1: "highest", -1: "lowest"}[q.order], plain(q.orderBy))
	}
	shown := q.shownColumns(r)
	lines := []string{lead + ":"}
	for _, row := range r.Rows {
		var parts []string
		for _, i := range shown {
			if row[i] != nil {
				parts = append(parts, shorten(q.cell(r, row, i)))
			}
		}
		if len(parts) == 0 {
			parts = []string{"(empty)"}
		}
		lines = append(lines, "- "+strings.Join(parts, ", "))
	}
	return strings.Join(lines, "\n")
}

func (q *question) cell(r table, row []any, i int) string {
	return q.file.named(r.Columns[i].Name).write(row[i])
}

// write writes a value of the column for people.
func (c column) write(v any) string {
	if c.identifier() {
		return identifier(v)
	}
	return amount(v, c.Currency)
}

// identifier writes a number that is a name, such as a year, without separators.
func identifier(v any) string {
	if f, ok := v.(float64); ok {
		return strings.ReplaceAll(separated(f, -1), ",", "")
	}
	return plain(fmt.Sprint(v))
}

// shownColumns picks the columns of a long row: the first two, and those that the question is about.
func (q *question) shownColumns(r table) []int {
	var out []int
	for i, c := range r.Columns {
		about := c.Name == q.orderBy || slices.Contains(q.columns, c.Name) || slices.ContainsFunc(q.conditions, func(o condition) bool { return o.Column == c.Name })
		if i < 2 || len(r.Columns) <= 5 || about {
			out = append(out, i)
		}
	}
	return out
}

// extreme says the first row, and whether others are equal.
func (q *question) extreme(r table) string {
	at := slices.IndexFunc(r.Columns, func(c cells) bool { return c.Name == q.orderBy })
	if at < 0 || r.Rows[0][at] == nil {
		return fmt.Sprintf("No row has a value of %s, %s.", plain(q.orderBy), q.place())
	}
	equal := 0
	for equal < len(r.Rows) && r.Rows[equal][at] == r.Rows[0][at] {
		equal++
	}
	most := map[int]string{1: "highest", -1: "lowest"}[q.order]
	if q.file.named(q.orderBy).dated() {
		most = map[int]string{1: "latest", -1: "earliest"}[q.order]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The %s %s is %s, %s.", most, plain(q.orderBy), q.cell(r, r.Rows[0], at), q.place())
	switch {
	case equal == 1:
		b.WriteString(" Its row:")
	case equal < len(r.Rows):
		fmt.Fprintf(&b, " %d rows have it; this is the first:", equal)
	default:
		fmt.Fprintf(&b, " At least %d rows have it; this is the first:", equal)
	}
	for i, c := range r.Columns {
		if v := r.Rows[0][i]; v != nil {
			fmt.Fprintf(&b, "\n- %s: %s", plain(c.Name), shorten(q.cell(r, r.Rows[0], i)))
		}
	}
	return b.String()
}

func (q *question) description(d described) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %s", plain(q.file.Name), rowsOf(d.RowCount))
	if len(q.columns) == 0 {
		fmt.Fprintf(&b, " and %d columns", len(q.file.Columns))
	}
	b.WriteString(":")
	for _, c := range d.Columns {
		currency := q.file.named(c.Column).Currency
		fmt.Fprintf(&b, "\n- %s: %s", plain(c.Column), c.Type)
		if c.Least != nil {
			fmt.Fprintf(&b, ", from %s to %s", shorten(amount(c.Least, currency)), shorten(amount(c.Most, currency)))
		}
		if c.Kinds != nil {
			fmt.Fprintf(&b, ", %s different", amount(c.Kinds, ""))
		}
		if c.Mean != nil {
			fmt.Fprintf(&b, ", mean %s", amount(c.Mean, currency))
		}
		if c.Median != nil {
			fmt.Fprintf(&b, ", median %s", amount(c.Median, currency))
		}
		if len(c.Top) > 0 && len(c.Top[0]) == 2 {
			fmt.Fprintf(&b, ", most often %s (%s)", shorten(amount(c.Top[0][0], "")), amount(c.Top[0][1], ""))
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

func (q *question) places(f searched) string {
	text := q.lookups[0].text
	for _, l := range q.lookups[1:] {
		text += " " + l.text
	}
	if f.Matched == 0 {
		return fmt.Sprintf("I found %q nowhere in %s.", plain(text), plain(q.file.Name))
	}
	var at []string
	for _, c := range f.In {
		at = append(at, fmt.Sprintf("%s (%s)", plain(c.Column), rowsOf(c.Rows)))
	}
	out := fmt.Sprintf("%q is in %s of %s, in the columns %s:", plain(text), rowsOf(f.Matched), plain(q.file.Name), strings.Join(at, ", "))
	for _, row := range f.Rows[:min(len(f.Rows), 10)] {
		var cells []string
		for _, v := range row {
			if v != nil {
				cells = append(cells, shorten(amount(v, "")))
			}
		}
		out += "\n- " + strings.Join(cells, ", ")
	}
	if left := f.Matched - int64(min(len(f.Rows), 10)); left > 0 {
		out += fmt.Sprintf("\n- and %s more", separated(float64(left), -1))
	}
	return out
}

func (q *question) difference(t talk, c comparison) string {
	left, right := plain(q.file.Name), ""
	if other := t.other(q.file); other != nil {
		right = plain(other.Name)
	}
	var rest []condition
	for _, o := range q.conditions {
		if right == "" && o.Op == "in" && len(o.Values) == 2 {
			left, right = plain(o.Values[0]), plain(o.Values[1])
			continue
		}
		rest = append(rest, o)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The %s of %s and of %s%s:", inFull(q.functions[0]), left, right, where(rest, q.file))
	for _, g := range c.Groups {
		b.WriteString("\n- ")
		if g.Group != nil {
			b.WriteString(amount(g.Group, "") + ": ")
		}
		fmt.Fprintf(&b, "%s and %s", amount(g.Left, c.Currency), amount(g.Right, c.Currency))
		if g.Difference != nil {
			fmt.Fprintf(&b, ", a difference of %s", amount(g.Difference, c.Currency))
		}
		if g.Percent != nil {
			fmt.Fprintf(&b, " (%s %%)", amount(g.Percent, ""))
		}
	}
	if c.Truncated {
		b.WriteString("\n- and more groups")
	}
	return b.String()
}

func (q *question) where() string { return where(q.conditions, q.file) }

var signs = map[string]string{
	"eq": "is", "ne": "is not", "lt": "is below", "le": "is at most", "gt": "is above", "ge": "is at least", "contains": "contains", "starts_with": "starts with",
	"between": "is between", "in_period": "is in", "empty": "is empty", "not_empty": "is not empty", "in": "is",
}

var dateSigns = map[string]string{"lt": "is before", "gt": "is after", "ge": "is not before", "le": "is not after"}

// where writes conditions in words.
func where(conditions []condition, files ...file) string {
	var parts []string
	for _, c := range conditions {
		sign, value := signs[c.Op], plain(c.Value)
		col := column{}
		for _, f := range files {
			col = f.named(c.Column)
		}
		if s := dateSigns[c.Op]; s != "" && (col.dated() || col.year()) {
			sign = s
		}
		switch {
		case c.Op == "in_period" && len(c.Value) == 10:
			sign = "is"
		case c.Op == "in_period":
			value = inWords(c.Value)
		case c.Op == "between":
			value = col.writeText(c.Values[0]) + " and " + col.writeText(c.Values[1])
		case c.Op == "in":
			value = plain(strings.Join(c.Values, " or "))
		default:
			value = col.writeText(c.Value)
		}
		parts = append(parts, strings.TrimSpace(plain(c.Column)+" "+sign+" "+value))
	}
	if len(parts) == 0 {
		return ""
	}
	return " where " + strings.Join(parts, " and ")
}

// writeText writes the value of a condition like a value of the column.
func (c column) writeText(text string) string {
	var f float64
	if !c.number() || json.Unmarshal([]byte(text), &f) != nil {
		return plain(text)
	}
	return c.write(f)
}
