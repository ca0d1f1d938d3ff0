package offline

import "regexp"

// A kind is a sort of question, known by its words, and the form that a sentence has which answers it.
type kind struct {
	question, form *regexp.Regexp
	with           string // what the form is, in words
}

const (
	number = `(\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)`
	month  = `(january|february|march|april|may|june|july|august|september|october|november|december)`
	unit   = `(minute|hour|day|week|month|year)s?`
)

// kinds are tried in order.
var kinds = []kind{
	{words(`how (long|soon|fast|quickly)`), regexp.MustCompile(`(?i)\b` + number + `[ -](\w+ )?` + unit + `\b`), "a period"},
	{words(`dates?|deadlines?|when|due|until|schedule`), regexp.MustCompile(
		`(?i)\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|\b\d{1,2}(st|nd|rd|th)?\.? ` + month + `\b|\b` + month +
			` \d|\b(within|in|after|by|before|until) (\w+ )?` + number + ` (\w+ )?` + unit + `\b|\bdeadline\b`), "a date or a period"},
	{words(`money|budget|costs?|prices?|fees?|pay|paid|payment|how much`), regexp.MustCompile(
		`(?i)[€$£]\s?\d|\b\d[\d.,]*\s?(million|thousand)?\s?(euros?|eur|usd|dollars?|pounds?|gbp|chf)\b|\b(eur|usd|gbp|chf)\s?\d`), "an amount of money"},
	{words(`judged|evaluat(e|ed|ion)|criteria|criterion|scor(ed|ing)`), regexp.MustCompile(`(?i)\d\s?(%|percent)|\b(criteria|criterion|points?|score[sd]?|weight(ed|ing)?|evaluat(ed|ion))\b`), `a percentage, "criteria", "points" or "score"`},
	{words(`whom|contact|address|(which|what) e-?mail`), regexp.MustCompile(`[\w.+-]+@[\w-]+\.\w+|https?://`), "an address"},
	{words(`must|required?|requirements?|mandatory|fulfilled`), regexp.MustCompile(`(?i)\b(must|shall|has to|have to|required?|requires|mandatory)\b`), `"must", "shall", "have to" or "required"`},
}

func words(list string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(` + list + `)\b`) }

// kindOf returns the kind of a question, or nil.
func kindOf(question string) *kind {
	for i := range kinds {
		if kinds[i].question.MatchString(question) {
			return &kinds[i]
		}
	}
	return nil
}
