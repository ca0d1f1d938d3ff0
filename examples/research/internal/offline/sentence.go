package offline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/research/internal/document"
)

// A sentence is a sentence of the document, with the numbers of its lines.
type sentence struct {
	place, text string
	// heading and passage are the stems of the sentence's heading and of its passage.
	heading, passage []string
}

var (
	heading = regexp.MustCompile(`^Under "(?:[\d.)#]+ )?(.*)":$`)
	line    = regexp.MustCompile(`^\[(\d+)\] (.*)$`)
	mark    = regexp.MustCompile(`^([-*+•]|\d+[.)]|\([a-z0-9]+\))\s+`) // of an entry of a list
	// exact finds words that [document.Words] leaves out, but that change the meaning of a question.
	exact = regexp.MustCompile(`(?i)\b(after|all|before|each|either|else|long|more|most|much|never|no|not|only|over|under|up|why)\b|n['’]t\b`)
)

// stems returns the stems of a text, and the words of exact.
func stems(text string) []string {
	return append(document.Words(text), exact.FindAllString(strings.ToLower(text), -1)...)
}

// within reports whether all words are among others.
func within(words, others []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(others, w) })
}

// sentences returns the sentences of the passages of a prompt.
func sentences(prompt string) (all []sentence) {
	for passage := range strings.SplitSeq(prompt, "\n\n") {
		title, text := "", ""
		var numbers []string // of the line of each byte of the text
		for l := range strings.SplitSeq(passage, "\n") {
			if m := heading.FindStringSubmatch(l); m != nil {
				title = m[1]
			} else if m := line.FindStringSubmatch(l); m != nil {
				text += m[2] + " "
				numbers = append(numbers, slices.Repeat([]string{m[1]}, len(m[2])+1)...)
			}
		}
		if strings.Contains(text, "```") {
			continue // code, and no sentences
		}
		end := 0
		for _, s := range document.Sentences(text) {
			from := end + strings.Index(text[end:], s)
			end = from + len(s)
			place := numbers[from]
			if last := numbers[end-1]; last != place {
				place += "-" + last
			}
			all = append(all, sentence{place, mark.ReplaceAllString(s, ""), stems(title), stems(text)})
		}
	}
	return all
}

// A form is the pattern of the sentences on a topic, and its description.
type form struct {
	pattern *regexp.Regexp
	with    string
}

// forms has the forms of topics by their titles.
var forms = map[string]form{
	"Requirements": {
		regexp.MustCompile(`(?i)\b(must|shall|has to|have to|required?|requires|mandatory)\b`),
		`"must", "shall", "have to" or "required"`,
	},
	"Deadlines": {
		regexp.MustCompile(`(?i)\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}(st|nd|rd|th)?\.? ` + month + `\b|\b` + month +
			` \d|\b(within|in|after|by|before|until) (\w+ )?\d+ (\w+ )?(minute|hour|day|week|month|year)s?\b|\bdeadline\b`),
		"a date or a period",
	},
	"Budget": {
		regexp.MustCompile(`(?i)[€$£]\s?\d|\b\d[\d.,]*\s?(million|thousand)?\s?(euros?|eur|usd|dollars?|pounds?|gbp|chf)\b|\b(eur|usd|gbp|chf)\s?\d`),
		"an amount of money",
	},
	"Evaluation": {
		regexp.MustCompile(`(?i)\d\s?(%|percent)|\b(criteria|criterion|points?|score[sd]?|weight(ed|ing)?|evaluat(ed|ion))\b`),
		`a percentage, "criteria", "points" or "score"`,
	},
	"Submission": {regexp.MustCompile(`[\w.+-]+@[\w-]+\.\w+|https?://`), "an address"},
}

const month = `(january|february|march|april|may|june|july|august|september|october|november|december)`

// of returns the sentences that have the form.
func (f form) of(all []sentence) []sentence {
	return slices.DeleteFunc(slices.Clone(all), func(s sentence) bool { return !f.pattern.MatchString(s.text) })
}
