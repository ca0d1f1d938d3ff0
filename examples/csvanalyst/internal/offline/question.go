package offline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A figure is an aggregate, and the word for rows behind its function: "total orders".
type figure struct {
	csvdb.Aggregate
	noun string
}

func newFigure(function, column string) figure {
	return figure{Aggregate: csvdb.Aggregate{Function: function, Column: column}}
}

// An end is a superlative, and the column that it is about.
type end struct {
	meaning
	column *column
}

// A question is one question of the user as the rules have understood it.
type question struct {
	file   *file
	tokens []token

	verb       string
	figures    []figure
	ends       []end
	groups     []string
	period     string // of the groups
	which      bool   // the groups are asked for with "which"
	conditions []csvdb.Condition
	n          int       // the number of rows or groups that is asked for
	columns    []*column // named for no other purpose
	noun       bool      // the question names the rows

	back  string    // the word that stands for the rows of the question before
	prior *question // the question before, if it refers to it

	rejected []string // words that no rule understands
	strange  string   // one of them that may be a value
	problem  string   // another reason not to answer
}

// readers read what begins at a token, and return the number of tokens. The first that fits counts. A token that
// none reads is rejected, so that no word is left out of an answer.
var readers = []func(q *question, i int) int{
	(*question).readVerb, (*question).readGroup, (*question).readEnd, (*question).readCondition, (*question).readFigure, (*question).readColumn, (*question).readBack,
	(*question).readRest,
}

// understand reads the tokens of one question.
func understand(f *file, tokens []token) *question {
	q := &question{file: f, tokens: tokens}
	if slices.ContainsFunc(tokens, func(t token) bool { return t.op == "versus" }) {
		q.verb = "compare"
	}
	for i := 0; i < len(tokens); {
		n := 0
		for _, rule := range readers {
			if n = rule(q, i); n > 0 {
				break
			}
		}
		if n == 0 {
			n = 1
			q.reject(i)
		}
		for _, t := range tokens[i : i+n] {
			q.doubt(t.doubt)
		}
		i += n
	}
	return q
}

// reject notes a token that no rule understands. Of "not Vitra" it is the name.
func (q *question) reject(i int) {
	t := q.at(i)
	if t.kind == negation && q.at(i+1).kind == unknown {
		return
	}
	if t.kind == unknown || t.kind == quotation {
		q.strange = t.text
	}
	q.rejected = append(q.rejected, t.text)
}

// at returns the token at i, or one of no kind.
func (q *question) at(i int) token {
	if i < 0 || i >= len(q.tokens) {
		return token{meaning: meaning{kind: filler}}
	}
	return q.tokens[i]
}

// numberAt returns the column of numbers that the token at i names, or nil.
func (q *question) numberAt(i int) *column {
	if t := q.at(i); t.kind == columnName && t.column.number() {
		return t.column
	}
	return nil
}

// doubt keeps the first reason not to answer.
func (q *question) doubt(problem string) {
	if q.problem == "" {
		q.problem = problem
	}
}

// readVerb reads the word for the kind of answer, such as "list", and the number of rows after it.
func (q *question) readVerb(i int) int {
	t, n := q.at(i), 1
	switch {
	case t.kind == function && t.op == "count" && q.at(i+1).op == "describe": // how many columns
		n, t = 2, q.at(i+1)
	case t.kind != verb:
		return 0
	}
	if q.verb == "" || q.verb == "list" {
		q.verb = t.op
	}
	if t.op == "list" {
		n += q.readLimit(i + 1)
	}
	return n
}

// readLimit reads a number of rows or groups.
func (q *question) readLimit(i int) int {
	t := q.at(i)
	n, err := strconv.Atoi(t.value)
	if t.kind != numeral || t.money || err != nil || n <= 0 || q.n > 0 {
		return 0
	}
	q.n = n
	return 1
}

// readGroup reads "by city", "per month", "which city", and "and product" after it. A column of numbers after "by"
// may be an order: "top 3 by amount".
func (q *question) readGroup(i int) int {
	t, list := q.at(i), q.at(i-2)
	switch {
	case t.kind == unit && (groupWords[t.before] || strings.HasSuffix(t.text, "ly") || t.text == "annual"):
		return q.groupByPeriod(t.op)
	case t.kind == rowNoun && t.before == "per": // "average quantity per order"
		if len(q.figures) != 1 || q.figures[0].Function != "avg" {
			q.rejected = append(q.rejected, "per "+t.text)
		}
		return 1
	case t.kind != columnName, t.column.Type == "boolean" && t.plural: // "by members"
		return 0
	case q.orders(t):
		q.ends[0].column = t.column
		return 1
	case groupWords[t.before], t.before == "and" && q.grouped(list):
		q.groups, q.which = append(q.groups, t.column.Name), t.before == "which" || t.before == "what"
		return 1
	}
	return 0
}

// grouped reports whether a token is a column of the groups.
func (q *question) grouped(t token) bool {
	return t.kind == columnName && slices.Contains(q.groups, t.column.Name)
}

// orders reports whether a column after "by" says what a superlative is about.
func (q *question) orders(t token) bool {
	return t.before == "by" && t.column.quantity() && len(q.figures) == 0 && len(q.ends) == 1 && q.ends[0].column == nil
}

// groupByPeriod groups by a period of the only column of dates.
func (q *question) groupByPeriod(period string) int {
	c := q.file.only(dated)
	switch {
	case q.period != "":
		return 0
	case c == nil || c.year():
		q.doubt("I group by a period only if one column alone has dates.")
		return 1
	}
	q.groups, q.period = append(q.groups, c.Name), period
	return 1
}

// readEnd reads a superlative with its number and its column: "top 3", "the 3 cheapest", "the highest rating".
func (q *question) readEnd(i int) int {
	begin := i
	switch {
	case q.at(i).kind == first:
		if n := q.readLimit(i + 1); n > 0 {
			return 1 + n
		}
		return 0
	case q.at(i).kind == numeral && q.at(i+1).kind == superlative:
		i += q.readLimit(i)
	}
	if q.at(i).kind != superlative {
		return 0
	}
	e := end{meaning: q.at(i).meaning}
	i++
	i += q.readLimit(i)
	if next := q.at(i); next.kind == superlative && next.order == e.order { // "top 3 biggest"
		e.about = max(e.about, next.about)
		i++
	}
	if c := q.at(i).column; q.at(i).kind == columnName && (c.number() || c.dated()) {
		e.column = c
		i++
	} else if e.about > rows {
		if e.column = q.file.only(e.about); e.column == nil {
			q.doubt("I do not know which column \"" + q.at(begin).text + "\" is about. Name it, such as: the highest " + plain(q.file.example()) + ".")
		}
	}
	q.ends = append(q.ends, e)
	return i - begin
}

// readFigure reads a function with its column, if that follows directly. A column after "how many" may also belong to
// a condition, and is read later.
func (q *question) readFigure(i int) int {
	t := q.at(i)
	if t.kind != function {
		return 0
	}
	f, n, next := newFigure(t.op, ""), 1, q.at(i+1)
	switch before := q.at(i - 1); {
	case before.kind == joint && (before.text != "," || len(q.figures) > 0) && len(q.groups)+len(q.conditions) > 0:
		q.doubt("I read one question in a sentence. Ask for " + t.text + " in another.")
	case next.kind == function && next.op == "count" && t.op != "count":
		q.doubt("I cannot compute with numbers of rows. Ask for the number of rows of each group.")
	case next.kind == rowNoun:
		f.noun = stem(next.text)
	case next.kind == columnName && (next.column.number() && t.op != "count" || t.op == "count_distinct"):
		f.Column, n = next.column.Name, 2
	}
	q.figures = append(q.figures, f)
	q.doubtFilter(i + n)
	return n
}

const noFilter = "I cannot filter by a figure of groups. Ask for the figure of each group."

// doubtFilter refuses a comparison directly behind the last figure, as in "an average score over 20": it may compare the
// figure or the rows. A comparison with a time always compares rows, and so does the one in "how many over 20".
func (q *question) doubtFilter(i int) {
	if q.at(i).kind == rowNoun {
		i++
	}
	t := q.at(i)
	isTime := timeWord(t) || q.at(i+1).kind == period
	ofRows := q.figures[len(q.figures)-1].Function == "count" && len(q.groups) == 0
	if t.kind == comparison && !isTime && !ofRows {
		q.doubt(noFilter)
	}
}

// howMany returns the figure that "how many" asks for with a column. For "how many votes", it is the sum.
func (q *question) howMany(t token) figure {
	if !t.column.quantity() {
		return newFigure("count_distinct", t.column.Name)
	}
	if t.column.Currency != "" || t.part || t.there {
		q.doubt(rowsOrTotal(t.column.Name))
	}
	return newFigure("sum", t.column.Name)
}

// readColumn reads a column that no condition and no group needs.
func (q *question) readColumn(i int) int {
	t, last := q.at(i), len(q.figures)-1
	if t.kind != columnName {
		return 0
	}
	switch {
	case last >= 0:
		if q.serves(&q.figures[last], t, q.at(i-1)) {
			return 1
		}
	case len(q.ends) == 0:
	case t.column.rows: // "the most teams"
		return 1
	case t.before == "and" && t.column.quantity(): // "highest score and wins"
		q.doubt("I can answer for one superlative at a time. Ask, for example: the highest " + plain(t.column.Name) + ".")
	}
	if set("with have has having")[t.before] { // "orders with notes": those that have some, or the column?
		return 0
	}
	q.columns = append(q.columns, t.column)
	return 1
}

// serves reports whether a column behind a figure belongs to it: "how many customers" counts different customers.
func (q *question) serves(f *figure, t, before token) bool {
	switch {
	case before.kind == function && before.op == "count" && t.before == "" && !t.column.dated():
		*f = q.howMany(t)
	case t.column.rows && before.kind != joint && (f.Function == "count" || f.Column != ""): // "how many active teams"
	case f.Column == "" && f.Function != "count" && t.column.quantity():
		f.Column = t.column.Name
	default:
		return false
	}
	return true
}

// readRest reads words without a place of their own, such as words for rows.
func (q *question) readRest(i int) int {
	t := q.at(i)
	fits := t.kind == mark
	switch t.kind {
	case rowNoun: // but "total amount and orders" asks for two figures, and "amount by order" for groups
		q.noun, fits = true, (q.at(i-1).kind != joint || q.at(i-1).text == ",") && !set("by per each every")[t.before]
	case joint:
		fits = t.op != "or"
	}
	return map[bool]int{true: 1}[fits]
}

// readBack reads words for rows that were named before, in this question or in the one before it.
func (q *question) readBack(i int) int {
	t := q.at(i)
	if t.kind != back {
		return 0
	}
	if t.before == "of" || len(q.conditions) == 0 && !q.noun || strings.EqualFold(t.text, "it") {
		q.back = t.text
	}
	return 1
}
