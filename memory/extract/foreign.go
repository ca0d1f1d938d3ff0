package extract

import (
	"regexp"
	"strings"
)

const request = `(?:remember|note|save|store|memori[sz]e|keep in mind|bear in mind|do not forget|don['’]t forget|never forget|(?:make|take) (?:a )?note|(?:note|write) down|` +
	`merke?(?: dir)?|notiere?(?: dir)?|souviens[- ]toi|retiens|note|recuerda|anota|ricorda(?:ti)?|lembre?(?:-se)?|onthoud)`

// asked is how a user begins who asks for a thing to be remembered.
var asksFor = regexp.MustCompile(`(?i)^[\s\pP]*(?:(?:hi|hey|hello|ok|okay|please|so|and|also|btw|by the way|bitte|por favor)[\s,]+)*` +
	`((?:can|could|will|would) you\s+|i(?:['’]d| would) like you to\s+|i want you to\s+)?(?:please\s+)?(?:also\s+|always\s+)?` + request +
	`(?:\s+bitte)?(?:\s+(?:for (?:me|later|next time|the future)|this|about me))*(?:\s*[:,]\s*(?:that\s+|dass\s+|que\s+|che\s+)?|\s+(?:that|dass|que|che|dat)\s+|\s+)`)

var beforeQuote = regexp.MustCompile(`(?i)` + request + `(?:\s+(?:that|this|the following))?\s*[:,]?\s*$`)

// quotes are the ways to set apart what somebody else says.
var quotes = []*regexp.Regexp{
	regexp.MustCompile("(?s)```.*?(?:```|$)"), regexp.MustCompile(`(?m)^\s*>.*$`),
	regexp.MustCompile(`"[^"]*"`), regexp.MustCompile(`“[^”]*”`), regexp.MustCompile(`„[^“”]*[“”]`), regexp.MustCompile(`«[^»]*»`), regexp.MustCompile(`「[^」]*」`),
	regexp.MustCompile(`(?:^|[\s(:])'[^'\n]{12,}'`), regexp.MustCompile(`‘[^’\n]{12,}’`), regexp.MustCompile(`(?s)<(?:document|data|email|page|text)\b.*`),
}

const maxQuoted = 4 // words: names and titles are no quotes

const works = `summari[sz]e|translate|proofread|rewrite|rephrase|paraphrase|explain|review|check|analy[sz]e|classify|parse|extract|shorten|edit|fix|reply to|respond to`

// shown are the ways to begin what somebody else wrote, up to the end of what is said.
var shown = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(?:` + works + `)\b[^\n:.?!]{0,120}:`),
	regexp.MustCompile(`(?i)\b(?:` + works + `)\b[^\n:.?!]{0,60}\b(?:this|these|following|below)\b[^\n:.?!]{0,60}\n`),
	regexp.MustCompile(`(?i)\b(?:here(?: is|['’]s)|this is|below is|see|following) (?:the |an? |his |her |their |this |what )?[^\n:.?!]{0,60}(?:says|said|wrote|text|mail|message|document|page|article|letter|report|file|output|log|instructions|policy)[^\n:.?!]{0,40}[:\n]`),
	regexp.MustCompile(`(?i)\b(?:the|this|that|an?|attached|forwarded|their|his|her) (?:\pL+ ){0,2}(?:documents?|page|site|website|article|e-?mail|mail|message|file|text|report|letter|pdf|tool|output|result|log|manual|handbook|policy|form|ticket|comment|prompt|instructions?)(?: (?:says|said|reads|states|tells (?:me|us|you)))?\s*:`),
	regexp.MustCompile(`(?i)(?:forwarded message|original message|begin quote|^from: )`),
}

var reported = regexp.MustCompile(`(?i)(\pL+)\s+(?:says|said|wrote|writes|states|replied|answered)\s*:`)

// foreign returns the parts of what a user wrote that somebody else says.
func foreign(text string) (list []span) {
	for i, q := range quotes {
		for _, at := range q.FindAllStringIndex(text, -1) {
			if i < 2 || len(tokens(text[at[0]:at[1]])) > maxQuoted && !beforeQuote.MatchString(text[:at[0]]) {
				list = append(list, span{at[0], at[1]})
			}
		}
	}
	for _, s := range shown {
		if at := s.FindStringIndex(text); at != nil {
			list = append(list, span{at[1], len(text)})
		}
	}
	for _, at := range reported.FindAllStringSubmatchIndex(text, -1) {
		if who := text[at[2]:at[3]]; strings.EqualFold(who, "i") || strings.EqualFold(who, "we") {
			continue
		}
		end := len(text)
		if blank := strings.Index(text[at[1]:], "\n\n"); blank >= 0 {
			end = at[1] + blank
		}
		list = append(list, span{at[1], end})
	}
	return list
}
