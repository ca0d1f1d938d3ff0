package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// readCondition reads a condition: a column and the values that it is compared with. The column may be missing, and "not"
// may stand before it. A column without values is a condition in two cases: "without email" asks for rows in which it is
// empty, and a column of yes and no asks for yes.
func (q *question) readCondition(i int) int {
	begin, absent := i, q.at(i).kind == negation
	negated := absent
	if absent {
		i++
	}
	var c *column
	if q.at(i).kind == columnName {
		c = q.at(i).column
		i++
	}
	after := i
	if c != nil && !negated && q.at(i).kind == negation { // "region is not North"
		negated = true
		i++
	}
	for _, read := range operands {
		if n := read(q, i, c, negated); n > 0 {
			return i + n - begin
		}
	}
	switch {
	case c == nil:
		return 0
	case c.Type == "boolean":
		if set("on for")[q.at(begin).before] { // "spent on catering"
			q.doubt(fmt.Sprintf("I do not know whether rows where %s is yes are meant. Say: with %s.", plain(c.Name), plain(c.Name)))
		}
		q.add(csvdb.Condition{Column: c.Name, Op: "eq", Value: map[bool]string{true: "no", false: "yes"}[absent]})
	case absent && limits[q.at(after).kind]: // "no score over 20"
		return 0
	case absent:
		q.add(csvdb.Condition{Column: c.Name, Op: "empty"})
	case q.at(after).op == "empty": // "region is missing"
		q.add(csvdb.Condition{Column: c.Name, Op: "empty"})
		after++
	default:
		return 0
	}
	return after - begin
}

// limits are the kinds of tokens behind a column that compare it.
var limits = map[kind]bool{comparison: true, period: true, numeral: true}

// operands read the values that a column is compared with, and return the number of tokens. If c is nil, the values must
// show the column.
var operands = []func(q *question, i int, c *column, negated bool) int{
	(*question).readValues, (*question).readName, (*question).readNumber, (*question).readPeriod, (*question).readComparisons,
}

// equalWords stand before a value that the prompt does not list: "maker is Vitra".
var equalWords = set("is are was were = == equals equal named called")

// readName reads words that the prompt does not list as a value of a column. It reads words without quotation marks only
// if the prompt lists no values of the column. It does not read "sold" in "not sold".
func (q *question) readName(i int, c *column, negated bool) int {
	t := q.at(i)
	named := equalWords[t.before] || q.at(i-1).kind == negation && t.text != strings.ToLower(t.text)
	known := t.kind == quotation || t.kind == unknown && named && c != nil && len(c.Values) == 0
	if c == nil || c.Type != "text" || !known {
		return 0
	}
	text, n := t.text, 1
	for ; q.at(i).kind == unknown && q.at(i+n).kind == unknown && q.at(i+n).before == ""; n++ {
		text += " " + q.at(i+n).text
	}
	q.addValues(c, []string{text}, negated)
	return n
}

// readNumber reads the number of "rating 5" and "rating 5 or more".
func (q *question) readNumber(i int, c *column, negated bool) int {
	t, next, n := q.at(i), q.at(i+1), 1
	if t.kind != numeral || c == nil || !c.number() || !c.year() && q.isPeriod(i, nil) { // "amount in 2025"
		return 0
	}
	o := csvdb.Condition{Column: c.Name, Op: "eq", Value: t.value}
	if t.before == "from" || t.before == "to" {
		q.doubt(fmt.Sprintf("I do not know what \"%s %s\" means.", t.before, t.text))
	}
	switch {
	case next.kind == afterwards && !negated:
		o.Op, n = next.op, 2
	case negated:
		o.Op = "ne"
	}
	q.add(o)
	return n
}

// readComparisons reads comparisons of one column with numbers or periods: "over 2 and under 5".
func (q *question) readComparisons(i int, c *column, negated bool) int {
	begin := i
	for q.at(i).kind == comparison && !negated {
		of, n := q.readComparison(i, c)
		if n == 0 {
			break
		}
		c, i = of, i+n
		if q.at(i).op == "and" && q.at(i+1).kind == comparison {
			i++
		}
	}
	return i - begin
}

// readComparison reads one comparison, and returns its column and its number of tokens.
func (q *question) readComparison(i int, c *column) (*column, int) {
	op, value, last, n := q.at(i).op, q.at(i+1), q.at(i+1), 2
	if op == "between" {
		if last, n = q.at(i+3), 4; q.at(i+2).op != "and" {
			return c, 0
		}
	}
	ofTime := timeWord(q.at(i))
	if of := q.dateColumn(c); (ofTime || q.mayBeTime(i, c)) && of != nil && of.takes(value) && of.takes(last) {
		q.addTimes(of, op, value, last)
		return of, n
	}
	if ofTime || value.kind != numeral || last.kind != numeral || c != nil && !c.number() {
		return c, 0
	}
	c, more := q.numberColumn(i, n, c)
	switch {
	case c == nil:
		q.doubt(fmt.Sprintf("I do not know which column %q is about. Name it, such as: %s over %s.", value.text, plain(q.file.example()), value.value))
	case op == "between":
		q.add(csvdb.Condition{Column: c.Name, Op: op, Values: []string{value.value, last.value}})
	default:
		q.add(csvdb.Condition{Column: c.Name, Op: op, Value: value.value})
	}
	return c, n + more
}

// mayBeTime reports whether the comparison at i may be one of times.
func (q *question) mayBeTime(i int, c *column) bool {
	return q.at(i).op == "between" || q.isPeriod(i+1, c)
}

// timeWord reports whether a comparison is one of times only.
func timeWord(t token) bool { return set("after before since until")[strings.ToLower(t.text)] }

// numberColumn returns the column of a comparison at i that has n tokens: c, or the unit behind it as in "60 minutes",
// or the column before it, or the only one of money or of numbers. It also returns the number of tokens of the unit.
func (q *question) numberColumn(i, n int, c *column) (*column, int) {
	unit, next := q.unitAt(i+n, c), q.at(i+n)
	switch {
	case unit != nil:
		return unit, 1
	case c != nil:
		return c, 0
	case next.op == "and" && q.at(i+n+1).kind == comparison && q.numberAt(i+n+3) != nil: // "over 2 and under 5 minutes"
		return nil, 0
	case q.numberAt(i-1) != nil:
		return q.numberAt(i - 1), 0
	case next.kind == rowNoun && next.before == "":
		q.doubt(fmt.Sprintf("I cannot count the %s of each group and filter by it.", next.text))
	case len(q.groups) > 0: // "number of orders by city over 2"
		q.doubt(noFilter)
	case q.at(i + 1).money:
		return q.file.only(money), 0
	}
	return q.file.measure(), 0
}

// unitAt returns the column of a unit behind a comparison of c, or nil.
func (q *question) unitAt(i int, c *column) *column {
	unit := q.numberAt(i)
	if unit != nil && (q.at(i).before != "" || c != nil && c != unit || q.at(i+1).kind == comparison) {
		return nil
	}
	return unit
}

// year reports whether a token may be a year: "$1,500" may not.
func year(t token) bool { return t.kind == numeral && isYear.MatchString(t.text) }

// takes reports whether a token is a period for a column of dates or years.
func (c column) takes(t token) bool { return year(t) || t.kind == period && c.dated() }

// isPeriod reports whether a period stands at i. A number that may be a year is one after a column of dates or years,
// or after a word such as "in". After a column of other numbers, "of" and "from" are no such words.
func (q *question) isPeriod(i int, c *column) bool {
	t := q.at(i)
	if !year(t) {
		return t.kind == period
	}
	words := "in of during for from to"
	if before := q.numberAt(i - 1); before != nil && !before.year() {
		words = "in during for"
	}
	return c != nil && (c.dated() || c.year()) || c == nil && set(words)[t.before] || q.at(i-1).op == "year"
}

// dateColumn returns the column of a period: the one that was read, or the only one. It is nil if there is none.
func (q *question) dateColumn(c *column) *column {
	if c == nil {
		c = q.file.only(dated)
	}
	if c == nil || !c.dated() && !c.year() {
		return nil
	}
	return c
}

// readPeriod reads "in March 2025" and "from January to March 2025".
func (q *question) readPeriod(i int, c *column, negated bool) int {
	from, to := q.at(i), q.at(i+1)
	isPeriod := q.isPeriod(i, c)
	if c = q.dateColumn(c); negated || !isPeriod || c == nil || !c.takes(from) {
		return 0
	}
	if to.before == "to" && c.takes(to) {
		q.addTimes(c, "between", from, to)
		return 2
	}
	if from.before == "of" && strings.HasPrefix(from.value, "--") && slices.ContainsFunc(q.file.Columns, column.unlisted) {
		q.doubt(fmt.Sprintf("I do not know whether %q is a month or a name. Write the month with its year.", from.text))
	}
	op := map[bool]string{true: "eq", false: "in_period"}[c.year()]
	q.add(csvdb.Condition{Column: c.Name, Op: op, Value: c.withYear(from.value)})
	return 1
}

// addTimes adds a comparison with a period, or with two of them, which may share the year of the second.
func (q *question) addTimes(c *column, op string, from, to token) {
	first, last := from.value, to.value
	if c.dated() {
		first, last = c.withYear(first), c.withYear(last)
		if strings.HasPrefix(first, "--") && !strings.HasPrefix(last, "--") {
			first = last[:4] + first[1:]
		}
		begin, until, ok := bounds(first)
		_, last, _ = bounds(last)
		if !ok || last == "" {
			q.doubt(fmt.Sprintf("I do not know which year %q is in. Write it with the year.", from.text))
		}
		if first = begin; op == "gt" || op == "le" {
			first = until
		}
	}
	if op == "between" {
		q.add(csvdb.Condition{Column: c.Name, Op: op, Values: []string{first, last}})
		return
	}
	q.add(csvdb.Condition{Column: c.Name, Op: op, Value: first})
}

// readValues reads a value with its column before or behind it, and further values of that column: "North or East".
func (q *question) readValues(i int, c *column, negated bool) int {
	c, n := q.valueAt(i, c)
	if n == 0 {
		return 0
	}
	values := []string{q.at(i).value}
	for {
		next := i + n
		for q.at(next).kind == joint {
			next++
		}
		joined := next > i+n || q.verb == "compare"
		if q.at(next).kind == columnName && q.at(next).column == c { // "office Bern or office Athens"
			next++
		}
		_, k := q.valueAt(next, c)
		if k == 0 || !joined {
			break
		}
		values, n = append(values, q.at(next).value), next+k-i
	}
	q.addValues(c, values, negated)
	return n
}

// valueAt returns the column of the value at i, and the number of tokens, or 0 if it is no value of c.
func (q *question) valueAt(i int, c *column) (*column, int) {
	t, after := q.at(i), q.at(i+1)
	fits := func(c *column) bool { return c == t.column || slices.Contains(t.others, c) }
	if t.kind != valueName || c != nil && !fits(c) {
		return c, 0
	}
	n := 1
	if after.kind == columnName && fits(after.column) && (c == nil || c == after.column) && q.at(i+2).kind != valueName { // "Athens office"
		c, n = after.column, 2
	}
	if c == nil {
		if c = t.column; t.beside {
			return nil, 0
		}
		if len(t.others) > 0 {
			q.doubt(fmt.Sprintf("%q is a value of the columns %s and %s. Name the column, such as: %s is %s.", t.value, c.Name, t.others[0].Name, c.Name, t.value))
		}
	}
	return c, n
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

// add adds a condition. Two values or two periods of one column, without "or" between them, are refused.
func (q *question) add(o csvdb.Condition) {
	one := []string{"eq", "in", "in_period"}
	for _, p := range q.conditions {
		if p.Column == o.Column && slices.Contains(one, p.Op) && slices.Contains(one, o.Op) {
			q.doubt(fmt.Sprintf("I do not know whether two values of %s are both meant. Ask for one of them, or write \"or\" between them.", plain(o.Column)))
		}
	}
	q.conditions = append(q.conditions, o)
}
