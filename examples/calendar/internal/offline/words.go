package offline

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// A kind is what a clause asks for.
type kind int

const (
	unknown kind = iota
	help
	bookThing
	listEvents
	searchEvents
	freeTime
	createEvent
	moveEvent
	deleteEvent
	listMail
	readMail
	sendMail
	replyMail
	listTasks
	createTask
	completeTask
)

// A clause is a part of a request as the rules understand it. The groups of a
// rule's pattern are its fields.
type clause struct {
	kind   kind
	text   string // the whole of it
	fields map[string]string
}

type rule struct {
	kind    kind
	pattern *regexp.Regexp
}

const (
	events = `(?:meetings?|events?|appointments?|entry|entries|calls?|calend[ae]r|agenda|schedule)`
	mails  = `(?:e-?mails?|mails?|messages?)`
	todos  = `(?:tasks?|to-?dos?|reminders?)`
	the    = `(?: (?:a|an|the|my|all|any|every|both|new|unread|me|of|please))*`
	says   = `(?:,? (?:with|and say|saying|that)[ :]|,? ?:) *` // what stands before the words of a mail
	answer = `(?:reply|respond|answer)(?: to)?(?: (?:the|that|this|my))?`
	places = `first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last`
	about  = `(?: (?:from|by|about|with|called|named|titled|that says|to|for))?`
)

// shapes are tried in order; the first that fits counts.
var shapes = func() []rule {
	list := []struct {
		kind    kind
		pattern string
	}{
		{help, `^(?:help|what can (?:you|i) (?:do|ask|say)|how does (?:this|it) work|\?)$`},
		{bookThing, `^(?:book|reserve|order|buy) (?:me|us) (?P<topic>.+)$`},
		{createTask, `^(?:add|create|make|new|put)` + the + ` ` + todos + `(?: to| for|:| called| named)? (?P<topic>.+)$`},
		{createTask, `^remind me(?: to| about)? (?P<topic>.+)$`},
		{completeTask, `^(?:complete|finish)` + the + `(?: ` + todos + `)?` + about + ` (?P<topic>.+)$`},
		{listTasks, `^(?:what|which|show|list|do i have|my)\b.* (?:` + todos + `|to do)\b`},

		{sendMail, `^(?:send|write)` + the + `(?: ` + mails + `)?(?: to)? (?P<who>\S+@\S+?|\w+)(?: a(?:n)? ` + mails + `)?(?:,? about (?P<subject>.+?))?(?:,? ?(?:saying|that says|:) ?(?P<body>.+))?$`},
		{replyMail, `^` + answer + `(?: (?P<place>it|` + places + `))?(?: (?:one|` + mails + `))?(?:,? (?:(?:from|of|by) )?(?P<who>\w+))??` +
			`(?:` + says + `(?P<body>.+))?$`},
		{readMail, `^(?:read|open|show)` + the + ` ` + mails + ` ?(?:from|by|about) (?P<topic>.+)$`},
		{listMail, `^(?:what|which|show|list|check|any|do i have|is there|my)\b.*\b(?:` + mails + `|inbox)\b`},
		{unknown, `\b(?:` + mails + `|` + todos + `)\b`},

		{freeTime, `^(?:when am i|am i|when are we|is there|find|do i have|show)\b.*\bfree\b`},
		{moveEvent, `^(?:move|reschedule|shift|postpone|push)` + the + ` (?P<topic>.+?) (?:to|until|till) (?P<to>.+)$`},
		{deleteEvent, `^(?:delete|cancel|remove|drop|call off|clear)` + the + ` (?P<topic>.+)$`},
		{createEvent, `^(?:schedule|create|add|(?P<book>book|reserve)|put|set up|plan|make|arrange)` + the + `(?: event:?)? (?P<topic>.+?)(?: (?:in|into|to|on) (?:my|the) calendar)?$`},
		{listEvents, `^(?:what(?:'?s| is| do i have| have i(?: got)?| happens| is happening)?|which|show|tell me|list|do i have|my|anything|is there)\b.*\b` + events + `\b`},
		{listEvents, `^(?:(?:tell|show) me )?(?:what(?:'?s| is| do i have| have i(?: got)?| i have| happens)|do i have (?:anything|something)|(?:is )?anything|is there anything)\b.*$`},
		{searchEvents, `^(?:when(?:'?s| is| are| do i| does)?|where(?:'?s| is)|find|search(?: for)?|look for|look up)` + the + ` (?P<topic>.+)$`},
	}
	out := make([]rule, len(list))
	for i, r := range list {
		out[i] = rule{r.kind, regexp.MustCompile(`(?is)` + r.pattern)}
	}
	return out
}()

var (
	courtesy = regexp.MustCompile(`(?i)^(?:please|can you|could you|would you|will you|i want you to|i want to|i would like you to|i'd like to|hey|hi|hello|ok|okay|so|now|also|then|and|and then)\b[, ]*`)
	parting  = regexp.MustCompile(`(?i)(?:,| please)*[ ?!.]*$`)
	joint    = regexp.MustCompile(`(?i),? and then |[,;] then |; | and (?:also )?`)
	// replies finds a reply that names a mail of a list, or says what to write. "Reply by Friday" may belong to a task.
	replies = regexp.MustCompile(`(?i)^(?:please )?` + answer + `(?: (?:` + places + `|one|` + mails + `)\b|(?: it)?(?:,? (?:(?:from|of|by) )?\w+)??` + says + `)`)
	verb    = regexp.MustCompile(`(?i)^(?:please )?(?:add|create|make|remind|complete|finish|delete|remove|drop|cancel|send|write|mail|archive|move|reschedule|shift|postpone|push|rename|schedule|book|put|set up|plan|arrange|show|tell|list|find|what|whats|when|read|am i|do i|any)\b`)
)

// tidy takes off what says nothing.
func tidy(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for {
		less := parting.ReplaceAllString(courtesy.ReplaceAllString(text, ""), "")
		if less == text || less == "" {
			return text
		}
		text = less
	}
}

// understand takes a request apart where a new verb begins. Ordered says that
// what comes later is to wait for what comes first. What a mail is to say is
// never taken apart.
func understand(text string) (clauses []clause, ordered bool) {
	text = tidy(text)
	for text != "" {
		at := [2]int{len(text), len(text)}
		for _, m := range joint.FindAllStringIndex(text, -1) {
			if rest := text[m[1]:]; (verb.MatchString(rest) || replies.MatchString(rest)) && one(text[:m[0]]).fields["body"] == "" {
				at = [2]int{m[0], m[1]}
				break
			}
		}
		ordered = ordered || strings.Contains(text[at[0]:at[1]], "then")
		clauses = append(clauses, one(text[:at[0]]))
		text = tidy(text[at[1]:])
	}
	return clauses, ordered
}

// one finds the rule that fits a clause.
func one(text string) clause {
	text = tidy(text)
	for _, r := range shapes {
		m := r.pattern.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		c := clause{r.kind, text, map[string]string{}}
		for i, name := range r.pattern.SubexpNames() {
			if name != "" && m[i] != "" {
				c.fields[name] = m[i]
			}
		}
		return c
	}
	if w := timesOf(text, time.Time{}); (w.day || w.clock) && lead.MatchString(w.rest) {
		return clause{kind: listEvents, text: text} // "and Wednesday?"
	}
	return clause{text: text}
}

// lead is what may stand before a time alone.
var lead = regexp.MustCompile(`(?i)^(?:(?:how|what) about)?(?: on)?$`)

// noise are words that do not tell one thing from another.
var noise = strings.Fields(`a an and the my this that with about from of for to called named titled please one all both every in on at next
	event events meeting meetings appointment appointments entry calendar mail mails email emails message messages task tasks todo todos`)

// filler are words of a question about the calendar that name nothing in it.
var filler = strings.Fields(`what whats what's is are do i have got there tell show list me anything something planned happening happens going up scheduled
	it's its of like look looks does which how my mine day week be will then else to time please any upcoming coming agenda calendar calender start starts begin begins schedule s see call calls entries`)

// telling returns the words of a text without those that tell nothing.
func telling(text string, nothing ...string) (words []string) {
	for _, word := range strings.Fields(text) {
		word = strings.TrimSuffix(strings.Trim(word, `"'“”‘’.,:;?!()`), "'s")
		if word != "" && !slices.Contains(nothing, strings.ToLower(word)) {
			words = append(words, word)
		}
	}
	return words
}

// query returns the words of a topic to search for. "My meeting" is one that says so.
func query(topic string) string {
	words := telling(topic, noise...)
	if all := telling(topic); len(words) == 0 && len(all) > 0 {
		words = all[len(all)-1:]
	}
	return strings.Join(words, " ")
}

// condition returns the words of a question about the calendar that its answer has to fit.
func condition(text string) string {
	return strings.Join(telling(text, append(slices.Clone(noise), filler...)...), " ")
}

// unquote takes quotes off a text.
func unquote(text string) string {
	return strings.TrimSpace(strings.Trim(strings.TrimSpace(text), `"“”'‘’`))
}
