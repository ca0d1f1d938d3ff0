package offline

import (
	"regexp"
	"strconv"
	"strings"
)

// kind is the kind of a question.
type kind int

const (
	look    kind = iota // what does the text say about X?
	where               // where is X mentioned?
	count               // how many words, how often does X appear?
	lines               // read lines 10-20
	summary             // what is in the file?
	save                // save a note
	help                // what can you do?
	unclear             // "it" without an earlier topic
)

// intent is a question as the rules understand it.
type intent struct {
	question string // as it was asked
	kind     kind
	topic    string // the X of a question, or the text of a note
	named    bool   // the topic is a part of the question, and not the whole question
	from, to int    // lines
	answered string
}

// A form turns questions into intents. The groups of its pattern are named topic, from and to.
type form struct {
	kind    kind
	pattern *regexp.Regexp
}

const (
	numbers = `lines? (?P<from>\d{1,9})(?: ?(?:-|to) ?(?P<to>\d{1,9}))?`
	topic   = `(?:the word |the |an? )?(?P<topic>.+?)`
)

// forms are tried in order. For a question of no form, the rules search the text for its words.
var forms = []form{
	{help, regexp.MustCompile(`(?i)^(?:hi|hello|help|thanks|thank you|what can you do|how often|)$`)},
	{save, regexp.MustCompile(`(?i)^save (?:that|` + numbers + `)$`)},
	{save, regexp.MustCompile(`(?i)^save a note(?: that|:) (?P<topic>.+)$`)},
	{count, regexp.MustCompile(`(?i)^how many (?:words|lines|characters)(?: are (?:there|in the file))?$`)},
	{count, regexp.MustCompile(`(?i)^how often (?:does|is) ` + topic + ` (?:appear|mentioned)$`)},
	{lines, regexp.MustCompile(`(?i)^(?:more|read ` + numbers + `)$`)},
	{summary, regexp.MustCompile(`(?i)^(?:summari[sz]e(?: it| the file)?|what is (?:in the file|(?:it|this|this file|the file) about))$`)},
	{where, regexp.MustCompile(`(?i)^where (?:does|is) ` + topic + ` (?:appear|mentioned)$`)},
	// The text does not answer other requests, or other questions about lines.
	{help, regexp.MustCompile(`(?i)^(?:count|find|give|note|read|remember|save|show|summari[sz]e|write|how many (?:words|lines|characters))\b|\blines? \d|\b(?:first|last) (?:\d+ )?lines?\b`)},
	{look, regexp.MustCompile(`(?i)^(?:what|who) (?:is|are) ` + topic + `$`)},
}

var (
	// pronoun matches a topic that refers to the topic of an earlier question.
	pronoun = regexp.MustCompile(`(?i)^(?:it|that|this|they)$`)
	within  = regexp.MustCompile(`(?i)\b(?:it|they|them)\b`)
	please  = regexp.MustCompile(`(?i)^please,? `)
)

// understand returns the intent of a question.
func understand(question string, p past) intent {
	text := strings.TrimRight(strings.Join(strings.Fields(question), " "), "?!. ")
	text = please.ReplaceAllString(text, "")
	for _, f := range forms {
		if m := f.pattern.FindStringSubmatch(text); m != nil {
			in := intent{kind: f.kind}
			for i, name := range f.pattern.SubexpNames() {
				switch name {
				case "topic":
					in.topic, in.named = strings.Trim(m[i], "\"“”'` "), true
				case "from":
					in.from, _ = strconv.Atoi(m[i])
				case "to":
					in.to, _ = strconv.Atoi(m[i])
				}
			}
			return in.refer(p)
		}
	}
	if p.topic != "" {
		text = within.ReplaceAllLiteralString(text, p.topic)
	}
	return intent{topic: text}
}

// refer replaces words that refer to earlier turns: "it", "that" and "more".
func (in intent) refer(p past) intent {
	switch {
	case in.kind == save && in.from == 0 && in.topic == "":
		in.topic = p.answer
	case in.kind == lines && in.from == 0:
		in.from, in.to = p.to+1, p.to+20
	case in.kind != save && pronoun.MatchString(in.topic):
		in.topic = p.topic
		if in.topic == "" {
			in.kind = unclear
		}
	}
	return in
}
