package offline

import (
	"regexp"
	"strings"
)

// words are the variable parts of a sentence, by the name of their group in the form's pattern.
type words map[string]string

// An action carries out a sentence: it calls the tools that look things up, and returns the calls that change something.
type action func(*dialog, words) ([]act, error)

// A clause is a part of a request that the rules understand.
type clause struct {
	do    action
	words words
}

// A form is a sentence that the rules understand. In it, DAY and TIME stand for texts such as "on Friday" and "on
// Friday at 3pm".
type form struct {
	sentence string
	do       action
	makes    bool // NAME is the name of a new thing, and may contain "and"
	pattern  *regexp.Regexp
}

// forms has the forms in the order of their priority. A clause has the first form that matches the whole clause.
var forms = compiled([]form{
	{sentence: `help`, do: (*dialog).help},
	{sentence: `(?:tell me )?what(?:'?s| is) on my calend[ae]r(?: TIME)?`, do: (*dialog).listEvents},
	{sentence: `(?:tell me )?what (?:do )?i have TIME`, do: (*dialog).listEvents},
	{sentence: `(?:when )?am i free(?: TIME)?`, do: (*dialog).freeTime},
	{sentence: `when is NAME(?: DAY)?`, do: (*dialog).searchEvents},
	{sentence: `(?:schedule|create|put|move|delete|cancel) .*\b(?:tasks?|mails?)\b.*`}, // not about an event, so not understood
	{sentence: `(?:schedule|create|put) NAME(?: TIME)?`, do: (*dialog).createEvent, makes: true},
	{sentence: `move NAME(?: DAY)? to TIME`, do: (*dialog).moveEvent},
	{sentence: `(?:delete|cancel) NAME(?: DAY)?`, do: (*dialog).deleteEvent},

	{sentence: `any (?P<unread>unread )?mail`, do: (*dialog).listMail},
	{sentence: `read the mail from NAME`, do: (*dialog).readMail},
	{sentence: `send a mail to NAME(?: about (?P<subject>.+?))? saying (?P<body>.+)`, do: (*dialog).sendMail},
	{sentence: `reply to the (?P<place>first|second|third) one that (?P<body>.+)`, do: (*dialog).replyMail},

	{sentence: `what are my tasks`, do: (*dialog).listTasks},
	{sentence: `add a task to NAME(?: by DAY)?`, do: (*dialog).createTask, makes: true},
	{sentence: `complete the task NAME`, do: (*dialog).completeTask},
})

// compiled returns the forms with their patterns.
func compiled(forms []form) []form {
	parts := strings.NewReplacer("NAME", `(?:(?:an?|my|the) )?(?P<name>.+?)`, "DAY", `(?P<day>`+day+`)`, "TIME", `(?P<time>`+dayAndHour+`)`)
	for i, f := range forms {
		forms[i].pattern = regexp.MustCompile(`(?i)^` + parts.Replace(f.sentence) + `[ ?!.]*$`)
	}
	return forms
}

// joint matches the start of another clause.
var joint = regexp.MustCompile(`(?i),? and (then )?((?:add|am i|any|cancel|complete|create|delete|move|put|read|reply|schedule|send|tell|what|when)\b)`)

// doubtful matches words in a name that change the meaning of a request, but have no place in its form. A request
// with such a word is not understood.
var doubtful = regexp.MustCompile(`(?i)\b(?:` + strings.Join([]string{
	strings.Join(weekdays, "s?|") + "s?", months, // a time in the wrong place
	`\d+(?:[:.-]\d+|st|nd|rd|th| ?[ap]m)|(?:at|from|until|till|in|for) \d+|half|quarter|o'clock`,
	`today|tonight|tomorrow|yesterday|noon|midnight|morning|afternoon|evening|night`,
	`after|before|until|till|since|minutes?|hours?|days?|weeks?|weekends?|months?|years?`,
	`daily|weekly|monthly|yearly|each|every|all|any|everything|first|last|next`, // which, or how often
	`if|unless|except|no|not|don'?t|never|without`,                              // conditions
	`what|where|which|who|why|how`,                                              // another question
	`(?:at|by|for|from|of|to|with)$`,                                            // a part that the form has no place for
}, "|") + `)\b`)

// several matches a word that joins two names. A search is for one name only.
var several = regexp.MustCompile(`(?i)\b(?:and|or)\b`)

// understand splits a request into clauses where a new verb begins. ordered reports whether each clause waits for the
// earlier ones. The body of a mail is never split.
func understand(text string) (clauses []clause, ordered bool, err error) {
	text = strings.Join(strings.Fields(text), " ")
	for {
		part, at := text, joint.FindStringSubmatchIndex(text)
		if at != nil {
			part = text[:at[0]]
		}
		c, err := one(part)
		if c.words["body"] != "" {
			c, err = one(text)
			at = nil
		}
		if err != nil {
			return nil, false, err
		}
		clauses = append(clauses, c)
		if at == nil {
			return clauses, ordered, nil
		}
		ordered = ordered || at[2] >= 0
		text = text[at[4]:]
	}
}

// one parses a clause with the first form that matches.
func one(text string) (clause, error) {
	for _, f := range forms {
		found := f.pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		c := clause{f.do, words{}}
		for i, name := range f.pattern.SubexpNames() {
			c.words[name] = found[i]
		}
		if f.do != nil && !doubtful.MatchString(c.words["name"]) && (f.makes || !several.MatchString(c.words["name"])) {
			return c, nil
		}
		return c, notUnderstood("'" + text + "'") // name the whole clause: the rules understand the word in other places
	}
	return clause{}, notUnderstood("'" + text + "'")
}

func notUnderstood(text string) blocker {
	return blocker("I did not understand " + text + ". I am a set of rules and not a language model: say help to see what I understand.")
}

func (d *dialog) help(words) ([]act, error) { return nil, blocker(helpText) }
