package offline

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// wanted is a tool to call.
type wanted struct {
	tool      string
	arguments arguments
}

// arguments of a call. In JSON, those that say what the call is about come first, because the page shows them.
type arguments map[string]any

// MarshalJSON writes the file, the text and the figure first.
func (a arguments) MarshalJSON() ([]byte, error) {
	names := slices.SortedFunc(maps.Keys(a), func(x, y string) int {
		return cmp.Or(rank(x)-rank(y), strings.Compare(x, y))
	})
	var b bytes.Buffer
	for _, name := range names {
		value, err := json.Marshal(a[name])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, ",%q:%s", name, value)
	}
	return []byte("{" + strings.TrimPrefix(b.String(), ",") + "}"), nil
}

// rank returns the place of an argument.
func rank(name string) int {
	if i := slices.Index([]string{"resourceId", "text", "orderBy", "period"}, name); i >= 0 {
		return i
	}
	return 9
}

// next returns the tools to call, or the answer.
func (t talk) next() ([]wanted, string) {
	if problem := tooLong(t.question); problem != "" {
		return nil, problem + " Ask for less at once. " + about
	}
	f, text := t.choose()
	if f == nil {
		return nil, text
	}
	if t.images > 0 {
		text = fmt.Sprintf("I cannot see images (there are %d): that needs a language model. About the file: ", t.images)
	}
	questions := t.questions(t.question, *f, t.before)
	var searches []wanted
	for _, q := range questions {
		searches = append(searches, t.resolve(q)...)
	}
	if len(searches) > 0 {
		return searches[:min(len(searches), 6)], text
	}
	var calls []wanted
	var answers []string
	for _, q := range questions {
		q.settle()
		call, refusal := t.call(q)
		if refusal != "" {
			answers = append(answers, refusal)
			continue
		}
		s, made, err := t.made(call)
		if err != nil {
			return nil, text + "I cannot write the call of " + call.tool + "."
		}
		if !made {
			calls = append(calls, call)
			continue
		}
		answers = append(answers, q.answer(t, s))
	}
	return calls, text + strings.Join(answers, "\n\n")
}

// choose picks the file that the question names, or whose columns it names, or the newest.
func (t talk) choose() (*file, string) {
	if len(t.files) == 0 {
		if t.images > 0 {
			return nil, "I cannot see images: that needs a language model. And there is no CSV file in this session yet."
		}
		return nil, "There is no CSV file in this session yet. Attach one, then ask about it. " + about
	}
	best, score := -1, -1
	for i, f := range t.files {
		if f.RowCount == nil {
			continue
		}
		q := question{file: f, words: split(t.question)}
		q.mark()
		n := len(q.found)
		for _, w := range q.words {
			if w.column > 0 {
				n++
			}
		}
		if t.names(f) {
			n += 1000
		}
		if n >= score {
			best, score = i, n
		}
	}
	if best < 0 {
		return nil, "None of the files in this session can be read."
	}
	return &t.files[best], ""
}

// names reports whether the question names a file.
func (t talk) names(f file) bool {
	text := strings.ToLower(t.question)
	name := strings.ToLower(f.Name)
	bare := name[:max(0, strings.LastIndexByte(name, '.'))]
	return strings.Contains(text, name) || bare != "" && slices.ContainsFunc(split(text), func(w word) bool { return w.lower == bare || w.stem == stem(bare) })
}

// other returns a second file that the question names.
func (t talk) other(f file) *file {
	for i, o := range t.files {
		if o.ID != f.ID && o.RowCount != nil && t.names(o) {
			return &t.files[i]
		}
	}
	return nil
}

// maxBack is the maximum number of earlier questions that are read to understand "of them".
const maxBack = 3

// maxWords and maxClauses bound the time that a text takes: each clause is compared with each name of a column.
const (
	maxWords   = 200
	maxClauses = 10
)

// tooLong says why a text is not read.
func tooLong(text string) string {
	words := split(text)
	if len(words) > maxWords {
		return fmt.Sprintf("The question has %s words, and I read at most %d.", separated(float64(len(words)), -1), maxWords)
	}
	if n := len(clauses(words)); n > maxClauses {
		return fmt.Sprintf("There are %d questions in one, and I read at most %d.", n, maxClauses)
	}
	return ""
}

// questions reads a text that may ask several questions. Before are the texts of the user before it.
func (t talk) questions(text string, f file, before []string) []*question {
	var out []*question
	for i, words := range clauses(split(text)) {
		q := understand(words, f, i > 0)
		q.elliptic = i == 0 && q.changes()
		_, n := find(words, 0, functions)
		q.follows = i > 0 && n > 0 && words[0].lower != "how"
		if q.back || q.elliptic {
			switch {
			case len(out) > 0:
				q.prior = out[len(out)-1]
			case len(before) > 0 && tooLong(before[len(before)-1]) != "":
				q.prior = &question{problem: tooLong(before[len(before)-1])}
			case len(before) > 0 && len(t.before)-len(before) < maxBack:
				earlier := t.questions(before[len(before)-1], f, before[:len(before)-1])
				q.prior = earlier[len(earlier)-1]
			}
		}
		// "the number of orders and the total amount in Bern" has one condition for both.
		if i > 0 && q.follows && out[i-1].bare() {
			o := out[i-1]
			o.conditions, o.lookups, o.groupBy, o.period = slices.Clone(q.conditions), slices.Clone(q.lookups), q.groupBy, q.period
		}
		out = append(out, q)
	}
	return out
}

// clauses splits words where a question of its own begins.
func clauses(words []word) [][]word {
	var out [][]word
	begin := 0
	for i, w := range words {
		joint := w.lower == "and" || w.mark && w.text != "!"
		if joint && !w.quoted && asksMore(words[i+1:], w.mark && w.text != ",") && asksSomething(words[begin:i]) {
			out = append(out, words[begin:i])
			begin = i + 1
		}
	}
	return append(out, words[begin:])
}

// asksMore reports whether words begin with a question.
func asksMore(words []word, sentence bool) bool {
	for _, w := range words {
		if intents[w.lower] && !w.quoted {
			return true
		}
		if !fillers[w.lower] && !w.mark {
			return sentence
		}
	}
	return false
}

// asksSomething reports whether words are more than "the minimum" in "the minimum and the maximum of the amount".
func asksSomething(words []word) bool {
	intent, object := false, false
	for i := 0; i < len(words); i++ {
		_, a := find(words, i, functions)
		_, b := find(words, i, superlatives)
		_, c := find(words, i, verbs)
		if n := max(a, b, c); n > 0 {
			intent = true
			i += n - 1
			continue
		}
		object = object || !fillers[words[i].lower] && !words[i].mark
	}
	return intent && object
}

// changes reports whether the question only changes the one before: "and in Bern?"
func (q *question) changes() bool {
	begin := strings.Join(texts(q.words[:min(2, len(q.words))]), " ")
	begin = strings.ToLower(begin)
	if !strings.HasPrefix(begin, "and") && begin != "what about" && begin != "how about" {
		return false
	}
	return len(q.functions) == 0 && q.order == 0 && q.verb == "" && !q.noun && (len(q.conditions) > 0 || len(q.lookups) > 0 || len(q.groupBy) > 0)
}

// bare reports whether a question names nothing but figures.
func (q *question) bare() bool {
	return len(q.functions) > 0 && len(q.conditions) == 0 && len(q.lookups) == 0 && len(q.groupBy) == 0 && q.order == 0 && !slices.ContainsFunc(q.words, func(w word) bool {
		return set("how what which whats what's")[w.lower]
	})
}

// resolve makes conditions of the texts that a search has found, and returns the searches that are still to be made.
func (t talk) resolve(q *question) (searches []wanted) {
	if q.prior != nil {
		searches = t.resolve(q.prior)
	}
	if q.verb == "search" && len(q.lookups) > 0 || q.verb == "describe" {
		return searches
	}
	lookups := q.lookups
	q.lookups = nil
	if len(q.unknown) > 0 || q.problem != "" { // then a search would not help
		for _, l := range lookups {
			q.unknown = append(q.unknown, l.text)
		}
		return searches
	}
	for len(lookups) > 0 {
		l := lookups[0]
		lookups = lookups[1:]
		f, missing := t.search(q.file, l.text)
		if len(missing) > 0 {
			searches = append(searches, missing...)
			q.lookups = append(q.lookups, l)
			continue
		}
		lookups = append(lookups, q.adopt(l, f)...)
	}
	return searches
}

// adopt makes a condition of what a search for a text has found. It returns the words of the text, if they are still to
// be found one by one.
func (q *question) adopt(l lookup, f searched) (words []lookup) {
	c, problem := f.condition(q, l)
	parts := strings.Fields(l.text)
	switch {
	case problem != "":
		q.problem = problem
	case c.Op == "contains":
		q.add(c)
	case c.Column != "":
		q.addValue(c.Column, c.Value, l.negated, true)
	case len(parts) > 1 && len(parts) <= 5 && !l.quoted:
		for _, w := range parts {
			words = append(words, lookup{text: w, negated: l.negated})
		}
	default:
		q.unknown = append(q.unknown, l.text)
	}
	q.columns = slices.DeleteFunc(q.columns, func(name string) bool { return name == c.Column })
	return words
}

// search returns what the searches for a text found, also in the singular, and the searches that are missing.
func (t talk) search(f file, text string) (best searched, missing []wanted) {
	variants := []string{text}
	if s := stem(text); s != strings.ToLower(text) {
		variants = append(variants, s)
	}
	for _, v := range variants {
		call := wanted{"searchCsvText", arguments{"resourceId": f.ID, "text": v, "limit": 1}}
		s, made, err := t.made(call)
		if err != nil || !made {
			missing = append(missing, call)
			continue
		}
		var in searched
		if !s.failed && json.Unmarshal([]byte(s.answer), &in) == nil && in.equal() >= best.equal() && len(in.In) > 0 {
			best, best.text = in, v
		}
	}
	return best, missing
}

// searched is what a search has found.
type searched struct {
	text string
	In   []struct {
		Column string `json:"column"`
		Rows   int64  `json:"rows"`
		Equal  int64  `json:"equal"`
	} `json:"in"`
	Rows    [][]any `json:"rows"`
	Matched int64   `json:"matched"`
}

func (s searched) equal() (n int64) {
	for _, in := range s.In {
		n += in.Equal
	}
	return n
}

// condition returns the condition for what was found: a column whose value it is, or for a quoted text, the column
// that contains it most often.
func (s searched) condition(q *question, l lookup) (condition, string) {
	var columns []string
	most, contains := int64(0), ""
	for _, in := range s.In {
		if in.Equal > 0 {
			columns = append(columns, in.Column)
		}
		if in.Rows > most {
			most, contains = in.Rows, in.Column
		}
	}
	if named := slices.IndexFunc(columns, func(c string) bool { return slices.Contains(q.columns, c) }); named >= 0 {
		columns = columns[named : named+1]
	}
	switch {
	case len(columns) == 1:
		return condition{Column: columns[0], Op: "eq", Value: s.text}, ""
	case len(columns) > 1:
		return condition{}, fmt.Sprintf("%q is a value of the columns %s. Name the column, such as: %s is %s.", l.text, strings.Join(columns, " and "), columns[0], l.text)
	case l.quoted && contains != "" && !l.negated:
		return condition{Column: contains, Op: "contains", Value: s.text}, ""
	}
	return condition{}, ""
}

// settle merges the question with the one before it, if it refers to it.
func (q *question) settle() {
	p := q.prior
	switch {
	case p == nil && q.back:
		q.unknown = append(q.unknown, q.pronoun)
		return
	case p == nil:
		return
	}
	p.settle()
	q.prior = nil
	switch {
	case len(p.unknown) > 0 || p.problem != "":
		q.problem = "I did not understand the question before, so I do not know which rows are meant. Ask again in one sentence."
	case q.elliptic:
		merged := *p
		merged.words, merged.unknown, merged.problem = q.words, q.unknown, q.problem
		merged.conditions = slices.DeleteFunc(slices.Clone(p.conditions), func(c condition) bool {
			return slices.ContainsFunc(q.conditions, func(o condition) bool { return o.Column == c.Column })
		})
		merged.conditions = append(merged.conditions, q.conditions...)
		if len(q.groupBy) > 0 {
			merged.groupBy, merged.period = q.groupBy, q.period
		}
		*q = merged
	case p.order != 0 || p.n > 0 || len(p.groupBy) > 0:
		q.problem = "I cannot compute with the rows or groups of the answer before. Ask again in one sentence."
	default:
		q.conditions = append(slices.Clone(p.conditions), q.conditions...)
	}
}

// made returns the call that was made with these arguments.
func (t talk) made(w wanted) (step, bool, error) {
	arguments, err := json.Marshal(w.arguments)
	if err != nil {
		return step{}, false, err
	}
	for _, s := range t.steps {
		if s.call.Name == w.tool && sameJSON(s.call.Arguments, arguments) {
			return s, true, nil
		}
	}
	return step{}, false, nil
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, err1 := json.Marshal(x)
	q, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && string(p) == string(q)
}

// count reads a small number.
func count(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
