package offline

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// kind is what a question asks for.
type kind int

const (
	unknown kind = iota
	define       // what is X?
	where        // where is X mentioned?
	count        // how many words, lines, times?
	lines        // read lines 10-20
	summary      // what is in the file?
	save         // save a note
	help         // what can you do?
)

// intent is a question as the rules understand it.
type intent struct {
	kind     kind
	topic    string // the X of a question, or the text of a note
	from, to int    // lines; from is negative for the last ones
	answered string
}

// A rule turns questions of one form into intents. The groups of its pattern are named
// topic, from, to, first and last.
type rule struct {
	kind    kind
	pattern *regexp.Regexp
}

const (
	numbers = `lines? (?P<from>\d+)(?:\s*(?:-|–|—|to|through|until|till|and|\.\.+)\s*(?:lines? )?(?P<to>\d+))?`
	ends    = `(?:first (?P<first>\d*)|last (?P<last>\d*)) ?lines?`
	mention = `(?:mentioned|defined|described|explained|discussed|declared|documented|used|talked about|found|appearing|appears?|occurs?|come up|written)`
)

// intents are tried in order; the first that fits counts.
var intents = func() []rule {
	list := []struct {
		kind    kind
		pattern string
	}{
		{help, `^(?:hi|hello|hey|help|thanks?|thank you|ok|okay|bye)(?: there| you| a lot| me)*$`},
		{help, `^(?:what can (?:you|i) (?:do|ask)|who are you|what are you|how (?:do|can) i use (?:you|this))`},
		{save, `^(?:save|store|keep|note|write)(?: down)? ` + numbers + `$`},
		{save, `^(?:save|store|add|make|write|take|leave|keep|create)(?: down)?(?: me)?(?: a| the| this| another)*(?: short| quick| new)? note(?:$|[:,]? (?:that |saying |which says |about |of |to )?(?P<topic>.*)$)`},
		{save, `^(?:note|remember|save|write down|jot down|keep in mind)(?: down)?(?:$|[:,]? (?:that |down )?(?P<topic>.+)$)`},
		{count, `^(?:how many|count|number of)(?: the)? (?:words|lines|characters|letters)(?:.* (?:` + numbers + `|` + ends + `))?`},
		{count, `^(?:what is the )?(?:word|line|character) count`},
		{count, `^how (?:long|big|large) is (?:it|this|the file)$`},
		{count, `^how (?:often|many times|frequently)$`},
		{count, `^(?:how (?:often|many times|frequently)|(?:count|number of)(?: the)? times)(?: (?:is|are|does|do|was|were|did))?(?: (?P<topic>.+?))?(?: is| are)? (?:mentioned|appears?|come up)(?: (?:in|on|from) ` + numbers + `)?$`},
		{count, `^how (?:often|many times|frequently)(?: \w+)? the (?:word|phrase|term) (?P<topic>.+?) ` + mention + `(?: (?:in|on|from) ` + numbers + `)?$`},
		{count, `^(?:how many|count|number of)(?: the)? (?:occurrences|mentions|instances|uses)(?: of| is| does| the| are there of)* (?P<topic>.+?)(?: ` + mention + `)?(?: (?:in|on|from) ` + numbers + `)?$`},
		{count, `^count (?P<topic>.+?)(?: (?:in|on|from) ` + numbers + `)?$`},
		{lines, `^(?:read|show|print|display|quote|give|cat|see|what|tell|summari[sz]e|repeat)\b.*\b` + numbers + `(?: (?:say|about))?$`},
		{lines, `^(?:from )?` + numbers + `$`},
		{lines, `^(?:read|show|print|display|quote|give|cat|see|what|tell)?\b.*\b` + ends + `$`},
		{lines, `^(?:read|show|print|cat)(?: me)?(?: the| this| all)*(?: of)?(?: it| file| text| document| all| everything)?$`},
		{lines, `^(?:(?:read|show|tell)(?: me)? )?(?:on|more|further|(?:the )?next(?: lines)?|continue|go on|keep reading|read on|what (?:comes )?next)$`},
		{summary, `^(?:please )?(?:summari[sz]e|summary|sum up|overview|outline|tl;?dr|gist|table of contents)(?: of)?(?: it| this| that| the)*(?: file| text| document| readme| whole| all)*$`},
		{summary, `^(?:give|show|write|make|tell)\b.*\b(?:summary|overview|outline|gist|table of contents)\b`},
		{summary, `^(?:what|which|how many|list|show)\b.*\b(?P<topic>headings|sections|chapters|title)\b`},
		{summary, `^what(?:'s| is| are) (?:it|this|that|the file|this file|the text|this text|the document|this document|the readme)(?: about)?$`},
		{summary, `^what(?:'s| is)?$`},
		{summary, `^what(?:'s| is) in(?: it| here| there| the file| this file)?$`},
		{summary, `^describe (?:it|this|the file|this file)$`},
		{where, `^where (?:can|do) (?:i|you|we|one) (?:find|read about|see) (?P<topic>.+?)(?: ` + mention + `)*$`},
		{unknown, `^where (?:can|could|may|must|should|do|did) (?:i|you|we|one|they) (?P<topic>.+)$`},
		{where, `^(?:where|on (?:which|what) lines?)(?: (?:is|are|does|do|was|were))?(?: (?P<topic>.+?))??(?: ` + mention + `)*$`},
		{where, `^(?:which|what) (?:lines?|places?|parts?)(?: (?:mention|contain|have|has|say|talk about|are about|use|speak of)s?)? (?P<topic>.+)$`},
		{where, `^(?:find|search|grep|look|locate|show|list|show me|list all|quote)(?: me)?(?: for| up)?(?: all| the)*(?: (?:lines|mentions|places|occurrences))*(?: with| of| that mention| where)? (?P<topic>.+?)(?: is)?(?: ` + mention + `)?$`},
		{where, `^(?:is|are)(?: there)?(?: anything| something)?(?: about)? (?P<topic>.+?)(?: ` + mention + `| there)$`},
		{where, `^(?:does|do|can) .*\b(?:mention|contain|say(?: anything| something)? about|talk about|discuss) (?P<topic>.+)$`},
		{define, `^.*\b(?:tell me|say|says|know|information|anything|something|read|is it)(?: more| anything| something)? (?:about|on) (?P<topic>.+)$`},
		{define, `^(?:what|who)(?:'?s|'?re| is| are| was| were| does| do) (?P<topic>.+?)(?: mean| do| stand for| good for| for| like| say)?$`},
		{define, `^(?:define|explain|describe|summari[sz]e|meaning of|definition of)(?: to me| me)? (?P<topic>.+)$`},
		{unknown, `^how (?:is|are|does|do|can|should|to)(?: i| you| we| one)? (?P<topic>.+?)(?: works?)?$`},
		{unknown, `^(?P<topic>.+)$`},
	}
	out := make([]rule, len(list))
	for i, r := range list {
		out[i] = rule{r.kind, regexp.MustCompile(`(?i)` + r.pattern)}
	}
	return out
}()

var (
	courtesy   = regexp.MustCompile(`(?i)^(?:please|can you|could you|would you|will you|i want you to|i would like you to|i'd like to know|do you know|tell me (?:what|where|how|who)|hey|so|now|then|also|well)\b[, ]*`)
	inFile     = regexp.MustCompile(`(?i),? (?:(?:in|of|from|within|on) (?:the|this|that|my) (?:whole |entire )?(?:file|document|text|readme|page)|please|for me|here|there are|are there|does it have|are in it|in it)$`)
	asNote     = regexp.MustCompile(`(?i) (?:as|in|to|into|for)(?: a| my| the)? (?:notes?|later)(?: file)?$`)
	followUp   = regexp.MustCompile(`(?i)^(?:and |but )?(?:what about|how about|and|or) (.+)$`)
	pronoun    = regexp.MustCompile(`(?i)^(?:it|its|this|that|them|these|those|he|she|they|the same|that one|this word|that word)$`)
	within     = regexp.MustCompile(`\b(?:it|they|them)\b`)
	asked      = regexp.MustCompile(`(?i)^(?:what|when|where|which|who|why|how|does|do|is|are|can|may|must|will)\b`)
	answerWord = regexp.MustCompile(`(?i)^(?:it|this|that|them|these|those|(?:the|your|that|this|these|those)(?: last| previous)? (?:answer|result|summary|reply|list|line|passage|quote|definition|outline|number|count|headings)s?)$`)
	quoted     = regexp.MustCompile("[\"“„«`]([^\"”“»`]+)[\"”“»`]|(?:^|\\s)'([^']+)'")
	article    = regexp.MustCompile(`(?i)^(?:a|an|the|any|some|all|word|phrase|term|words|about) `)
)

// understand finds the rule that fits a question.
func understand(question string, p past) intent {
	whole, text := tidy(question)
	if m := followUp.FindStringSubmatch(text); m != nil && asked.MatchString(m[1]) {
		text = m[1]
	} else if m != nil {
		if k := p.about.kind; p.about.topic != "" && (k == where || k == count) {
			return intent{kind: k, topic: topicOf(m[1])}
		}
		text = "what is " + m[1]
	}
	for _, r := range intents {
		subject := text
		if r.kind == save {
			subject = whole // a note is not shortened
		}
		m := r.pattern.FindStringSubmatchIndex(subject)
		if m == nil {
			continue
		}
		in := intent{kind: r.kind}
		for i, name := range r.pattern.SubexpNames() {
			if at := m[2*i]; at >= 0 {
				in.set(name, subject[at:m[2*i+1]])
			}
		}
		return in.refer(text, p)
	}
	return intent{kind: help}
}

// tidy removes courtesies and punctuation. The short form also lacks phrases such as "in
// the file".
func tidy(question string) (whole, short string) {
	whole = strings.Join(strings.Fields(question), " ")
	for {
		less := strings.TrimRight(courtesy.ReplaceAllString(whole, ""), "?!. ")
		if less == whole || less == "" {
			break
		}
		whole = less
	}
	short = whole
	for {
		less := strings.TrimRight(inFile.ReplaceAllString(short, ""), "?!,. ")
		if less == short || less == "" {
			return whole, short
		}
		short = less
	}
}

// set stores a group of a rule's pattern.
func (in *intent) set(name, value string) {
	n, err := strconv.Atoi(value)
	switch {
	case errors.Is(err, strconv.ErrRange):
		n = math.MaxInt32 // as good as any line that is not there
	case err != nil:
		n = 1 // "the last line"
	}
	switch {
	case name == "topic" && value != "":
		in.topic = value
	case name == "from":
		in.from = n
	case name == "to":
		in.to = n
	case name == "first":
		in.from, in.to = 1, max(n, 1)
	case name == "last":
		in.from = -max(n, 1)
	}
}

// refer replaces references to earlier turns, such as "it".
func (in intent) refer(text string, p past) intent {
	switch in.kind {
	case save:
		in.topic = strings.TrimSpace(asNote.ReplaceAllString(" "+in.topic, ""))
		if in.from == 0 && (in.topic == "" || answerWord.MatchString(in.topic)) {
			in.topic = p.answer
		}
	case lines:
		if in.from == 0 && p.to > 0 && !strings.Contains(strings.ToLower(text), "file") {
			in.from, in.to = p.to+1, p.to+20
		} else if in.from == 0 {
			in.from, in.to = 1, 20
		}
	default:
		in.topic = in.subject(text, p)
	}
	return in
}

// subject returns the topic of a question. A pronoun stands for the topic of an earlier turn.
func (in intent) subject(text string, p past) string {
	topic := topicOf(in.topic)
	if m := quoted.FindStringSubmatch(text); m != nil {
		if topic = topicOf(m[1] + m[2]); topic != "" && !pronoun.MatchString(topic) {
			return topic
		}
	}
	switch {
	case pronoun.MatchString(topic), topic == "" && (in.kind == where || isTimes(text)):
		return p.about.topic
	case in.kind == define && p.about.topic != "":
		return within.ReplaceAllLiteralString(topic, p.about.topic)
	}
	return topic
}

var times = regexp.MustCompile(`(?i)^how (?:often|many times|frequently)`)

// isTimes reports whether a count is that of a word.
func isTimes(text string) bool { return times.MatchString(text) }

func topicOf(s string) string {
	s = strings.Trim(s, " ?!.,;:\"“”„'`")
	for {
		short := article.ReplaceAllString(s, "")
		if short == s || short == "" {
			return s
		}
		s = short
	}
}
