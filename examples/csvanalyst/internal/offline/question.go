package offline

import (
	"fmt"
	"slices"
	"strings"
)

// A condition is a condition for a row, in the form of the tools.
type condition struct {
	Column string   `json:"column"`
	Op     string   `json:"op"`
	Value  string   `json:"value,omitempty"`
	Values []string `json:"values,omitempty"`
}

// A figure is an aggregate, in the form of the tools.
type figure struct {
	Function string `json:"function"`
	Column   string `json:"column,omitempty"`
}

func (f figure) name() string {
	return strings.TrimSpace(strings.ReplaceAll(f.Function, "_", " ") + " " + f.Column)
}

// A lookup is a text that may be a value of a column, which a search has to show.
type lookup struct {
	text    string
	negated bool
	quoted  bool // also a part of a value
}

// A question is one question, as the rules understand it.
type question struct {
	file  file
	words []word
	found []found

	verb       string // compare, search, describe or list; empty if there is none
	functions  []figure
	groupBy    []string
	period     string
	conditions []condition
	lookups    []lookup
	// order is 1 for the highest values first, and -1 for the lowest; orderBy is a column.
	order    int
	both     bool // both ends are meant
	many     bool // the superlative counts rows
	orderBy  string
	n        int       // the number of rows or groups that is asked for
	columns  []string  // named for no other purpose
	noun     bool      // the question names the rows
	back     bool      // the question is about the rows of the question before
	pronoun  string    // the word that says so
	second   bool      // another question stands before it in the same text
	elliptic bool      // it only changes the question before: "and in Bern?"
	follows  bool      // it begins with a figure, after another question
	prior    *question // the question before, if it refers to it

	unknown []string // words that no rule understands
	problem string   // another reason not to answer
}

// A found is a value of a column in the question.
type found struct {
	column int // from 1
	value  string
	others []string // further columns that have this value
}

// understand reads one question about a file.
func understand(words []word, f file, second bool) *question {
	q := &question{file: f, words: slices.Clone(words), second: second}
	q.mark()
	q.readRowNouns()
	q.readVerb()
	q.readEmptiness()
	q.readComparisons()
	q.readDates()
	q.readAbsence()
	q.readValues()
	q.readLimit()
	q.readFunctions()
	q.readSuperlative()
	q.endpoints()
	q.readGroups()
	q.readColumns()
	q.readRest()
	return q
}

// column returns the column that a word names, or nil.
func (q *question) column(i int) *column {
	if i < 0 || i >= len(q.words) || q.words[i].column == 0 {
		return nil
	}
	return &q.file.Columns[q.words[i].column-1]
}

// useColumn marks the words of the name of a column as understood.
func (q *question) useColumn(i int) {
	c := q.words[i].column
	for j := i; j >= 0 && q.words[j].column == c; j-- {
		q.words[j].used = true
	}
	for j := i; j < len(q.words) && q.words[j].column == c; j++ {
		q.words[j].used = true
	}
}

// nothing reports whether no rule fits.
func (q *question) nothing() bool {
	return q.verb == "" && len(q.functions) == 0 && len(q.groupBy) == 0 && q.order == 0 && len(q.conditions) == 0 && len(q.lookups) == 0 &&
		q.n == 0 && !q.noun && len(q.columns) == 0 && len(q.unknown) == 0 && q.problem == ""
}

// readRowNouns finds the name of the file and other words for its rows: "how many orders".
func (q *question) readRowNouns() {
	names := q.rowNames()
	for i := range q.words {
		w := &q.words[i]
		if w.used || w.quoted || w.column > 0 || w.value > 0 {
			continue
		}
		if strings.EqualFold(w.text, q.file.Name) || slices.Contains(names, w.stem) || rowNouns[w.stem] {
			w.used, q.noun = true, true
		}
	}
}

// readVerb finds the word that says which kind of answer is wanted.
func (q *question) readVerb() {
	for i := range q.words {
		if verb, n := find(q.words, i, verbs); n > 0 && (q.verb == "" || q.verb == "list" || verb == "compare") {
			if q.verb == "" || verb != "list" {
				q.verb = verb
			}
			use(q.words[i : i+n])
		}
	}
}

// readLimit finds the number of rows or groups: "top 3", "the 3 highest", "first 5 rows".
func (q *question) readLimit() {
	before := set("top bottom first highest lowest largest biggest smallest show list display print any")
	for i := range q.words {
		plain, isMoney, ok := number(q.words[i].text)
		n := count(plain)
		if !ok || isMoney || q.words[i].used || q.words[i].column > 0 || n <= 0 || q.n > 0 {
			continue
		}
		first := i > 0 && !q.words[i-1].quoted && before[q.words[i-1].lower]
		_, then := find(q.words, i+1, superlatives)
		if first || then > 0 {
			q.n, q.words[i].used = n, true
			if first && q.words[i-1].lower == "first" {
				q.words[i-1].used = true
			}
		}
	}
}

// readFunctions finds the figures that are asked for, each with its column.
func (q *question) readFunctions() {
	for i := 0; i < len(q.words); i++ {
		function, n := find(q.words, i, functions)
		if n == 0 || q.isSuperlative(function) {
			continue
		}
		if problem := q.ambiguous(i, n, function); problem != "" {
			q.problem = problem
		}
		if function == "sum" && q.nounFollows(i+n) {
			function = "count" // "total orders"
		}
		repeats := q.repeats(function, i+n)
		use(q.words[i : i+n])
		if !repeats {
			q.functions = append(q.functions, figure{Function: function})
			q.findColumn(&q.functions[len(q.functions)-1], i+n)
		}
		i += n - 1
	}
	// "total and average amount" is about one column.
	for i := len(q.functions) - 2; i >= 0; i-- {
		if q.functions[i].Column == "" && q.functions[i].Function != "count" {
			q.functions[i].Column = q.functions[i+1].Column
		}
	}
}

// isSuperlative reports whether "max" means a row and not a figure of groups.
func (q *question) isSuperlative(function string) bool {
	return (function == "max" || function == "min") && len(q.functions) == 0 && !slices.ContainsFunc(q.words, isGroupWord)
}

// repeats reports whether a function that ends before i only repeats the one before: "how many are there in total".
func (q *question) repeats(function string, i int) bool {
	if len(q.functions) == 0 {
		return false
	}
	before := q.functions[len(q.functions)-1].Function
	return before == "count" && function == "count" || (before == "count" || before == "sum") && function == "sum" && !q.columnFollows(i)
}

// nounFollows reports whether a word for rows stands at i, and no column after it.
func (q *question) nounFollows(i int) bool {
	return i < len(q.words) && q.words[i].used && !q.words[i].mark && q.words[i].column == 0 && q.words[i].value == 0 && !q.columnFollows(i+1)
}

// ambiguous says why a figure of rows can have two meanings: "total sales", "average orders per customer".
func (q *question) ambiguous(i, n int, function string) string {
	if function == "average number" || function == "avg" && q.nounFollows(i+n) && q.words[i+n].lower != q.words[i+n].stem {
		return "I cannot compute an average of numbers of rows. Ask for the number of rows of each group."
	}
	if function == "sum" && q.nounFollows(i+n) && set("sale purchase transaction")[q.words[i+n].stem] {
		return fmt.Sprintf("Do you mean the number of rows, or the total %s? Ask for one of them.", plain(q.example()))
	}
	return ""
}

func isGroupWord(w word) bool { return !w.quoted && groupWords[w.lower] }

// columnFollows reports whether a column stands at i, after fillers.
func (q *question) columnFollows(i int) bool {
	for ; i < len(q.words) && q.words[i].column == 0 && fillers[q.words[i].lower]; i++ {
	}
	return q.column(i) != nil
}

// findColumn gives a figure the column after it: "how many customers" counts different customers.
func (q *question) findColumn(f *figure, from int) {
	for i := from; i < len(q.words); i++ {
		w := q.words[i]
		c := q.column(i)
		if c != nil && !w.used && !isGroupWord(q.words[max(i-1, 0)]) {
			function, fits := functionOf(f.Function, *c)
			far := f.Function == "count" && i > from && !light[q.words[i-1].lower]
			if far || f.Function == "count" && !fits {
				return
			}
			if fits {
				f.Function, f.Column = function, c.Name
				q.useColumn(i)
				return
			}
			continue
		}
		if _, n := find(q.words, i, functions); n > 0 || f.Function == "count" && !fillers[w.lower] {
			return
		}
	}
}

// functionOf returns the function that is meant by one and a column, and whether they fit.
func functionOf(function string, c column) (string, bool) {
	switch {
	case function == "count" && c.number() && !c.identifier():
		return "sum", true
	case function == "count":
		return "count_distinct", c.Type != "boolean" && !c.dated()
	}
	return function, c.number() || function == "count_distinct" || function == "min" || function == "max"
}

// readSuperlative finds an order: "the most expensive", "top 3 by amount".
func (q *question) readSuperlative() {
	for i := range q.words {
		s, n := find(q.words, i, superlatives)
		if n == 0 {
			continue
		}
		if q.order != 0 && q.order != s.order {
			if s.by != anyKind || q.orderBy != "" || len(q.functions) > 0 {
				q.unknown = append(q.unknown, q.words[i].text)
			}
			q.both = true // "the highest and the lowest"
		}
		use(q.words[i : i+n])
		q.order, q.many = s.order, q.many || s.many && n == 1 && !q.numberFollows(i+1) || s.many && n > 1
		if s.by != anyKind {
			q.orderBy = q.only(s.by)
			if q.orderBy == "" {
				q.problem = "I do not know which column \"" + q.words[i].text + "\" is about. Name it, such as: the highest " + q.example() + "."
			}
		}
	}
}

// endpoints makes the figures of "the highest and the lowest", in the order of the question.
func (q *question) endpoints() {
	if !q.both || len(q.functions) > 0 {
		return
	}
	q.functions = []figure{{Function: "max"}, {Function: "min"}}
	if q.order > 0 {
		slices.Reverse(q.functions)
	}
	q.order = 0
}

// numberFollows reports whether a column of numbers stands at i: "the most revenue".
func (q *question) numberFollows(i int) bool {
	c := q.column(i)
	return c != nil && c.number()
}

var groupWords = set("by per each every which for across")

// readGroups finds "by city", "per month", "for each city", "which city has".
func (q *question) readGroups() {
	for i, w := range q.words {
		if w.used || w.quoted {
			continue
		}
		before := q.wordBefore(i)
		c, asked := q.column(i), q.asksGroup(before)
		switch {
		case c != nil && c.Type == "boolean" && w.lower != w.stem: // "visits by members"
		case c != nil && (asked || q.continues(before, i)):
			q.groupByColumn(i, q.words[max(before, 0)].lower)
		case c == nil && (asked || strings.HasSuffix(w.lower, "ly") || w.lower == "annual"):
			q.groupByPeriod(i)
		}
	}
	q.readPerRow()
}

// wordBefore returns the word before i that is more than "the" or "and", or -1.
func (q *question) wordBefore(i int) int {
	for i--; i >= 0 && !q.words[i].quoted && set("the and , single")[q.words[i].lower]; {
		i--
	}
	return i
}

// asksGroup reports whether the word at i asks for groups of the next.
func (q *question) asksGroup(i int) bool {
	return i >= 0 && (isGroupWord(q.words[i]) && q.words[i].lower != "for" || q.words[i].lower == "what" && q.order != 0)
}

// continues reports whether the column at i continues a list of groups: "by city and product".
func (q *question) continues(before, i int) bool {
	return len(q.groupBy) > 0 && before >= 0 && before < i-1 && q.words[before].used && q.words[before].column > 0
}

// groupByPeriod groups by the period at i, of the only column of dates.
func (q *question) groupByPeriod(i int) {
	period := periodsOf[q.words[i].lower]
	if period == "" || q.period != "" {
		return
	}
	name := q.only(dated)
	if name == "" || q.yearColumn() == name {
		q.problem = "I do not know which column has the dates. Name it, such as: by " + q.example() + "."
		return
	}
	q.groupBy, q.period, q.words[i].used = append(q.groupBy, name), period, true
}

// readPerRow reads "average quantity per order", which is about each row.
func (q *question) readPerRow() {
	for i, w := range q.words[:max(0, len(q.words)-1)] {
		next := q.words[i+1]
		if w.lower != "per" || w.quoted || !next.used || next.column > 0 || len(q.groupBy) > 0 {
			continue
		}
		if len(q.functions) == 1 && q.functions[0].Function == "avg" {
			q.words[i].used = true
		} else {
			q.unknown = append(q.unknown, "per "+next.text)
		}
	}
}

// groupByColumn groups by the column at i, unless it is an order: "top 3 by amount".
func (q *question) groupByColumn(i int, before string) {
	c := q.column(i)
	if before == "by" && c.number() && len(q.functions) == 0 && (q.order != 0 || q.n > 0) {
		q.orderBy = c.Name
		q.useColumn(i)
		return
	}
	if !slices.Contains(q.groupBy, c.Name) {
		q.groupBy = append(q.groupBy, c.Name)
	}
	q.useColumn(i)
	if c.dated() && i+1 < len(q.words) && periodsOf[q.words[i+1].lower] != "" { // "by order date month"
		q.period, q.words[i+1].used = periodsOf[q.words[i+1].lower], true
	}
}

// readColumns finds a purpose for the columns that are left: a condition of a column of yes and no, the one to order
// by, the groups of "top 5 customers by amount", or columns to show.
func (q *question) readColumns() {
	for i := range q.words {
		c := q.column(i)
		if c == nil || q.words[i].used {
			continue
		}
		q.useColumn(i)
		switch {
		case c.Type == "boolean" && q.verb != "describe" && q.verb != "search":
			q.conditions = append(q.conditions, condition{Column: c.Name, Op: "eq", Value: "yes"})
		case q.ordersBy(*c):
			q.orderBy = c.Name
		case q.ordersGroupsOf(*c):
			q.groupBy = append(q.groupBy, c.Name)
		default:
			q.columns = append(q.columns, c.Name)
		}
	}
}

// ordersBy reports whether a superlative is about the values of a column.
func (q *question) ordersBy(c column) bool {
	return q.order != 0 && len(q.functions) == 0 && q.orderBy == "" && (c.number() && !c.identifier() || c.dated())
}

// ordersGroupsOf reports whether a superlative is about groups: "the customer with the most orders".
func (q *question) ordersGroupsOf(c column) bool {
	return q.order != 0 && len(q.groupBy) == 0 && c.Type == "text" && (q.n > 0 || q.many || len(q.functions) > 0)
}

// readRest takes the words that are left: the names of values that a search has to find, and words that no rule
// understands.
func (q *question) readRest() {
	open := false // the word continues a name
	for i := range q.words {
		w := &q.words[i]
		isName := false
		switch {
		case w.quoted && !w.used:
			q.lookups = append(q.lookups, lookup{text: w.text, quoted: true, negated: q.negated(i)})
		case w.used || w.value > 0 || w.column > 0 || q.readPronoun(i) || isLink(w.lower):
		case changers[w.lower] || strings.Trim(w.lower, "<>=!&+-/") == "" || isNumber(w.text):
			q.unknown = append(q.unknown, w.text)
		case open:
			q.lookups[len(q.lookups)-1].text += " " + w.text
			isName = true
		default:
			q.lookups = append(q.lookups, lookup{text: w.text, negated: q.negated(i)})
			isName = true
		}
		open = isName
	}
	q.readNegations()
}

// readNegations names the negations that are about nothing that the rules know.
func (q *question) readNegations() {
	for _, w := range q.words {
		if negations[w.lower] && !w.used && !w.quoted && w.column == 0 && w.value == 0 {
			q.unknown = append(q.unknown, w.text)
		}
	}
}

// readPronoun reports whether the word at i stands for rows, or asks for what a row says: "when was it".
func (q *question) readPronoun(i int) bool {
	w := q.words[i]
	switch {
	case backwards[w.lower] || w.lower == "it" && len(q.functions) > 0:
		if q.refersBack(i) {
			q.back, q.pronoun = true, w.text
		}
		return true
	case asks[w.lower]:
		relative := i > 0 && (q.words[i-1].used || q.words[i-1].column > 0) && !q.words[i-1].mark // "employees who"
		if !relative && (q.order == 0 || len(q.functions) > 0 || len(q.groupBy) > 0) {
			q.unknown = append(q.unknown, w.text)
		}
		return true
	}
	return false
}

// isLink reports whether a word only connects others. Negations are read with the word that they are about.
func isLink(word string) bool { return fillers[word] || groupWords[word] || negations[word] }

func isNumber(text string) bool {
	_, _, ok := number(text)
	return ok
}

// backwards are words for rows that were named before, and asks are questions that only a row answers.
var (
	backwards = set("them these those they their")
	asks      = set("when who whose")
)

// refersBack reports whether the word at i is about the question before, and not about rows that this one names.
func (q *question) refersBack(i int) bool {
	if q.second || i > 0 && q.words[i-1].lower == "of" {
		return true
	}
	if q.words[i].lower == "it" { // or the file
		return !q.noun && q.verb == ""
	}
	return !slices.ContainsFunc(q.words[:i], func(w word) bool {
		return w.column > 0 || w.value > 0 || w.quoted || w.used && !w.mark && rowNouns[w.stem]
	}) && !q.noun
}
