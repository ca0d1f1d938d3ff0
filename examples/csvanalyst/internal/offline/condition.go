package offline

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// readCondition reads a condition: a column and the values to compare it with. The column may be missing, and "and"
// or "not" may precede it. "No region" matches rows in which region is empty. The name of a column of yes and no
// matches yes.
func (q *question) readCondition() bool {
	begin, read := q.pos, false
	members := q.at(0).kind == grouping && q.at(1).boolean() && q.at(1).plural // "by members"
	if q.at(0).op == "and" || members {
		q.pos++
	}
	if q.accept(absence) {
		read = q.readAbsence()
	} else {
		read = q.readCompared(q.accept(negation))
	}
	if !read {
		q.pos = begin
	}
	return read
}

// readAbsence reads the column after "no" or "without".
func (q *question) readAbsence() bool {
	t, next := q.at(0), q.at(1)
	if t.kind != columnName || !q.endsAt(1) && next.kind != joint && next.before == "" { // "no score over 20"
		return false
	}
	o := csvdb.Condition{Column: t.column.Name, Op: "empty"}
	if t.boolean() {
		o.Op, o.Value = "eq", "no"
	}
	q.add(o)
	q.pos++
	return true
}

// readCompared reads a column and its values, or values that identify their column.
func (q *question) readCompared(negated bool) bool {
	t := q.at(0)
	if t.kind != columnName {
		return q.readOperand(nil, negated)
	}
	q.pos++
	if !t.boolean() {
		if q.at(-2).kind == valueName && t.before == "" { // "paid amount over 5"
			return false
		}
		return q.readOperand(t.column, q.accept(negation) != negated)
	}
	q.add(csvdb.Condition{Column: t.column.Name, Op: "eq", Value: map[bool]string{true: "no", false: "yes"}[negated]})
	return t.before == "" || set("is are was were with where that have")[t.before] // but not "spent on catering"
}

// readOperand reads the value that a column is compared with. If c is nil, the value must identify the column.
func (q *question) readOperand(c *column, negated bool) bool {
	switch t := q.at(0); t.kind {
	case valueName:
		return q.readValues(c, negated)
	case quotation: // a value that the prompt does not list
		if c == nil || c.Type != csvdb.Text {
			return false
		}
		q.addValues(c, []string{t.text}, negated)
		q.pos++
		return true
	case numeral, period:
		return q.readPeriod(c, negated) || q.readNumber(c, negated)
	case comparison:
		return !negated && q.readComparison(c)
	case timing:
		return !negated && q.readTiming(c)
	}
	return false
}

// readNumber reads the number of "rating is 5" and "a rating of 5".
func (q *question) readNumber(c *column, negated bool) bool {
	t := q.at(0)
	if t.kind != numeral || c == nil || !c.number() || t.before != "" && !set("of is are was were")[t.before] {
		return false
	}
	q.checkCurrency(c, t)
	q.add(csvdb.Condition{Column: c.Name, Op: map[bool]string{true: "ne", false: "eq"}[negated], Value: t.value})
	q.pos++
	return true
}

// readComparison reads a comparison with a number. The column is c, or the unit after the number as in "60
// minutes", or for an amount such as $5 the only column of money.
func (q *question) readComparison(c *column) bool {
	op, value, unit := q.at(0).op, q.at(1), q.at(2)
	if value.kind != numeral || value.before != "" || c != nil && !c.number() {
		return false
	}
	q.pos += 2
	switch {
	case c != nil:
	case unit.kind == columnName && unit.column.number() && unit.before == "":
		c = unit.column
		q.pos++
	case value.sign != "" && (q.figure == nil || q.figure.Function == "count"):
		c = q.file.only(column.money)
	}
	if c == nil {
		q.doubt(fmt.Sprintf("I do not know which column %q is about. Name it. ", value.text) + q.file.columnList())
		return true
	}
	q.checkCurrency(c, value)
	q.add(csvdb.Condition{Column: c.Name, Op: op, Value: value.value})
	return true
}

// checkCurrency refuses an amount whose currency differs from the currency of its column.
func (q *question) checkCurrency(c *column, t token) {
	if t.sign != "" && c.Currency != "" && currencySigns[c.Currency] != t.sign {
		q.doubt(fmt.Sprintf("%s is an amount in another currency than %s has.", t.text, plain(c.Name)))
	}
}

// dateColumn returns c, or the only column of dates if c is nil.
func (q *question) dateColumn(c *column) *column {
	if c == nil {
		return q.file.only(column.dated)
	}
	return c
}

// readPeriod reads "in March 2025".
func (q *question) readPeriod(c *column, negated bool) bool {
	t := q.at(0)
	c = q.dateColumn(c)
	if negated || !c.takes(t) || !set("in on is")[t.before] {
		return false
	}
	q.add(csvdb.Condition{Column: c.Name, Op: "in_period", Value: c.withYear(t.value)})
	q.pos++
	return true
}

// readTiming reads "before 1 March 2025".
func (q *question) readTiming(c *column) bool {
	op, t := q.at(0).op, q.at(1)
	c = q.dateColumn(c)
	if !c.takes(t) || t.before != "" {
		return false
	}
	if len(t.value) != len(time.DateOnly) {
		q.doubt(fmt.Sprintf("I read %q only with a day, such as 1 March 2025.", q.at(0).text))
	}
	q.add(csvdb.Condition{Column: c.Name, Op: op, Value: t.value})
	q.pos += 2
	return true
}

// readValues reads a value, and further values of its column: "North or East". If c is not nil, they must be values of c.
func (q *question) readValues(c *column, negated bool) bool {
	t := q.at(0)
	if c == nil {
		c = t.column
	}
	if t.column != c {
		return false
	}
	values := []string{t.value}
	for q.pos++; q.at(0).kind == joint && q.at(1).kind == valueName && q.at(1).column == c; q.pos += 2 {
		values = append(values, q.at(1).value)
	}
	q.addValues(c, values, negated)
	return true
}

// addValues adds the condition that a column has one of several values, or none of them.
func (q *question) addValues(c *column, values []string, negated bool) {
	switch {
	case negated:
		for _, v := range values {
			q.add(csvdb.Condition{Column: c.Name, Op: "ne", Value: v})
		}
	case len(values) == 1:
		q.add(csvdb.Condition{Column: c.Name, Op: "eq", Value: values[0]})
	default:
		q.add(csvdb.Condition{Column: c.Name, Op: "in", Values: values})
	}
}

// add adds a condition. It refuses a second condition on a column, unless each of the two is a comparison or a
// negation.
func (q *question) add(o csvdb.Condition) {
	several := func(op string) bool { return op == "ne" || op == "lt" || op == "le" || op == "gt" || op == "ge" }
	for _, p := range q.conditions {
		if p.Column == o.Column && (!several(p.Op) || !several(o.Op)) {
			q.doubt(fmt.Sprintf("I do not know whether two conditions on %s are both meant. Ask for one of them, or write \"or\" between two values.", plain(o.Column)))
		}
	}
	q.conditions = append(q.conditions, o)
}
