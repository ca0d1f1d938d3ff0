package csvdb

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var operators = map[string]string{"eq": "=", "ne": "IS NOT", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

// condition writes a condition, with its values as parameters.
func (q *query) condition(c Condition) (string, error) {
	column, err := q.column(c.Column)
	if err != nil {
		return "", err
	}
	name := column.compared()
	switch c.Op {
	case "empty":
		return name + " IS NULL", nil
	case "not_empty":
		return name + " IS NOT NULL", nil
	case "contains", "starts_with":
		text := strings.ToLower(c.Value)
		if v, ok := yesOrNo(strings.TrimSpace(text)); ok && column.Type == Boolean {
			text, _ = v.(string)
		}
		q.args = append(q.args, text)
		return "instr(fold(" + name + "), ?) " + map[bool]string{true: "> 0", false: "= 1"}[c.Op == "contains"], nil
	case "in", "between":
		return q.list(column, c)
	case "in_period":
		return q.inPeriod(column, c.Value)
	}
	op, ok := operators[c.Op]
	if !ok {
		return "", fmt.Errorf("%w: there is no op %q", ErrQuestion, c.Op)
	}
	if column.Type.dated() {
		return q.date(column, c.Op, c.Value)
	}
	if err := q.value(column, c.Value); err != nil {
		return "", err
	}
	if c.Op == "eq" || c.Op == "ne" {
		return side(column, name) + " " + op + " " + side(column, "?"), nil
	}
	return name + " " + op + " ?", nil
}

// list writes a condition with several values.
func (q *query) list(column Column, c Condition) (string, error) {
	if len(c.Values) == 0 || c.Op == "between" && len(c.Values) != 2 {
		return "", fmt.Errorf("%w: %s needs values; between, two of them", ErrQuestion, c.Op)
	}
	if column.Type.dated() {
		return q.dates(column, c)
	}
	for _, v := range c.Values {
		if err := q.value(column, v); err != nil {
			return "", err
		}
	}
	if c.Op == "between" {
		return column.compared() + " BETWEEN ? AND ?", nil
	}
	marks := strings.Repeat(side(column, "?")+",", len(c.Values))
	return side(column, column.compared()) + " IN (" + strings.TrimSuffix(marks, ",") + ")", nil
}

// side returns the SQL for one side of a comparison for equality. Texts are compared without regard to case.
func side(c Column, what string) string {
	if c.Type == Text {
		return "fold(" + what + ")"
	}
	return what
}

// value adds a parameter of the type of the column.
func (q *query) value(c Column, text string) error {
	text = strings.TrimSpace(text)
	switch c.Type {
	case Integer, Real:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) {
			return fmt.Errorf("%w: %q is no number, and %q is a column of numbers", ErrQuestion, text, c.Name)
		}
		q.args = append(q.args, f)
		return nil
	case Boolean:
		if v, ok := yesOrNo(text); ok {
			text, _ = v.(string)
		}
	}
	q.args = append(q.args, text)
	return nil
}

// date writes the comparison with a date. A date without a time stands for the whole day, so gt means after its
// end.
func (q *query) date(c Column, op, text string) (string, error) {
	from, to, err := dayOf(c, text)
	if err != nil {
		return "", err
	}
	name := quote(c.Name)
	switch op {
	case "eq":
		q.args = append(q.args, from, to)
		return name + " >= ? AND " + name + " < ?", nil
	case "ne":
		q.args = append(q.args, from, to)
		return "NOT ifnull(" + name + " >= ? AND " + name + " < ?, 0)", nil
	case "gt":
		q.args = append(q.args, to)
		return name + " >= ?", nil
	case "le":
		q.args = append(q.args, to)
		return name + " < ?", nil
	}
	q.args = append(q.args, from)
	return name + " " + operators[op] + " ?", nil
}

func (q *query) dates(c Column, in Condition) (string, error) {
	if in.Op == "between" {
		first, err := q.date(c, "ge", in.Values[0])
		if err != nil {
			return "", err
		}
		last, err := q.date(c, "le", in.Values[1])
		return first + " AND " + last, err
	}
	var parts []string
	for _, v := range in.Values {
		part, err := q.date(c, "eq", v)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return "(" + strings.Join(parts, " OR ") + ")", nil
}

// dayOf reads a date or a time, and returns its beginning and the first moment after it.
func dayOf(c Column, text string) (from, to string, err error) {
	text = strings.TrimSpace(text)
	for _, f := range formats {
		if !f.kind.dated() || f.note != "" {
			continue
		}
		v, ok := f.read(text)
		if !ok {
			continue
		}
		from, _ = v.(string)
		if f.kind == Date {
			at, err := time.Parse(time.DateOnly, from)
			return from, at.AddDate(0, 0, 1).Format(time.DateOnly), err
		}
		return from, from + "~", nil // "~" sorts after every character of a time
	}
	return "", "", fmt.Errorf("%w: %q is no date, and %q is a column of dates; write dates as 2006-01-31", ErrQuestion, text, c.Name)
}

var (
	yearOrMonth = regexp.MustCompile(`^\d{4}(-(0[1-9]|1[0-2]))?$`)
	quarter     = regexp.MustCompile(`^(\d{4})-?Q([1-4])$`)
	anyYear     = regexp.MustCompile(`^--(0[1-9]|1[0-2])$`)
)

// errPeriod says how periods are written.
var errPeriod = errors.New("write a period as 2006, 2006-Q1, 2006-01 or 2006-01-31, or as --01 for January of every year")

// inPeriod writes a condition for a year, a quarter, a month or a day.
func (q *query) inPeriod(c Column, text string) (string, error) {
	if !c.Type.dated() {
		return "", fmt.Errorf("%w: %q is no column of dates", ErrQuestion, c.Name)
	}
	name, text := quote(c.Name), strings.ToUpper(strings.TrimSpace(text))
	if yearOrMonth.MatchString(text) {
		q.args = append(q.args, text+"-", text+".") // "." follows "-"
		return name + " >= ? AND " + name + " < ?", nil
	}
	if m := quarter.FindStringSubmatch(text); m != nil {
		first := 3*int(m[2][0]-'1') + 1
		q.args = append(q.args, fmt.Sprintf("%s-%02d-", m[1], first), fmt.Sprintf("%s-%02d.", m[1], first+2))
		return name + " >= ? AND " + name + " < ?", nil
	}
	if m := anyYear.FindStringSubmatch(text); m != nil {
		q.args = append(q.args, m[1])
		return "substr(" + name + ", 6, 2) = ?", nil
	}
	if _, _, err := dayOf(c, text); err != nil {
		return "", fmt.Errorf("%w: %q: %w", ErrQuestion, text, errPeriod)
	}
	return q.date(c, "eq", text)
}
