package research

import (
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

func (t topic) title() string { return strings.ToUpper(t.name[:1]) + t.name[1:] }

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

// passages returns the passages to show the model with a question. A document seldom has the words of the user, so
// passages also looks for the words of the question's topic. If it finds nothing, or the question is about the
// whole document, it returns the first passages.
func passages(x *document.Index, question string) []document.Passage {
	asked := document.Words(question)
	var topic topic
	for _, t := range topics {
		if slices.ContainsFunc(document.Words(t.name+" "+t.words), func(w string) bool { return slices.Contains(asked, w) }) {
			topic = t
			break
		}
	}
	shown := x.Find(question, topic.words, topic.pattern, 8)
	if len(shown) == 0 || whole.MatchString(question) {
		return x.First(6)
	}
	return shown
}

// whole matches questions about the document as a whole.
var whole = regexp.MustCompile(`(?i)\b(document|text|file|this|it) about\b|\bsummar(y|i[sz]e)\b`)
