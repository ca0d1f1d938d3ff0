package offline

import (
	"strconv"
	"strings"
)

// A condition is what a row has to fulfil, in the form of the tools.
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

// A question as the rules understand it.
type question struct {
	file       file
	verb       string // "compare", "describe", "search", "list", "figure"; empty if there is none
	function   string
	columns    []string // named, in order
	groupBy    string
	order      int // 1 for the highest first, -1 for the lowest
	most       bool
	n          int
	conditions []condition
	values     []string // of columns that the question does not name
}

// verbs are words that say what is wanted, those that count most first.
var verbs = []struct{ verb, words string }{
	{"compare", "compare comparison versus vs difference"},
	{"search", "find search mention mentions look"},
	{"describe", "describe columns fields statistics stats summary summarise summarize overview structure schema"},
	{"list", "show list display print rows records give"},
}

// functions are phrases for figures, those that count most first.
var functions = []struct{ phrase, function string }{
	{"how many different", "count_distinct"},
	{"how many distinct", "count_distinct"},
	{"how many unique", "count_distinct"},
	{"number of different", "count_distinct"},
	{"number of unique", "count_distinct"},
	{"different", "count_distinct"},
	{"distinct", "count_distinct"},
	{"unique", "count_distinct"},
	{"standard deviation", "stddev"},
	{"average", "avg"},
	{"mean", "avg"},
	{"avg", "avg"},
	{"median", "median"},
	{"total", "sum"},
	{"sum", "sum"},
	{"how much", "sum"},
	{"altogether", "sum"},
	{"how many", "count"},
	{"number of", "count"},
	{"count", "count"},
}

// superlatives say which end is wanted.
var superlatives = map[string]int{
	"highest": 1, "largest": 1, "biggest": 1, "greatest": 1, "maximum": 1, "max": 1, "most": 1, "top": 1, "best": 1, "latest": 1, "longest": 1, "oldest": 1,
	"lowest": -1, "smallest": -1, "least": -1, "minimum": -1, "min": -1, "fewest": -1, "bottom": -1, "worst": -1, "earliest": -1, "cheapest": -1, "shortest": -1,
}

var comparisons = []struct{ phrase, op string }{
	{"greater than or equal to", "ge"},
	{"less than or equal to", "le"},
	{"is not empty", "not_empty"},
	{"is empty", "empty"},
	{"is missing", "empty"},
	{"greater than", "gt"},
	{"more than", "gt"},
	{"larger than", "gt"},
	{"higher than", "gt"},
	{"less than", "lt"},
	{"lower than", "lt"},
	{"fewer than", "lt"},
	{"smaller than", "lt"},
	{"at least", "ge"},
	{"at most", "le"},
	{"starts with", "starts_with"},
	{"starting with", "starts_with"},
	{"is not", "ne"},
	{"not", "ne"},
	{"between", "between"},
	{"contains", "contains"},
	{"containing", "contains"},
	{"above", "gt"},
	{"over", "gt"},
	{"after", "gt"},
	{"since", "ge"},
	{"below", "lt"},
	{"under", "lt"},
	{"before", "lt"},
	{">=", "ge"},
	{"<=", "le"},
	{"!=", "ne"},
	{">", "gt"},
	{"<", "lt"},
	{"=", "eq"},
	{"equals", "eq"},
	{"is", "eq"},
	{"are", "eq"},
	{"was", "eq"},
}

// noise are words that are no values.
var noise = set(`a an the of in on at for to from with by per each every and or is are was were be been do does did has have had which what who whose
	how many much there it its this that these those all any me my i you we us please can could would tell give show list display print find search compare
	row rows record records entry entries line lines item items file files data table csv sheet where when than then as between versus vs difference different
	distinct unique total sum average mean median count number amount value values most least first last top bottom according grouped group only named called
	look mention mentions describe column columns field fields statistics stats summary summarise summarize overview structure schema not no altogether
	more less greater higher lower fewer larger smaller over above under below after before since least standard deviation image picture attached`)

// understand makes a question of what was asked about a file.
func understand(text string, f file) question {
	q := question{file: f}
	words := split(text)
	mark(words, f.Columns)
	for _, s := range append(stems(strings.TrimSuffix(f.Name, ".csv")), strings.ToLower(f.Name)) {
		for i := range words {
			words[i].used = words[i].used || words[i].column == 0 && (words[i].stem == s || strings.EqualFold(words[i].text, f.Name))
		}
	}
	q.readVerb(words)
	readNouns(words)
	q.readFunction(words)
	q.readConditions(words)
	q.readGroup(words)
	q.readOrder(words)
	for i, w := range words {
		if w.column > 0 && !w.used && (i == 0 || words[i-1].column != w.column) {
			q.columns = append(q.columns, f.Columns[w.column-1].Name)
		}
	}
	q.readValues(words)
	if q.function != "" && q.verb != "compare" {
		q.verb = "figure"
	}
	return q
}

func (q *question) readVerb(words []word) {
	for _, v := range verbs {
		these := set(v.words)
		for _, w := range words {
			if q.verb == "" && !w.quoted && w.column == 0 && these[strings.ToLower(w.text)] {
				q.verb = v.verb
			}
		}
	}
	if q.verb == "" && len(words) > 1 && strings.EqualFold(words[0].text, "where") {
		q.verb = "search"
	}
}

// readNouns leaves out what the rows are called: "how many orders", "list customers".
func readNouns(words []word) {
	before := set("many most fewest show list display print count give")
	for i := 1; i < len(words); i++ {
		w := &words[i]
		ofNumber := i > 1 && phrase(words, i-2, "number of") > 0
		if (ofNumber || before[strings.ToLower(words[i-1].text)]) && w.column == 0 && !w.quoted && w.text == strings.ToLower(w.text) && w.text[0] >= 'a' {
			w.used = !noise[w.text] && functionOf(words[i:]) == ""
		}
	}
}

// functionOf is that of a phrase that words begin with.
func functionOf(words []word) string {
	for _, f := range functions {
		if phrase(words, 0, f.phrase) > 0 {
			return f.function
		}
	}
	return ""
}

func (q *question) readFunction(words []word) {
	for _, f := range functions {
		for i := range words {
			if n := phrase(words, i, f.phrase); n > 0 && q.function == "" && words[i].column == 0 {
				q.function = f.function
			}
		}
	}
}

// readConditions finds comparisons with a value, and the column before or after them.
func (q *question) readConditions(words []word) {
	for i := 0; i < len(words); i++ {
		for _, c := range comparisons {
			n := phrase(words, i, c.phrase)
			if n == 0 || words[i].used {
				continue
			}
			if used := q.compare(words, i, n, c.op); used > 0 {
				for j := range used {
					words[i+j].used = true
				}
				break
			}
		}
	}
}

// compare reads a comparison at i whose phrase has n words, and returns how many words
// it is, zero if it is none.
func (q *question) compare(words []word, i, n int, op string) int {
	before, at := subject(words, i)
	next := i + n
	if op == "empty" || op == "not_empty" {
		if at == 0 {
			return 0
		}
		q.conditions = append(q.conditions, condition{Column: q.file.Columns[at-1].Name, Op: op})
		use(words[:before+1])
		return n
	}
	if next >= len(words) || !means(words[next], op, at) {
		return 0
	}
	value, digits := number(words[next].text)
	if at == 0 {
		if at = q.numberColumn(words); at == 0 || !digits {
			return 0
		}
	} else {
		use(words[:before+1])
	}
	c := q.file.Columns[at-1]
	if digits = digits && c.number(); !digits {
		value = words[next].text
	}
	if op == "between" {
		return q.between(words, next, c, value) - i
	}
	next++
	if !digits {
		next += capitals(words[next-1:])
		for _, w := range words[i+n+1 : next] {
			value += " " + w.text
		}
	}
	q.conditions = append(q.conditions, condition{Column: c.Name, Op: op, Value: value})
	return next - i
}

// capitals counts the words that belong to the first: New York.
func capitals(words []word) (n int) {
	for n+1 < len(words) && capital(words[n]) && capital(words[n+1]) {
		n++
	}
	return n
}

// use marks the words of the column that words end with.
func use(words []word) {
	column := words[len(words)-1].column
	for i := len(words) - 1; i >= 0 && words[i].column == column; i-- {
		words[i].used = true
	}
}

// subject is the column before a comparison, and where it is: "the amount is over 10".
func subject(words []word, i int) (before, column int) {
	before = i - 1
	if before > 0 && set("is are was were be")[strings.ToLower(words[before].text)] {
		before--
	}
	if before < 0 {
		return before, 0
	}
	return before, words[before].column
}

// means reports whether "is" and "not" compare a column with a value here: they are
// words of any sentence, too.
func means(value word, op string, column int) bool {
	if op != "eq" && op != "ne" {
		return true
	}
	return column > 0 && value.column == 0 && (value.quoted || !noise[strings.ToLower(value.text)])
}

// between reads the second of two values, and returns where it ends.
func (q *question) between(words []word, at int, c column, first string) int {
	if at+2 >= len(words) || !strings.EqualFold(words[at+1].text, "and") {
		return 0
	}
	second := words[at+2].text
	if plain, ok := number(second); ok && c.number() {
		second = plain
	}
	q.conditions = append(q.conditions, condition{Column: c.Name, Op: "between", Values: []string{first, second}})
	return at + 3
}

func capital(w word) bool {
	return !w.quoted && w.column == 0 && w.text != "" && strings.ToUpper(w.text[:1]) == w.text[:1] && w.text[0] >= 'A'
}

// numberColumn is the column of numbers that a question names, or the only one.
func (q *question) numberColumn(words []word) int {
	for _, w := range words {
		if w.column > 0 && q.file.Columns[w.column-1].number() {
			return w.column
		}
	}
	only := 0
	for i, c := range q.file.Columns {
		if c.number() && stem(c.Name) != "id" && !strings.HasSuffix(strings.ToLower(c.Name), "_id") {
			if only > 0 {
				return 0
			}
			only = i + 1
		}
	}
	return only
}

// readGroup finds "by city", "per city", "for each city", "which city has".
func (q *question) readGroup(words []word) {
	before := set("by per each every which")
	for i := 1; i < len(words) && q.groupBy == ""; i++ {
		first := strings.ToLower(words[i-1].text)
		if words[i].column == 0 || words[i].used || !before[first] && (first != "what" || words[i-1].quoted) {
			continue
		}
		// "the highest by amount" is an order and no group.
		if first == "by" && q.function == "" && q.file.Columns[words[i].column-1].number() {
			continue
		}
		q.groupBy = q.file.Columns[words[i].column-1].Name
		for j := i; j < len(words) && words[j].column == words[i].column; j++ {
			words[j].used = true
		}
	}
}

func (q *question) readOrder(words []word) {
	for i, w := range words {
		text := strings.ToLower(w.text)
		if o := superlatives[text]; o != 0 && q.order == 0 && !w.used && w.column == 0 {
			q.order, q.most = o, text == "most" || text == "fewest" || text == "least"
		}
		if i > 0 && q.n == 0 && !w.used && set("top bottom first last highest lowest largest smallest show list")[strings.ToLower(words[i-1].text)] {
			if n, err := strconv.Atoi(w.text); err == nil && n > 0 {
				q.n, words[i].used = n, true
			}
		}
	}
}

// readValues takes what is left: words that are no column, and no noise.
func (q *question) readValues(words []word) {
	open := false
	for _, w := range words {
		text := strings.ToLower(w.text)
		takes := w.quoted || !w.used && w.column == 0 && !noise[text] && superlatives[text] == 0 && strings.Trim(text, "<>=!") != ""
		if !takes || w.used {
			open = false
			continue
		}
		if open && !w.quoted {
			q.values[len(q.values)-1] += " " + w.text
		} else {
			q.values = append(q.values, w.text)
		}
		open = !w.quoted
	}
}
