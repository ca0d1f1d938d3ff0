package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// noted is what the planner says at the end. The numbers of the calls that looked up what was asked for follow.
const noted = "That is all."

const helpText = `I am a set of rules and not a language model, but I work on your real calendar, mail and tasks. Tell me for example:
  - what's on my calendar this week?
  - when is my meeting with John?
  - when am I free on Friday afternoon?
  - schedule lunch with Ann tomorrow at half past twelve
  - move the dentist to Thursday at 3pm
  - delete my meeting with John
  - any unread mail?
  - read the mail from Ann
  - send a mail to ann@example.com about lunch saying see you at noon
  - what are my tasks?
  - add a task to call Bob by Friday
  - complete the task call Bob
Several at once work too, joined by "and", or by "and then" where one is to wait for the other.`

// An act is a call that changes something, of a tool that was found.
type act struct {
	tool   string
	params object
}

// A blocker is why nothing can be done yet: a question, or that there is nothing.
type blocker string

func (b blocker) Error() string { return string(b) }

// plan is what the model says when it has looked up, done or noted everything.
func (d *dialog) plan() (string, error) {
	text, pick := d.picked()
	clauses, ordered := understand(text)
	var acts []act
	var blocked []string
	for _, c := range clauses {
		if c.kind == help {
			return helpText, nil
		}
		more, err := d.clause(c, pick)
		b, isBlocked := errors.AsType[blocker](err)
		if err != nil && !isBlocked {
			return "", err
		}
		acts = append(acts, more...)
		if isBlocked {
			blocked = append(blocked, string(b))
			if ordered {
				break
			}
		}
	}
	var err error
	switch len(acts) {
	case 0:
	case 1:
		_, err = d.call(tools.InvokeTool, object{"tool_name": acts[0].tool, "params": acts[0].params})
	default:
		err = d.together(acts, ordered)
	}
	said := strings.Join(append([]string{noted}, d.asked...), " ")
	return strings.TrimSpace(said + "\n" + strings.Join(append(d.notes, blocked...), "\n")), err
}

// together writes several acts down as one plan.
func (d *dialog) together(acts []act, ordered bool) error {
	var actions []tools.Action
	for i, a := range acts {
		params, err := json.Marshal(a.params)
		if err != nil {
			return err
		}
		action := tools.Action{ID: fmt.Sprintf("step_%d", i+1), Tool: a.tool, Arguments: json.RawMessage(strings.ReplaceAll(string(params), "${", "$${"))}
		if ordered && i > 0 {
			action.DependsOn = []string{actions[i-1].ID}
		}
		actions = append(actions, action)
	}
	answer, err := d.call(tools.InvokeTool, object{"tool_name": plan.MakePlan, "params": object{"actions": actions}})
	if answer.Status == llm.StatusError {
		d.notes = append(d.notes, "I could not plan that: "+answer.Text())
	}
	return err
}

var which = regexp.MustCompile(`(?i)^(?:the )?(first|second|third|fourth|fifth|last|number \d+|\d+)(?:st|nd|rd|th)?(?: one)?[.!]?$`)

var places = map[string]int{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}

// picked returns the request, and which of several things is meant: an answer
// such as "the second one" is about the request before it.
func (d *dialog) picked() (text string, pick int) {
	m := which.FindStringSubmatch(strings.TrimSpace(d.text))
	if m == nil {
		return d.text, 0
	}
	word := strings.ToLower(m[1])
	n, ok := places[word]
	if !ok {
		n, _ = strconv.Atoi(strings.TrimPrefix(word, "number ")) // digits
	}
	for i := len(d.before) - 1; i >= 0; i-- {
		if said := d.before[i]; said.Role == llm.RoleUser && !which.MatchString(strings.TrimSpace(said.Text())) {
			return said.Text(), n
		}
	}
	return d.text, 0
}

// clause looks up what a clause is about. What changes something is returned.
func (d *dialog) clause(c clause, pick int) ([]act, error) {
	switch c.kind {
	case listEvents, searchEvents, freeTime, createEvent, moveEvent, deleteEvent:
		for _, text := range []string{c.fields["topic"], c.fields["to"], c.text} {
			if wrong := timesOf(text, d.now).wrong; wrong != "" {
				return nil, blocker(fmt.Sprintf("There is no such day: '%s'. Tell me all of it again with another day.", wrong))
			}
		}
	}
	switch c.kind {
	case listEvents, searchEvents, freeTime:
		return nil, d.showEvents(c)
	case createEvent:
		return d.createEvent(c)
	case moveEvent, renameEvent, deleteEvent:
		return d.changeEvent(c, pick)
	case listMail, searchMail, readMail, archiveMail, deleteMail:
		return d.mail(c, pick)
	case sendMail:
		return d.sendMail(c)
	case bookThing:
		return nil, blocker(fmt.Sprintf("I can not book or buy anything, so I did nothing. I can put it into your calendar: say schedule %s.", c.fields["topic"]))
	case unknown:
		return nil, blocker(fmt.Sprintf("I did not understand '%s'. I am a set of rules and not a language model: say help to see what I understand.", c.text))
	}
	return d.task(c, pick)
}

func (d *dialog) showEvents(c clause) error {
	w := timesOf(c.text, d.now)
	params := object{}
	if w.any() {
		params["from"], params["to"] = w.bounds()
	}
	if c.kind == freeTime {
		if w.length > 0 && !w.clock {
			params["minutes"] = int(w.length.Minutes())
		}
		return d.show("calendar", "free", params)
	}
	about := condition(w.rest)
	if c.kind == searchEvents {
		about = condition(timesOf(c.fields["topic"], d.now).rest)
	}
	if about == "" {
		return d.show("calendar", "list", params)
	}
	params["query"] = about
	return d.show("calendar", "search", params)
}

// show looks up what the user asked for.
func (d *dialog) show(category, action string, params object) error {
	answer, err := d.invoke(category, action, params)
	if err == nil {
		d.asked = append(d.asked, answer.ToolCallID)
	}
	return err
}

const localTime = "2006-01-02T15:04"

// bounds are the first and the last time that are named, as a tool takes them.
func (w when) bounds() (from, to string) {
	y, m, d := w.from.Date()
	at := func(hour int) string { return time.Date(y, m, d, hour, 0, 0, 0, w.from.Location()).Format(localTime) }
	switch {
	case w.clock && w.length > 0:
		return w.from.Format(localTime), w.from.Add(w.length).Format(localTime)
	case w.clock:
		return w.from.Format(localTime), w.from.Add(time.Hour).Format(localTime)
	}
	switch w.part {
	case "morning":
		return at(6), at(12)
	case "afternoon":
		return at(12), at(18)
	case "evening", "night":
		return at(18), at(24)
	}
	return w.from.Format(time.DateOnly), w.to.Format(time.DateOnly)
}

// any reports whether a text names any time.
func (w when) any() bool { return w.day || w.clock || w.part != "" }

var (
	// recurring finds what a single event does not have.
	recurring = regexp.MustCompile(`(?i)\b(?:every|each|daily|weekly|monthly|yearly)\b`)

	// oddTime finds a time of day that was not understood.
	oddTime = regexp.MustCompile(`(?i)\b(?:half|quarter) (?:` + strings.Join(counting[1:], "|") + `|\d)|\b(?:at|around) (?:about |around )?(?:` + strings.Join(counting[1:], "|") + `|\d+)\b`)

	guest = regexp.MustCompile(`\S+@\S+\.\w+`)
	place = regexp.MustCompile(`(?i)(?:^| )(?:in|at) (?:the )?([^ ].*)$`)
	ends  = regexp.MustCompile(`(?i)^(?:an? |the |my )+|[ ,]+(?:on|at|for|with|in|due|by)?$`)
)

func (d *dialog) createEvent(c clause) ([]act, error) {
	w := timesOf(c.fields["topic"], d.now)
	if why := unfit(w); why != "" {
		return nil, why
	}
	if c.fields["book"] != "" {
		d.notes = append(d.notes, "This is an entry in your calendar only: I can not book anything with anybody.")
	}
	if !w.day && w.from.Before(d.now) {
		w.from = w.from.AddDate(0, 0, 1)
	}
	params := object{}
	if w.clock {
		params["start"] = w.from.Format(localTime)
		if w.length > 0 {
			params["end"] = w.from.Add(w.length).Format(localTime)
		}
	} else {
		params["start"], params["end"] = w.from.Format(time.DateOnly), w.to.Format(time.DateOnly)
	}
	title := w.rest
	if guests := guest.FindAllString(title, -1); guests != nil {
		params["with"] = guests
	}
	if at := place.FindStringSubmatchIndex(title); at != nil && at[0] > 0 {
		params["place"] = title[at[2]:at[3]]
		title = title[:at[0]]
	}
	for less := ends.ReplaceAllString(title, ""); less != title; less = ends.ReplaceAllString(title, "") {
		title = less
	}
	if title = unquote(title); title == "" {
		return nil, blocker("What is the event to be called?")
	}
	first, size := utf8.DecodeRuneInString(title)
	params["title"] = string(unicode.ToUpper(first)) + title[size:]
	return d.act("calendar", "create", params)
}

// unfit says why a time is not that of a new event, or is empty.
func unfit(w when) blocker {
	again := "Tell me all of it again with a day and a time."
	switch {
	case !w.any():
		return blocker(fmt.Sprintf("When is '%s' to be? %s", w.rest, again))
	case w.part != "" && !w.clock:
		return blocker(fmt.Sprintf("At what time is '%s' to be? %s", w.rest, again))
	case !w.clock && oddTime.MatchString(w.rest):
		return blocker(fmt.Sprintf("I did not understand the time in '%s'. Tell me all of it again with a time such as 9:30.", w.rest))
	case recurring.MatchString(w.rest):
		return "I can only add single events, and no event that recurs."
	}
	return ""
}

// act finds the tool for something that is to be done.
func (d *dialog) act(category, action string, params object) ([]act, error) {
	name, err := d.find(category, action)
	return []act{{name, params}}, err
}

// An item is a thing that a search found: an event, a mail or a task.
type item struct {
	Event   string `json:"event_id"`
	Mail    int64  `json:"mail_id"`
	Task    int64  `json:"task_id"`
	Title   string `json:"title"`
	Subject string `json:"subject"`
	When    string `json:"when"`
	Start   string `json:"start"`
	End     string `json:"end"`
	From    string `json:"from"`
	To      string `json:"to"`
	Place   string `json:"place"`
	Due     string `json:"due"`
	Done    string `json:"done"`
	Unread  bool   `json:"unread"`
	Text    string `json:"text"`
	Warning string `json:"warning"`
}

// items reads what a search found. Events may be listed by the day.
func items(text string) (all []item, err error) {
	var found []struct {
		item
		Events []item `json:"events"`
	}
	err = json.Unmarshal([]byte(text), &found)
	for _, f := range found {
		if f.Events == nil {
			f.Events = []item{f.item}
		}
		all = append(all, f.Events...)
	}
	return all, err
}

func (i item) name() string {
	switch {
	case i.Event != "":
		return fmt.Sprintf("'%s' %s", i.Title, on(i.When))
	case i.Mail != 0:
		return fmt.Sprintf("'%s' from %s", i.Subject, i.From)
	}
	return fmt.Sprintf("'%s'", i.Title)
}

func on(when string) string {
	if strings.HasPrefix(when, "today") {
		return when
	}
	return "on " + when
}

// chosen searches, and returns what is meant.
func (d *dialog) chosen(c clause, category, what, topic string, params object, pick int) ([]item, error) {
	params["query"] = query(topic)
	if params["from"] != nil && condition(topic) == "" {
		params["query"] = "" // "all meetings on Tuesday"
	}
	answer, err := d.invoke(category, "search", params)
	if err != nil {
		return nil, err
	}
	var found []item
	if answer.Status == llm.StatusError || json.Unmarshal([]byte(answer.Text()), &found) != nil {
		return nil, blocker("I could not look that up: " + answer.Text())
	}
	found = c.by(found)
	if exact := slices.DeleteFunc(slices.Clone(found), func(i item) bool { return !strings.EqualFold(i.Title+i.Subject, unquote(topic)) }); len(exact) > 0 {
		found = exact
	}
	switch {
	case len(found) == 0:
		return nil, blocker(fmt.Sprintf("I found no %s for '%s', so I did nothing about it.", what, strings.TrimSpace(unquote(topic))))
	case len(found) == 1 || c.every():
		return found, nil
	case pick < 0:
		return found[len(found)-1:], nil
	case pick > 0 && pick <= len(found):
		return found[pick-1 : pick], nil
	}
	text := fmt.Sprintf("I found %d of them, so I did nothing about it. Which one do you mean?", len(found))
	for i, one := range found {
		text += fmt.Sprintf("\n  %d. %s", i+1, one.name())
	}
	return nil, blocker(text)
}

// doing are the actions of the clauses that change what is there.
var doing = map[kind]string{
	moveEvent: "update", renameEvent: "update", deleteEvent: "delete", archiveMail: "archive", deleteMail: "delete",
	readMail: "get", completeTask: "complete", deleteTask: "delete",
}

var sender = regexp.MustCompile(`(?i)\b(?:from|by) `)

// by leaves those mails of whom a clause names as the sender.
func (c clause) by(found []item) []item {
	if !sender.MatchString(c.text) {
		return found
	}
	return slices.DeleteFunc(found, func(i item) bool {
		return i.Mail != 0 && !strings.Contains(strings.ToLower(i.From), strings.ToLower(query(c.fields["topic"])))
	})
}

func (d *dialog) changeEvent(c clause, pick int) ([]act, error) {
	tool, err := d.find("calendar", doing[c.kind])
	if err != nil {
		return nil, err
	}
	w := timesOf(c.fields["topic"], d.now)
	params := object{}
	if w.any() {
		params["from"], params["to"] = w.bounds()
	}
	found, err := d.chosen(c, "calendar", "event", w.rest, params, pick)
	if err != nil {
		return nil, err
	}
	var acts []act
	for _, i := range found {
		a := act{tool, object{"event_id": i.Event}}
		switch c.kind {
		case moveEvent:
			to := timesOf(c.fields["to"], d.now)
			start, err := time.ParseInLocation(localTime, i.Start, d.now.Location())
			if !to.day && !to.clock || (err != nil || to.part != "") && !to.clock {
				return nil, blocker(fmt.Sprintf("To when is %s to be moved? Tell me a day and a time.", i.name()))
			}
			a.params["start"] = to.onto(start).Format(localTime)
		case renameEvent:
			a.params["title"] = unquote(c.fields["to"])
		}
		acts = append(acts, a)
	}
	return acts, nil
}

// onto is a time with what is named in the place of what it was.
func (w when) onto(t time.Time) time.Time {
	day, hour := t, t
	if w.day || t.IsZero() {
		day = w.from
	}
	if w.clock {
		hour = w.from
	}
	return time.Date(day.Year(), day.Month(), day.Day(), hour.Hour(), hour.Minute(), 0, 0, w.from.Location())
}

// notSelected notes the conditions of a list that it does not select by.
func (d *dialog) notSelected(c clause, known ...string) {
	w := timesOf(c.text, d.now)
	rest := slices.DeleteFunc(strings.Fields(condition(w.rest)), func(word string) bool { return slices.Contains(known, strings.ToLower(word)) })
	if w.any() {
		rest = append(rest, "a time")
	}
	if len(rest) > 0 {
		d.notes = append(d.notes, fmt.Sprintf("I can not select these by %s, so this is the whole list.", strings.Join(rest, " and ")))
	}
}
