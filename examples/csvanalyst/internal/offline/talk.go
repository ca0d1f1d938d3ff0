package offline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// These bound the time that a text takes.
const (
	maxWords     = 200
	maxSentences = 10
	maxBack      = 3 // earlier questions that are read to understand "of them"
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
		c, refusal := q.call()
		switch {
		case refusal != "":
			answers = append(answers, refusal)
			continue
		case len(calls) < len(t.steps): // the tools answer in the order of the calls
			answers = append(answers, q.answer(t.steps[len(calls)]))
		}
		calls = append(calls, c)
	}
	return calls[min(len(calls), len(t.steps)):], text + strings.Join(answers, "\n\n")
}

// choose picks the file that the question names, or whose columns it names, or the newest.
func (t talk) choose() (best *file, problem string) {
	switch {
	case len(t.files) == 0 && t.images > 0:
		return nil, "I cannot see images: that needs a language model. And there is no CSV file in this session yet."
	case len(t.files) == 0:
		return nil, "There is no CSV file in this session yet. Attach one, then ask about it. " + about
	}
	problem = "None of the files in this session can be read."
	text, most := t.asked[len(t.asked)-1], -1
	for i := range t.files {
		f, n := &t.files[i], 0
		if f.RowCount == nil {
			continue
		}
		for _, tok := range newLexer(f).tokens(text[:min(len(text), 1000)]) {
			switch {
			case strings.EqualFold(tok.text, f.Name) || stem(tok.text) == stem(f.bareName()):
				n += 1000
			case tok.column != nil:
				n++
			}
		}
		if n >= most {
			best, most, problem = f, n, ""
		}
	}
	return best, problem
}

// questions reads a text of the user. It may have several questions.
func (t talk) questions(l *lexer, at int) (out []*question, problem string) {
	if n := len(split(t.asked[at])); n > maxWords {
		return nil, fmt.Sprintf("The question has %s words, and I read at most %d.", separated(float64(n), -1), maxWords)
	}
	parts := sentences(l.tokens(t.asked[at]))
	if len(parts) > maxSentences {
		return nil, fmt.Sprintf("There are %d questions in one, and I read at most %d.", len(parts), maxSentences)
	}
	for i, tokens := range parts {
		q := understand(l.file, tokens)
		switch {
		case q.back == "" && !q.goesOn():
		case i > 0:
			q.prior = out[i-1]
		default:
			q.prior = t.before(l, at)
		}
		if q.prior == nil && strings.EqualFold(q.back, "it") { // the file
			q.back = ""
		}
		if q.goesOn() {
			q = q.again()
		}
		q.follow()
		out = append(out, q)
	}
	return out, ""
}

// before returns the last question of the texts before this one, or nil.
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

// sentences cuts tokens behind the marks that end sentences.
func sentences(tokens []token) (out [][]token) {
	begin := 0
	for i, t := range tokens {
		if t.kind == mark && i > begin && i+1 < len(tokens) {
			out = append(out, tokens[begin:i])
			begin = i + 1
		}
	}
	return append(out, tokens[begin:])
}

// follow adds the conditions of the question before, if the question refers to its rows.
func (q *question) follow() {
	p := q.prior
	switch {
	case q.back == "":
	case p == nil:
		q.rejected = append(q.rejected, q.back)
	case len(p.rejected) > 0 || p.problem != "":
		q.problem = "I did not understand the question before, so I do not know which rows are meant. Ask again in one sentence."
	case len(p.ends)+p.n+len(p.groups) > 0:
		q.problem = "I cannot compute with the rows or groups of the answer before. Ask again in one sentence."
	default:
		own := q.conditions
		q.conditions = slices.Clone(p.conditions)
		for _, o := range own {
			q.add(o)
		}
	}
	q.back = ""
}

// goesOn reports whether a question has only other conditions for the question before: "and in Bern?".
func (q *question) goesOn() bool {
	return len(q.tokens) > 0 && q.tokens[0].kind == joint && len(q.figures)+len(q.ends)+len(q.groups)+len(q.columns)+len(q.rejected) == 0 &&
		q.verb == "" && !q.noun && q.back == ""
}

// again returns the question before with the conditions of this one, if each takes the place of one on the same column.
// Else it returns this question, which has no answer.
func (q *question) again() *question {
	p := q.prior
	if p == nil || len(p.rejected) > 0 || p.problem != "" || q.problem != "" || len(q.conditions) == 0 {
		return q
	}
	next := *p
	next.conditions, next.figures, next.ends = slices.Clone(p.conditions), slices.Clone(p.figures), slices.Clone(p.ends)
	for _, o := range q.conditions {
		same := func(c csvdb.Condition) bool { return c.Column == o.Column }
		at := slices.IndexFunc(p.conditions, same)
		if at < 0 || p.conditions[at].Op != o.Op || slices.ContainsFunc(p.conditions[at+1:], same) {
			return q
		}
		next.conditions[at] = o
	}
	return &next
}
