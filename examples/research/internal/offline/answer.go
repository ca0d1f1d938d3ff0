package offline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/research/internal/document"
)

// nothing is what is said when no sentence fits.
const nothing = "The document does not say."

// most is how many sentences an answer has.
const most = 5

// A sentence of a passage, and where that is.
type sentence struct{ place, text string }

var (
	passage = regexp.MustCompile(`(?m)^\[(\d+(?:-\d+)?)\] (?:\(([^)\n]*)\) )?(.*)$`)
	asked   = regexp.MustCompile(`(?m)^Question: (.*)$`)
	mark    = regexp.MustCompile(`^([-*+•]|\d+[.)]|\([a-z0-9]+\))\s+`) // of an entry of a list
	begins  = regexp.MustCompile(`(?m)^Begin your answer with "([^"]*)"`)
)

// answer answers a prompt: about findings, or about passages.
func answer(prompt string) string {
	if strings.HasPrefix(prompt, "Task: ") {
		return sought(prompt)
	}
	question := ""
	if m := asked.FindStringSubmatch(prompt); m != nil {
		question = m[1]
	}
	var all []sentence
	for _, m := range passage.FindAllStringSubmatch(prompt, -1) {
		if strings.Contains(m[3], "```") {
			continue // code, and no sentences
		}
		for _, s := range document.Sentences(m[3]) {
			all = append(all, sentence{m[1], s})
		}
	}
	var lines []string
	if m := begins.FindStringSubmatch(prompt); m != nil {
		lines = append(lines, m[1])
	}
	best := pick(question, all)
	for _, s := range best {
		lines = append(lines, fmt.Sprintf("- %s [%s]", clip(mark.ReplaceAllString(s.text, "")), s.place))
	}
	if len(best) == 0 {
		lines = append(lines, nothing)
	}
	return strings.Join(lines, "\n")
}

// A kind is a sort of question, known by its words, and what answers it looks like.
type kind struct{ question, answer *regexp.Regexp }

var kinds = []kind{
	{regexp.MustCompile(`(?i)\b(dates?|deadlines?|when|due|how long|schedule)\b`), regexp.MustCompile(
		`(?i)\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}(st|nd|rd|th)?\.? (january|february|march|april|may|june|july|august|september|october|november|december)\b|\b(january|february|march|april|may|june|july|august|september|october|november|december) \d|\b(within|in|after|by|before|until) (\w+ )?\d+ (minutes?|hours?|days?|weeks?|months?|years?)\b|\bdeadline\b`)},
	{regexp.MustCompile(`(?i)\b(money|budget|costs?|prices?|fees?|pay|paid|payment|how much)\b`), regexp.MustCompile(
		`(?i)[€$£]\s?\d|\b\d[\d.,]*\s?(million|thousand)?\s?(euros?|eur|usd|dollars?|gbp|chf)\b|\b(eur|usd|gbp|chf)\s?\d|\b(budget|price|fee|payment|invoice)s?\b`)},
	{regexp.MustCompile(`(?i)\b(judged|evaluat\w*|criteria|criterion|scor\w*|award\w*)\b`), regexp.MustCompile(
		`\d\s?%|(?i)\b(criteria|criterion|points?|score[sd]?|weight(ed|ing)?|evaluat(ed|ion)|award(ed)?)\b`)},
	{regexp.MustCompile(`(?i)\b(whom|contact|submit(ted)?|sent|send|address|email)\b`), regexp.MustCompile(
		`[\w.+-]+@[\w-]+\.\w+|https?://|(?i)\b(submit(ted)?|submission|send|sent|contact|e-?mail)\b`)},
	{regexp.MustCompile(`(?i)\b(must|required?|requirements?|delivered|fulfilled|obligations?)\b`), regexp.MustCompile(
		`(?i)\b(must|shall|has to|have to|required|requires?|needs? to|mandatory)\b`)},
}

// about are questions for the beginning of a document.
var about = regexp.MustCompile(`(?i)\b(document|text) about\b|\bpurpose\b|\bsummar`)

// pick chooses sentences, in the order of the document. Those of the kind that the
// question asks for come first, and among them those with its words.
func pick(question string, all []sentence) []sentence {
	if about.MatchString(question) {
		return all[:min(len(all), 3)]
	}
	var look *regexp.Regexp
	for _, k := range kinds {
		if k.question.MatchString(question) {
			look = k.answer
			break
		}
	}
	words := document.Words(question)
	type scored struct{ at, score int }
	var found []scored
	for i, s := range all {
		score := 0
		for _, w := range document.Words(s.text) {
			if slices.Contains(words, w) {
				score++
			}
		}
		if look != nil && look.MatchString(s.text) {
			score += 10
		} else if look != nil {
			score = 0
		}
		if score > 0 {
			found = append(found, scored{i, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	found = found[:min(len(found), most)]
	slices.SortFunc(found, func(a, b scored) int { return a.at - b.at })
	out := make([]sentence, len(found))
	for i, f := range found {
		out[i] = all[f.at]
	}
	return out
}

func clip(text string) string {
	if runes := []rune(text); len(runes) > 300 {
		return string(runes[:299]) + "…"
	}
	return text
}

// sought says of findings what is sought and what is open.
func sought(prompt string) string {
	_, findings, _ := strings.Cut(prompt, "\n## ")
	var says, open []string
	for _, f := range strings.Split(findings, "\n## ") {
		topic, text, _ := strings.Cut(strings.TrimSpace(f), "\n")
		name, text, _ := strings.Cut(text, "\n")
		first, _, _ := strings.Cut(text, "\n")
		if first == nothing || first == "" {
			open = append(open, topic)
			continue
		}
		says = append(says, name+" "+strings.TrimPrefix(first, "- "))
	}
	out := "I am rules and not a language model: this is the first finding of each topic.\n" + strings.Join(says, "\n")
	if len(open) > 0 {
		out += "\nLeft open: " + strings.Join(open, ", ") + "."
	}
	return out
}
