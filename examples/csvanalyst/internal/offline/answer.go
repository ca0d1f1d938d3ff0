package offline

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// What the tools return, as far as it is said.
type (
	foundIn struct {
		Column string `json:"column"`
		Rows   int64  `json:"rows"`
		Equal  int64  `json:"equal"`
	}
	table struct {
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
		Matched int64    `json:"matched"`
	}
	found struct {
		In      []foundIn `json:"in"`
		Rows    [][]any   `json:"rows"`
		Matched int64     `json:"matched"`
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
		Figure string `json:"figure"`
		Groups []struct {
			Group      any `json:"group"`
			Left       any `json:"left"`
			Right      any `json:"right"`
			Difference any `json:"difference"`
			Percent    any `json:"percent"`
		} `json:"rows"`
	}
	arguments struct {
		Resource   string      `json:"resourceId"`
		Text       string      `json:"text"`
		Conditions []condition `json:"conditions"`
		GroupBy    []string    `json:"groupBy"`
		Left       selection   `json:"left"`
		Right      selection   `json:"right"`
	}
	selection struct {
		Resource   string      `json:"resourceId"`
		Conditions []condition `json:"conditions"`
	}
)

// answer puts an answer together from what a tool returned.
func (t talk) answer(s step) string {
	if s.failed {
		return "That did not work: " + s.answer
	}
	var in arguments
	if err := json.Unmarshal(s.call.Arguments, &in); err != nil {
		return s.answer
	}
	switch s.call.Name {
	case "getCsvStatistics":
		return say(s, func(d described) string { return t.description(in, d) })
	case "searchCsvText":
		return say(s, func(f found) string { return t.places(in, f) })
	case "compareCsvData":
		return say(s, func(c comparison) string { return t.difference(in, c) })
	case "loadCsvData", "filterCsvRows":
		return say(s, func(r table) string {
			lead := fmt.Sprintf("%s%s has %s", t.name(in.Resource), where(in.Conditions), count(r.Matched, "row"))
			if int64(len(r.Rows)) < r.Matched {
				lead += fmt.Sprintf("; here are %d", len(r.Rows))
			}
			return lead + ":\n" + lines(r)
		})
	}
	return say(s, func(r table) string { return t.figures(in, r) })
}

func say[T any](s step, fn func(T) string) string {
	var v T
	if err := json.Unmarshal([]byte(s.answer), &v); err != nil {
		return s.answer
	}
	return fn(v)
}

func (t talk) name(id string) string {
	for _, f := range t.files {
		if f.ID == id {
			return f.Name
		}
	}
	return id
}

func (t talk) figures(in arguments, r table) string {
	place := fmt.Sprintf("in %s%s", t.name(in.Resource), where(in.Conditions))
	if len(in.GroupBy) == 0 && len(r.Rows) == 1 {
		if r.Columns[0] == "count" {
			n, _ := r.Rows[0][0].(float64)
			return fmt.Sprintf("There are %s %s.", count(int64(n), "row"), place)
		}
		return fmt.Sprintf("The %s is %s, %s.", inWords(r.Columns[0]), shown(r.Rows[0][0]), place)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The %s by %s, %s:", inWords(r.Columns[len(r.Columns)-1]), strings.Join(in.GroupBy, ", "), place)
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "\n- %s: %s", shown(row[0]), shown(row[len(row)-1]))
	}
	if left := r.Matched - int64(len(r.Rows)); left > 0 {
		fmt.Fprintf(&b, "\n- and %d more", left)
	}
	return b.String()
}

// inWords is the name of a figure, for people.
func inWords(name string) string {
	for _, w := range []struct{ function, words string }{
		{"count distinct ", "number of different values of "},
		{"count", "number of rows"},
		{"sum ", "total "},
		{"avg ", "average "},
		{"max ", "highest "},
		{"min ", "lowest "},
		{"stddev ", "standard deviation of "},
	} {
		if rest, ok := strings.CutPrefix(name, w.function); ok {
			return w.words + rest
		}
	}
	return name
}

func (t talk) description(in arguments, d described) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s has %s.", t.name(in.Resource), count(d.RowCount, "row"))
	for _, c := range d.Columns {
		fmt.Fprintf(&b, "\n- %s: %s, from %s to %s", c.Column, c.Type, shown(c.Least), shown(c.Most))
		if c.Kinds != nil {
			fmt.Fprintf(&b, ", %s different", shown(c.Kinds))
		}
		if c.Mean != nil {
			fmt.Fprintf(&b, ", mean %s", shown(c.Mean))
		}
		if c.Median != nil {
			fmt.Fprintf(&b, ", median %s", shown(c.Median))
		}
		if len(c.Top) > 0 {
			fmt.Fprintf(&b, ", most often %s (%s)", shown(c.Top[0][0]), shown(c.Top[0][1]))
		}
		if c.Empty > 0 {
			fmt.Fprintf(&b, ", %d empty", c.Empty)
		}
	}
	for _, n := range d.Notes {
		b.WriteString("\nNote: " + n + ".")
	}
	return b.String()
}

func (t talk) places(in arguments, f found) string {
	if f.Matched == 0 {
		return fmt.Sprintf("%q is nowhere in %s.", in.Text, t.name(in.Resource))
	}
	var at []string
	for _, c := range f.In {
		at = append(at, fmt.Sprintf("%s (%s)", c.Column, count(c.Rows, "row")))
	}
	out := fmt.Sprintf("%q is in %s of %s, in the columns %s:", in.Text, count(f.Matched, "row"), t.name(in.Resource), strings.Join(at, ", "))
	for _, row := range f.Rows[:min(len(f.Rows), 10)] {
		out += "\n- " + joined(row)
	}
	return out
}

func (t talk) difference(in arguments, c comparison) string {
	left, right := t.side(in.Left), t.side(in.Right)
	if in.Left.Resource == in.Right.Resource && len(in.Left.Conditions) == 1 && len(in.Right.Conditions) == 1 {
		left, right = in.Left.Conditions[0].Value, in.Right.Conditions[0].Value
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The %s of %s and of %s:", inWords(c.Figure), left, right)
	for _, g := range c.Groups {
		b.WriteString("\n- ")
		if g.Group != nil {
			b.WriteString(shown(g.Group) + ": ")
		}
		fmt.Fprintf(&b, "%s and %s", shown(g.Left), shown(g.Right))
		if g.Difference != nil {
			fmt.Fprintf(&b, ", a difference of %s", shown(g.Difference))
		}
		if g.Percent != nil {
			fmt.Fprintf(&b, " (%s %%)", shown(g.Percent))
		}
	}
	return b.String()
}

func (t talk) side(s selection) string { return t.name(s.Resource) + where(s.Conditions) }

var signs = map[string]string{
	"eq": "is", "ne": "is not", "lt": "<", "le": "≤", "gt": ">", "ge": "≥", "contains": "contains", "starts_with": "starts with",
	"between": "is between", "empty": "is empty", "not_empty": "is not empty",
}

func where(conditions []condition) string {
	var parts []string
	for _, c := range conditions {
		value := c.Value
		if len(c.Values) == 2 {
			value = c.Values[0] + " and " + c.Values[1]
		}
		parts = append(parts, strings.TrimSpace(c.Column+" "+signs[c.Op]+" "+value))
	}
	if len(parts) == 0 {
		return ""
	}
	return " where " + strings.Join(parts, " and ")
}

func lines(r table) string {
	out := "- " + strings.Join(r.Columns, " | ")
	for _, row := range r.Rows {
		out += "\n- " + joined(row)
	}
	return out
}

func joined(row []any) string {
	cells := make([]string, len(row))
	for i, v := range row {
		cells[i] = shown(v)
	}
	return strings.Join(cells, " | ")
}

// shown writes a value for people: numbers with ten digits that count.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case float64:
		if v == float64(int64(v)) {
			return strconv.FormatInt(int64(v), 10)
		}
		return strconv.FormatFloat(v, 'g', 10, 64)
	}
	return fmt.Sprint(v)
}

func count(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
