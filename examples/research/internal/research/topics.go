package research

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/research/internal/document"
)

// A topic is something that every request for proposals should say.
type topic struct {
	name, question string
	// words and pattern find the passages to show the model.
	words   string
	pattern *regexp.Regexp
}

// begin asks for an answer that says what it is about.
func (t topic) begin() string {
	return fmt.Sprintf("\nBegin your answer with %q.\n", strings.ToUpper(t.name[:1])+t.name[1:]+":")
}

var topics = []topic{
	{
		"purpose", "What is this document about, and what does it want?",
		"purpose introduction overview background objective goal aim seek invite request need project summary", nil,
	},
	{
		"requirements", "What must be done, delivered or fulfilled?",
		"requirement must shall required deliver deliverable scope provide support comply minimum mandatory",
		regexp.MustCompile(`(?i)\b(must|shall|required|requires?)\b`),
	},
	{
		"deadlines", "Which dates and deadlines are there?",
		"deadline date due schedule timeline milestone submit begin start end close closing week month day",
		regexp.MustCompile(`(?i)\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b(january|february|march|april|june|july|august|september|october|november|december)\b|\bmay \d|\b\d+ (days?|weeks?|months?)\b`),
	},
	{
		"budget", "What is said about money?",
		"budget money cost price fee payment fund funding amount total euro dollar pay invoice worth value expensive",
		regexp.MustCompile(`(?i)[€$£]\s?\d|\b\d[\d.,]*\s?(euros?|eur|usd|dollars?|gbp|chf)\b|\b(eur|usd|gbp|chf)\s?\d`),
	},
	{
		"evaluation", "How will an answer be judged?",
		"evaluation evaluate criteria criterion score scoring weight award select selection judge points experience reference",
		regexp.MustCompile(`\d\s?%|(?i)\bpoints?\b`),
	},
	{
		"submission", "To whom, and how, is an answer to be sent?",
		"submit submission send contact email address question format proposal copy page portal",
		regexp.MustCompile(`[\w.+-]+@[\w-]+\.[\w.]+|https?://`),
	},
}

// search is what to look for to answer a question: its words, and those of the topic
// that it is about, since a document seldom uses the user's.
func search(question string) (words string, pattern *regexp.Regexp) {
	words = question
	asked := document.Words(question)
	for _, t := range topics {
		known := document.Words(t.name + " " + t.words)
		if slices.ContainsFunc(asked, func(w string) bool { return slices.ContainsFunc(known, func(k string) bool { return alike(w, k) }) }) {
			return words + " " + t.words, t.pattern
		}
	}
	return words, nil
}

// alike takes "submitted" for "submit".
func alike(a, b string) bool {
	return a == b || len(a) >= 5 && strings.HasPrefix(b, a) || len(b) >= 5 && strings.HasPrefix(a, b)
}
