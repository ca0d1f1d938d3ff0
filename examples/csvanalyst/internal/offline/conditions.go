package offline

import (
	"fmt"
	"slices"
	"strings"
)

// readEmptiness finds "region is empty".
func (q *question) readEmptiness() {
	for i := range q.words {
		op, n := find(q.words, i, emptiness)
		if c := q.column(i - 1); n > 0 && c != nil && !q.words[i-1].used {
			q.add(condition{Column: c.Name, Op: op})
			q.useColumn(i - 1)
			use(q.words[i : i+n])
		}
	}
}

// readComparisons finds comparisons with a value, and the column that they are about.
func (q *question) readComparisons() {
	for i := range q.words {
		if q.readAfterwards(i) {
			continue
		}
		op, n := find(q.words, i, comparisons)
		if n == 0 {
			continue
		}
		at := i + n
		for at < len(q.words) && set("the a an about $ exactly")[q.words[at].lower] {
			at++
		}
		if at >= len(q.words) {
			continue
		}
		end := 0
		switch op {
		case "between":
			end = q.between(i, at)
		case "contains", "starts_with":
			if s := q.subject(i); s >= 0 && q.words[at].column == 0 {
				end = q.compareText(s, at, op)
			}
		default:
			end = q.compare(i, at, op)
		}
		if end > 0 {
			use(q.words[i:end])
		}
	}
}

// compare reads a comparison at i with the value at at. It returns its end, or 0 if it is none.
func (q *question) compare(i, at int, op string) int {
	s := q.subject(i)
	equal := op == "eq" || op == "ne"
	p, n := periodAt(q.words, at)
	if n > 0 && !equal && (q.timely(s, p) || set("after before since until later earlier")[q.words[i].lower]) {
		if q.addDate(s, op, p, strings.Join(texts(q.words[at:at+n]), " ")) {
			return at + n
		}
		return 0
	}
	switch isNumeric := isNumber(q.words[at].text) && !q.words[at].used; {
	case equal && s < 0:
		return 0
	case isNumeric:
		return q.compareNumber(i, at, op)
	case equal:
		return q.compareText(s, at, op)
	}
	return 0
}

// timely reports whether a period is one, and no other number, with the column at s before it.
func (q *question) timely(s int, p period) bool {
	c := q.column(s)
	return !p.bare || c != nil && (c.dated() || c.year())
}

// subject returns the word before a comparison that names a column, or -1.
func (q *question) subject(i int) int {
	for j := i - 1; j >= 0; j-- {
		w := q.words[j]
		switch {
		case w.column > 0 && !w.used:
			return j
		case w.mark || w.quoted || w.column > 0 || !linking[w.lower]:
			return -1
		}
	}
	return -1
}

// linking are words between a column and its value.
var linking = set("is are was were be been of that which has have had value values a an the being :")

var costs = set("cost costs costing worth price priced prices earn earns earning")

// compareNumber compares a number: of the column before it, of the column after it as in "60 minutes", or of amounts.
func (q *question) compareNumber(i, at int, op string) int {
	plain, isMoney, _ := number(q.words[at].text)
	name, end := q.numberColumn(i, at+1, isMoney)
	if end == 0 {
		return 0
	}
	if i > 0 && costs[q.words[i-1].lower] {
		q.words[i-1].used = true
	}
	switch {
	case q.problem != "":
	case name == "":
		q.problem = fmt.Sprintf("I do not know which column %q is about. Name it, such as: %s over %s.", q.words[at].text, q.example(), plain)
	default:
		q.add(condition{Column: name, Op: op, Value: plain})
	}
	return end
}

// numberColumn returns the column of a comparison at i whose number ends before end, and the end of both. The end is
// 0 if it is no comparison of a number.
func (q *question) numberColumn(i, end int, isMoney bool) (string, int) {
	after := q.unit(end)
	if s := q.subject(i); s >= 0 {
		if !q.column(s).number() {
			return "", 0
		}
		name := q.column(s).Name
		q.useColumn(s)
		return name, end
	}
	if name := q.lastNumber(i); name != "" && (after == nil || after.Name == name) { // "over 2 and under 5"
		q.words[i-1].used = true
		return name, end
	}
	switch {
	case after != nil:
		q.useColumn(end)
		return after.Name, end
	case end < len(q.words) && q.words[end].used && !q.words[end].mark:
		q.problem = fmt.Sprintf("I cannot count the %s of each group and filter by it.", q.words[end].text)
		return "", end
	case isMoney || i > 0 && costs[q.words[i-1].lower]:
		return q.only(money), end
	}
	return q.measure(), end
}

// unit returns the column of numbers at i, such as minutes after 60, or nil.
func (q *question) unit(i int) *column {
	if c := q.column(i); c != nil && c.number() && !q.words[i].used {
		return c
	}
	return nil
}

// lastNumber returns the column of the comparison with a number before "and" or "but" before i.
func (q *question) lastNumber(i int) string {
	if i < 2 || q.words[i-1].lower != "and" && q.words[i-1].lower != "but" || !q.words[i-2].used || len(q.conditions) == 0 {
		return ""
	}
	c := q.conditions[len(q.conditions)-1]
	if !set("lt le gt ge")[c.Op] || !isNumber(c.Value) {
		return ""
	}
	return c.Column
}

// readAfterwards reads "rating of 5", "rating 5 or more" and "5 or more stars" with the number at i.
func (q *question) readAfterwards(i int) bool {
	plain, _, ok := number(q.words[i].text)
	if !ok || q.words[i].used || q.words[i].column > 0 {
		return false
	}
	op, n := find(q.words, i+1, afterwards)
	if n == 0 {
		op = "eq"
	}
	end := i + 1 + n
	s := q.subject(i)
	c := q.column(s)
	if c == nil && (n > 0 || i > 0 && set("of with exactly")[q.words[i-1].lower]) {
		s, c = end, q.column(end)
	}
	if c == nil || !c.number() || s < i && op == "eq" && slices.ContainsFunc(q.words[s+1:i], func(w word) bool { return w.lower == "than" || w.lower == "not" }) {
		return false
	}
	q.add(condition{Column: c.Name, Op: op, Value: plain})
	q.useColumn(s)
	use(q.words[i:end])
	return true
}

// compareText compares a column with the text at at.
func (q *question) compareText(s, at int, op string) int {
	c := q.column(s)
	value, end := q.textOf(*c, at, op)
	if c.dated() && end > 0 {
		p, n := periodAt(q.words, at)
		if n == 0 || op != "eq" {
			return 0
		}
		value, end, op = p.text, at+n, "in_period"
	}
	if end > 0 {
		q.add(condition{Column: c.Name, Op: op, Value: value})
		q.useColumn(s)
	}
	return end
}

// textOf returns the text at at with which a column is compared, and its end, or 0 if there is none.
func (q *question) textOf(c column, at int, op string) (string, int) {
	w, end := q.words[at], at+1
	switch {
	case w.value > 0:
		return q.valueOf(c, at)
	case w.quoted || op == "contains" || op == "starts_with":
		return w.text, end
	case w.used || w.column > 0 || common(w) || isGrammar(q.words, at) || c.number():
		return "", 0
	}
	for end < len(q.words) && capital(q.words[end-1]) && capital(q.words[end]) {
		end++
	}
	return strings.Join(texts(q.words[at:end]), " "), end
}

// valueOf returns the value at at, if it is one of a column, and its end.
func (q *question) valueOf(c column, at int) (string, int) {
	f, end := q.found[q.words[at].value-1], at+1
	if q.file.Columns[f.column-1].Name != c.Name && !slices.Contains(f.others, c.Name) {
		return "", 0
	}
	for end < len(q.words) && q.words[end].value == q.words[at].value {
		end++
	}
	return f.value, end
}

func capital(w word) bool {
	return !w.quoted && !w.used && w.column == 0 && w.value == 0 && w.text != "" && strings.ToUpper(w.text[:1]) == w.text[:1] && w.text[0] >= 'A'
}

// between reads two values.
func (q *question) between(i, at int) int {
	s := q.subject(i)
	if p, n := periodAt(q.words, at); n > 0 && (q.timely(s, p) || q.column(s) == nil && q.only(dated) != "") {
		and := textAt(q.words, at+n)
		last, k := periodAt(q.words, at+n+1)
		if and != "and" && and != "to" || k == 0 || !q.addDates(s, p, last) {
			return 0
		}
		return at + n + 1 + k
	}
	if at+2 >= len(q.words) || q.words[at+1].lower != "and" {
		return 0
	}
	first, _, ok1 := number(q.words[at].text)
	last, isMoney, ok2 := number(q.words[at+2].text)
	if !ok1 || !ok2 {
		return 0
	}
	name, end := q.numberColumn(i, at+3, isMoney)
	if name == "" {
		return 0
	}
	q.add(condition{Column: name, Op: "between", Values: []string{first, last}})
	return end
}

// readAbsence finds "no region", "without a rating", "have a region" and the opposite of a column of yes and no.
func (q *question) readAbsence() {
	for i := range q.words {
		c := q.column(i)
		if c == nil || q.words[i].used || i > 0 && q.words[i-1].column == q.words[i].column || q.hasValue(i) {
			continue
		}
		switch {
		case q.negated(i) && c.Type == "boolean":
			q.add(condition{Column: c.Name, Op: "eq", Value: "no"})
		case q.words[max(i-1, 0)].used && negations[q.words[max(i-1, 0)].lower], i > 1 && q.words[i-2].used && negations[q.words[i-2].lower], q.absent(i):
			q.add(condition{Column: c.Name, Op: "empty"})
		case q.present(i):
			q.add(condition{Column: c.Name, Op: "not_empty"})
		default:
			continue
		}
		q.useColumn(i)
	}
}

// hasValue reports whether the column at i stands before one of its values, or before a name that a search has to find:
// "excluding city Bern" is about the value.
func (q *question) hasValue(i int) bool {
	end := i + 1
	for end < len(q.words) && q.words[end].column == q.words[i].column {
		end++
	}
	if end == len(q.words) {
		return false
	}
	w := q.words[end]
	if w.value > 0 {
		_, n := q.valueOf(*q.column(i), end)
		return n > 0
	}
	return q.column(i).Type == "text" && (w.quoted || capital(w) && !common(w))
}

// present reports whether "have a region" or "have notes" stands at i, without a value after it.
func (q *question) present(i int) bool {
	end := i + 1
	for end < len(q.words) && q.words[end].column == q.words[i].column {
		end++
	}
	if i < 2 || q.column(i).Type == "boolean" || end < len(q.words) && !q.words[end].mark && q.words[end].lower != "and" {
		return false
	}
	article := set("a an any")[q.words[i-1].lower] && set("with have has having")[q.words[i-2].lower]
	return article || set("have has having")[q.words[i-1].lower] && q.column(i).Type == "text"
}

// absent reports whether a negation that a rule has just used is about the column at i.
func (q *question) absent(i int) bool {
	for j := i - 1; j >= 0; j-- {
		if negations[q.words[j].lower] {
			return q.words[j].used
		}
		if !light[q.words[j].lower] {
			return false
		}
	}
	return false
}

// negated reports whether a negation stands before the word at i, and marks it as understood.
func (q *question) negated(i int) bool {
	if q.words[i].column == 0 {
		i = q.nameBefore(i) // "excluding city Bern"
	}
	for j := i - 1; j >= 0; j-- {
		w := &q.words[j]
		switch {
		case w.quoted || w.mark || w.column > 0 || w.value > 0:
			return false
		case negations[w.lower] && !w.used:
			w.used = true
			if j > 0 && q.words[j-1].lower == "but" {
				q.words[j-1].used = true
			}
			return true
		case w.lower == "than" && j > 0 && q.words[j-1].lower == "other":
			w.used, q.words[j-1].used = true, true
			return true
		case !light[w.lower]:
			return false
		}
	}
	return false
}

// nameBefore returns the beginning of the name of a column that ends before i, or i.
func (q *question) nameBefore(i int) int {
	begin := i
	for begin > 0 && q.words[begin-1].column > 0 && q.words[begin-1].column == q.words[i-1].column {
		begin--
	}
	return begin
}

// readValues makes conditions of the values that the question names.
func (q *question) readValues() {
	last, before, negated := -1, "", false // the end of the value before, its column, and whether it is negated
	for i := 0; i < len(q.words); i++ {
		w := q.words[i]
		if w.value == 0 {
			continue
		}
		f := q.found[w.value-1]
		if w.used { // by a comparison: "region is North or East"
			last = i + 1
			negated = slices.ContainsFunc(q.conditions, func(c condition) bool { return c.Op == "ne" && c.Value == f.value })
			continue
		}
		end := i + 1
		for end < len(q.words) && q.words[end].value == w.value {
			end++
		}
		name := q.valueColumn(f, i, end)
		begin := i
		if name == before {
			begin = q.nameBefore(i)
		}
		joined := last >= 0 && begin-last <= 3 && q.joins(last, begin)
		negated = q.negated(i) || joined && negated
		q.addValue(name, f.value, negated, joined)
		use(q.words[i:end])
		last, before, i = end, name, end-1
	}
}

// valueColumn returns the column of a value, which the question may name before or after it: "city Athens".
func (q *question) valueColumn(f found, begin, end int) string {
	name := q.file.Columns[f.column-1].Name
	for _, at := range []int{q.subject(begin), end} {
		if c := q.column(at); c != nil && !q.words[at].used && (c.Name == name || slices.Contains(f.others, c.Name)) {
			q.useColumn(at)
			return c.Name
		}
	}
	if len(f.others) > 0 {
		q.problem = fmt.Sprintf("%q is a value of the columns %s and %s. Name the column, such as: %s is %s.", f.value, name, strings.Join(f.others, " and "), name, f.value)
	}
	return name
}

// joins reports whether only "or", "and" or a comma stands between two values, and marks it as understood.
func (q *question) joins(from, to int) bool {
	for j := from; j < to; j++ {
		joint := set("or and , & nor vs versus with to")[q.words[j].lower]
		if q.words[j].lower == "with" && q.verb != "compare" || q.words[j].lower == "to" && q.verb != "compare" {
			return false
		}
		if !joint && (j == from || !set("for in of from the")[q.words[j].lower]) {
			return false
		}
	}
	use(q.words[from:to])
	return to > from
}

// addValue adds the condition that a column has a value, or one of several.
func (q *question) addValue(name, value string, negated, joined bool) {
	if negated {
		q.add(condition{Column: name, Op: "ne", Value: value})
		return
	}
	for i, c := range q.conditions {
		if c.Column != name || c.Op != "eq" && c.Op != "in" {
			continue
		}
		if !joined && q.verb != "compare" && c.Value != value {
			q.problem = fmt.Sprintf("I do not know whether %q and %q are both meant. Write \"or\" between them.", value, strings.Join(append(c.Values, c.Value), " "))
		}
		if c.Op == "eq" {
			c = condition{Column: name, Op: "in", Values: []string{c.Value}}
		}
		c.Values = append(c.Values, value)
		q.conditions[i] = c
		return
	}
	q.add(condition{Column: name, Op: "eq", Value: value})
}

func (q *question) add(c condition) {
	if !slices.ContainsFunc(q.conditions, func(o condition) bool {
		return o.Column == c.Column && o.Op == c.Op && o.Value == c.Value && slices.Equal(o.Values, c.Values)
	}) {
		q.conditions = append(q.conditions, c)
	}
}

func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}
