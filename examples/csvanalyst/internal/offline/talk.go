package offline

import (
	"fmt"
	"slices"
	"strings"
)

// These bound the time that a text takes.
const (
	maxWords   = 200
	maxClauses = 10
	maxBack    = 3 // earlier questions that are read to understand "of them"
)

// next returns the tools to call, or the answer.
func (t talk) next() ([]call, string) {
	f, text := t.choose()
	if f == nil {
		return nil, text
	}
	if t.images > 0 {
		text = fmt.Sprintf("I cannot see images (there are %d): that needs a language model. About the file: ", t.images)
	}
	questions, problem := t.questions(newLexer(f), len(t.asked)-1)
	if problem != "" {
		return nil, problem + " Ask for less at once. " + about
	}
	var calls []call
	var answers []string
	for _, q := range questions {
		q.follow()
		c, refusal := q.call()
		s, made := t.made(c)
		switch {
		case refusal != "":
			answers = append(answers, refusal)
		case made:
			answers = append(answers, q.answer(s))
		default:
			calls = append(calls, c)
		}
	}
	return calls, text + strings.Join(answers, "\n\n")
}

// choose picks the file that the question names, or whose columns it names, or the newest.
func (t talk) choose() (best *file, problem string) {
	if len(t.files) == 0 {
		if t.images > 0 {
			return nil, "I cannot see images: that needs a language model. And there is no CSV file in this session yet."
		}
		return nil, "There is no CSV file in this session yet. Attach one, then ask about it. " + about
	}
	text, most := t.asked[len(t.asked)-1], -1
	words := split(text)
	for i := range t.files {
		f := &t.files[i]
		if f.RowCount == nil {
			continue
		}
		named := slices.ContainsFunc(words, func(w word) bool { return w.stem == stem(f.bareName()) })
		n := map[bool]int{true: 1000}[named || strings.Contains(strings.ToLower(text), strings.ToLower(f.Name))]
		if len(t.files) > 1 && len(words) <= maxWords {
			for _, tok := range newLexer(f).tokens(text) {
				n += map[bool]int{true: 1}[tok.column != nil]
			}
		}
		if n >= most {
			best, most = f, n
		}
	}
	if best == nil {
		return nil, "None of the files in this session can be read."
	}
	return best, ""
}

// questions reads the text at a place of what was asked, which may have several questions.
func (t talk) questions(l *lexer, at int) (out []*question, problem string) {
	if n := len(split(t.asked[at])); n > maxWords {
		return nil, fmt.Sprintf("The question has %s words, and I read at most %d.", separated(float64(n), -1), maxWords)
	}
	parts := clauses(l.tokens(t.asked[at]))
	if len(parts) > maxClauses {
		return nil, fmt.Sprintf("There are %d questions in one, and I read at most %d.", len(parts), maxClauses)
	}
	for i, tokens := range parts {
		q := understand(l.file, tokens)
		q.again = q.again && i == 0 && q.changes()
		switch {
		case i > 0 && q.back != "":
			q.prior = out[i-1]
		case i > 0 && parts[i-1][len(parts[i-1])-1].kind == joint && q.lacks(out[i-1].conditions):
			q.doubt("I do not know whether \"" + tokens[0].text + "\" is about the same rows. Ask for it alone.")
		case q.back != "" || q.again:
			q.prior = t.before(l, at)
		}
		if q.prior == nil && strings.EqualFold(q.back, "it") { // the file
			q.back = ""
		}
		out = append(out, q)
	}
	return out, ""
}

// before returns the last question of the text before the one at a place, or nil.
func (t talk) before(l *lexer, at int) *question {
	if at == 0 || len(t.asked)-at > maxBack {
		return nil
	}
	earlier, problem := t.questions(l, at-1)
	if problem != "" {
		return &question{problem: problem}
	}
	return earlier[len(earlier)-1]
}

// lacks reports whether the question has no condition of a column that others are about.
func (q *question) lacks(others []condition) bool {
	return slices.ContainsFunc(others, func(o condition) bool {
		return !slices.ContainsFunc(q.conditions, func(c condition) bool { return c.Column == o.Column })
	})
}

// clauses cuts tokens where a question of its own begins: after a sentence, and at "and" before a word such as "total"
// if the tokens before it are more than figures and columns.
func clauses(tokens []token) (out [][]token) {
	begin := 0
	for i, t := range tokens {
		end := t.kind == mark && i+1 < len(tokens)
		if t.kind == joint && t.op == "and" {
			end = asks(tokens[i+1:]) && slices.ContainsFunc(tokens[begin:i], selects)
		}
		if end && i > begin {
			out = append(out, tokens[begin:i+1])
			begin = i + 1
		}
	}
	return append(out, tokens[begin:])
}

// selects reports whether a token selects or groups rows.
func selects(t token) bool {
	switch t.kind {
	case function, superlative, rowNoun, joint, verb, mark:
		return false
	case columnName:
		return groupWords[t.before] || t.column.Type == "boolean"
	}
	return true
}

// asks reports whether tokens begin with a question, which is more than "how many".
func asks(tokens []token) bool {
	if len(tokens) == 0 || tokens[0].kind != function && tokens[0].kind != superlative && tokens[0].kind != verb && !groupWords[tokens[0].before] {
		return false
	}
	return slices.ContainsFunc(tokens[1:], func(t token) bool { return t.kind != mark && t.kind != back })
}

// changes reports whether the question only changes the one before: "and in Bern?"
func (q *question) changes() bool {
	return len(q.figures)+len(q.ends) == 0 && q.verb == "" && !q.noun && len(q.conditions)+len(q.groups) > 0
}

// follow merges the question with the one before it, if it refers to that.
func (q *question) follow() {
	p := q.prior
	q.prior = nil
	switch {
	case p == nil && q.back != "":
		q.rejected = append(q.rejected, q.back)
		return
	case p == nil:
		return
	}
	p.follow()
	switch {
	case len(p.rejected) > 0 || p.problem != "":
		q.problem = "I did not understand the question before, so I do not know which rows are meant. Ask again in one sentence."
	case q.again:
		merged := *p
		merged.tokens, merged.rejected, merged.problem = q.tokens, q.rejected, q.problem
		merged.conditions = slices.Clone(q.conditions)
		for _, o := range p.conditions {
			if q.lacks([]condition{o}) {
				merged.conditions = append(merged.conditions, o)
			}
		}
		if len(q.groups) > 0 {
			merged.groups, merged.period = q.groups, q.period
		}
		*q = merged
	case len(p.ends)+p.n > 0 || len(p.groups) > 0 && p.verb != "compare":
		q.problem = "I cannot compute with the rows or groups of the answer before. Ask again in one sentence."
	default:
		q.conditions = append(slices.Clone(p.conditions), q.conditions...)
	}
}

// made returns the call that was made with these arguments.
func (t talk) made(c call) (step, bool) {
	for _, s := range t.steps {
		if s.call.Name == c.tool && sameJSON(s.call.Arguments, c.arguments.json()) {
			return s, true
		}
	}
	return step{}, false
}
