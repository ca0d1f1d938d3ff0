package offline

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of a text, which bound the time to read it.
const (
	maxWords     = 200
	maxSentences = 10
)

// next returns the tool calls that have no result yet, and the text of the answers so far.
func (t talk) next() ([]call, string) {
	text := ""
	if t.images > 0 {
		text = fmt.Sprintf("I cannot see images (there are %d): that needs a language model. ", t.images)
	}
	if len(t.files) == 0 {
		return nil, text + "There is no CSV file in this session yet. Attach one, then ask about it. " + about
	}
	questions := t.questions()
	if questions == nil {
		return nil, text + "None of the files in this session can be read."
	}
	var calls []call
	var answers []string
	for _, q := range questions {
		c := q.call()
		switch {
		case q.problem != "":
			answers = append(answers, q.problem)
			continue
		case len(calls) < len(t.steps): // the tools answer in the order of the calls
			answers = append(answers, q.answer(t.steps[len(calls)]))
		}
		calls = append(calls, c)
	}
	return calls[min(len(calls), len(t.steps)):], text + strings.Join(answers, "\n\n")
}

// questions reads the last message of the user. It is about the newest file for which the rules understand all
// questions, or else about the newest file that can be read. If no file can be read, questions returns nil.
func (t talk) questions() (newest []*question) {
	for _, f := range slices.Backward(t.files) {
		if f.RowCount == nil {
			continue
		}
		questions := t.about(newLexer(&f))
		if !slices.ContainsFunc(questions, func(q *question) bool { return q.problem != "" }) {
			return questions
		}
		if newest == nil {
			newest = questions
		}
	}
	return newest
}

// about reads the questions about one file in the last message of the user. "Of them" stands for the rows of the
// previous question, which may be in an earlier message.
func (t talk) about(l *lexer) []*question {
	last := len(t.asked) - 1
	out := l.questions(t.asked[last])
	for i, q := range out {
		switch {
		case !q.refers:
		case i > 0:
			q.follow(out[i-1])
		case last > 0:
			earlier := l.questions(t.asked[last-1])
			q.follow(earlier[len(earlier)-1])
		default:
			q.doubt("I do not know which rows are meant. Ask in one sentence.")
		}
	}
	return out
}

// questions reads a text, which may have several questions.
func (l *lexer) questions(text string) (out []*question) {
	if n := len(split(text)); n > maxWords {
		return []*question{{problem: fmt.Sprintf("The question has %s words, and I read at most %d. Ask for less at once. ", separated(float64(n)), maxWords) + about}}
	}
	parts := sentences(l.tokens(text))
	if len(parts) > maxSentences {
		return []*question{{problem: fmt.Sprintf("There are %d questions in one, and I read at most %d. Ask for less at once. ", len(parts), maxSentences) + about}}
	}
	for _, tokens := range parts {
		out = append(out, understand(l.file, tokens))
	}
	return out
}

// sentences splits tokens at the marks that end sentences.
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

// follow adds the conditions of the previous question p.
func (q *question) follow(p *question) {
	switch {
	case p.problem != "" || p.refers && len(p.conditions) == 0:
		q.doubt("I did not understand the question before, so I do not know which rows are meant. Ask again in one sentence.")
	case p.end != nil || p.n > 0 || len(p.groups) > 0 || p.describes:
		q.doubt("I cannot compute with the rows or groups of the answer before. Ask again in one sentence.")
	}
	own := q.conditions
	q.conditions = slices.Clone(p.conditions)
	for _, o := range own {
		q.add(o)
	}
}
