package offline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A figure is an aggregate.
type figure = csvdb.Aggregate

// An end is a superlative with its column.
type end struct {
	meaning
	column *column
}

// A question is one question of the user as the rules have understood it: a figure or rows, and then groups and
// conditions in any order. A token that does not fit is a problem, so no answer ignores a word.
type question struct {
	file   *file
	tokens []token
	pos    int // of the next token

	figure     *figure
	end        *end
	groups     []string
	period     string // of the groups
	conditions []csvdb.Condition
	n          int  // the requested number of rows
	noun       bool // the question names the rows
	compares   bool
	describes  bool
	refers     bool // to the rows of the previous question

	problem string // why there is no answer
}

// understand reads the tokens of one question.
func understand(f *file, tokens []token) *question {
	q := &question{file: f, tokens: tokens}
	if !slices.ContainsFunc(tokens, func(t token) bool { return t.kind != mark && t.kind != joint }) {
		q.problem = f.help("")
		return q
	}
	q.refuseUnknown()
	goesOn := q.accept(joint)
	q.readAsk()
	for q.problem == "" && q.pos < len(tokens) {
		if !q.readGroup() && !q.readCondition() && !q.readRest() {
			q.doubt(f.help("I understood the words, but not \"" + plain(q.at(0).text) + "\" in its place."))
		}
	}
	if goesOn && !q.refers { // "and in Bern?"
		q.doubt("Ask the whole question again.")
	}
	return q
}

// refuseUnknown refuses words that no rule understands, and words that may be a value or may have another meaning.
func (q *question) refuseUnknown() {
	var words []string
	for _, t := range q.tokens {
		switch t.kind {
		case unknown:
			words = append(words, "\""+shorten(plain(t.text), 60)+"\"")
		case clash:
			q.doubt("I do not know whether " + plain(t.text+" is a value of "+t.column.Name) + ". If it is, write: " + plain(t.column.Name+" is \""+t.value) + "\".")
		}
	}
	if len(words) > 0 {
		slices.Sort(words)
		q.problem = q.file.help("I did not understand " + strings.Join(slices.Compact(words), ", ") + ". A value that I do not know needs its column and quotation marks, such as: name is \"Ann\".")
	}
}

// at returns the token n tokens after the next one. If there is none, at returns a filler.
func (q *question) at(n int) token {
	if i := q.pos + n; i >= 0 && i < len(q.tokens) {
		return q.tokens[i]
	}
	return token{meaning: meaning{kind: filler}}
}

// endsAt reports whether the sentence has ended n tokens after the next one. A mark counts as the end.
func (q *question) endsAt(n int) bool { return q.pos+n >= len(q.tokens) || q.at(n).kind == mark }

// accept reads the next token, if it is of a kind.
func (q *question) accept(k kind) bool {
	if q.at(0).kind != k {
		return false
	}
	q.pos++
	return true
}

// doubt sets the problem, unless the question has one already.
func (q *question) doubt(problem string) {
	if q.problem == "" {
		q.problem = problem
	}
}

// readAsk reads the beginning of a question: it asks for a figure, a superlative, or rows.
func (q *question) readAsk() {
	for q.accept(describe) {
		q.describes = true
	}
	if q.describes && !q.endsAt(0) {
		q.doubt("I can only describe the whole file.")
	}
	q.compares = q.accept(compare)
	if q.readFigure() || q.compares || q.readWhich() {
		return
	}
	q.accept(list)
	q.readEnd()
	q.readNoun()
}

// readFigure reads "how many orders" or "the total amount".
func (q *question) readFigure() bool {
	f, c := q.at(0), q.at(1)
	switch {
	case f.kind != function:
		return false
	case f.op == "count":
		q.figure = &figure{Function: f.op}
		q.pos++
		q.readNoun()
		return true
	case c.kind == columnName && c.column.number():
		q.figure = &figure{Function: f.op, Column: c.column.Name}
		q.pos += 2
		return true
	}
	return false
}

// readNoun reads a word for the rows. If the word is also a column, the meaning is in doubt: a city may be in several rows
// of cities.csv.
func (q *question) readNoun() {
	if t := q.at(0); t.noun && t.kind == columnName && q.end == nil {
		q.doubt("I do not know whether \"" + plain(t.text) + "\" means the rows or the column. Say \"rows\" for the rows.")
	}
	q.noun = q.accept(rowNoun)
}

// readWhich reads "which customer has the highest total amount".
func (q *question) readWhich() bool {
	group, most := q.at(1), q.at(2)
	if q.at(0).kind != which || group.kind != columnName || most.kind != superlative || most.money || q.at(3).kind != function {
		return false
	}
	q.pos += 3
	q.end, q.groups = &end{meaning: most.meaning}, []string{group.column.Name}
	return q.readFigure()
}

// readEnd reads a superlative with its number and its column: "first 10", "top 3", "the highest rating".
func (q *question) readEnd() {
	if q.at(0).kind == first && q.readLimit(1) {
		q.pos++
		return
	}
	t := q.at(0)
	if !q.accept(superlative) {
		return
	}
	q.end = &end{meaning: t.meaning}
	if q.readLimit(0) && q.at(0).kind == superlative && q.at(0).order == t.order { // "top 3 biggest"
		q.end.money = q.at(0).money
		q.pos++
	}
	if c := q.at(0).column; q.at(0).kind == columnName && c.number() && !q.end.money {
		q.end.column = c
		q.pos++
	}
}

// readLimit reads the number of rows at n. A number above manyGroups is no limit, such as the year in "the highest
// 2024 amount".
func (q *question) readLimit(n int) bool {
	t := q.at(n)
	limit, err := strconv.Atoi(t.value)
	if t.kind != numeral || t.before != "" || t.sign != "" || err != nil || limit <= 0 || limit > manyGroups {
		return false
	}
	q.n = limit
	q.pos++
	return true
}

// readGroup reads "by city", "per month" and "by status and region". It also reads the column of a superlative, as
// in "top 3 rows by amount".
func (q *question) readGroup() bool {
	by, t := q.at(0), q.at(1)
	switch {
	case by.kind != grouping || t.boolean() && t.plural: // "by members"
		return false
	case t.kind == rowNoun && q.figure != nil && q.figure.Function == "avg": // "average quantity per order"
	case t.kind == unit && q.period == "":
		q.groupByPeriod(t.op)
	case t.kind != columnName:
		return false
	case q.lacksOrder() && t.column.number():
		q.end.column = t.column
	default:
		q.groups = append(q.groups, t.column.Name)
		if and, last := q.at(2), q.at(3); and.op == "and" && last.kind == columnName && q.endsAt(4) {
			q.groups = append(q.groups, last.column.Name)
			q.pos += 2
		}
	}
	q.pos += 2
	return true
}

// lacksOrder reports whether the question asks for rows by a superlative that has no column yet.
func (q *question) lacksOrder() bool { return q.end != nil && q.end.column == nil && q.figure == nil }

// groupByPeriod groups by a period of the only column of dates.
func (q *question) groupByPeriod(period string) {
	c := q.file.only(column.dated)
	if c == nil {
		q.doubt("I group by a period only if one column alone has dates.")
		return
	}
	q.groups, q.period = append(q.groups, c.Name), period
}

// readRest reads other parts of a question: a mark, "of them", a later word for the rows, and "how many" at the
// end.
func (q *question) readRest() bool {
	if q.accept(mark) {
		return true
	}
	if q.accept(back) {
		q.refers = true
		return true
	}
	return q.readLaterNoun() || q.readRecount()
}

// readLaterNoun reads the noun of "paid orders" and "the total amount of orders".
func (q *question) readLaterNoun() bool {
	t, last := q.at(0), q.at(-1)
	named := t.before == "" && (last.kind == valueName || last.boolean())
	counted := t.before == "of" && q.figure != nil && last.kind == columnName
	if q.noun || !named && !counted {
		return false
	}
	q.noun = q.accept(rowNoun)
	return q.noun
}

// readRecount reads "how many" at the end of a question for rows.
func (q *question) readRecount() bool {
	skip := 0
	if t := q.at(0); t.kind == joint && t.op != "or" {
		skip = 1
	}
	asksForRows := q.figure == nil && q.end == nil && q.n == 0 && (q.noun || len(q.conditions) > 0)
	if q.at(skip).op != "count" || !q.endsAt(skip+1) || !asksForRows {
		return false
	}
	q.figure = &figure{Function: "count"}
	q.pos += skip + 1
	return true
}
