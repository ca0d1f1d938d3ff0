package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
  - reply to the first one that I will come
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
	clauses, ordered := understand(d.text)
	var acts []act
	var blocked []string
	for _, c := range clauses {
		if c.kind == help {
			return helpText, nil
		}
		more, err := d.clause(c)
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

// clause looks up what a clause is about, and returns what is to be done.
func (d *dialog) clause(c clause) ([]act, error) {
	switch c.kind {
	case listEvents, searchEvents, freeTime, createEvent, moveEvent, deleteEvent:
		return d.event(c)
	case listMail:
		return nil, d.listMail(c)
	case readMail:
		return d.change(c, "mail", "get")
	case sendMail:
		return d.sendMail(c)
	case replyMail:
		return d.replyMail(c)
	case listTasks:
		d.notSelected(c, "the whole list", "open", "left", "do")
		return nil, d.show("task", "list", object{"done": strings.Contains(strings.ToLower(c.text), "all")})
	case createTask:
		return d.createTask(c)
	case completeTask:
		return d.change(c, "task", "complete")
	case bookThing:
		return nil, blocker(fmt.Sprintf("I can not book or buy anything, so I did nothing. I can put it into your calendar: say schedule %s.", c.fields["topic"]))
	}
	return nil, blocker(fmt.Sprintf("I did not understand '%s'. I am a set of rules and not a language model: say help to see what I understand.", c.text))
}

// notSelected notes the conditions that do not select from a list. The list has a name.
func (d *dialog) notSelected(c clause, list string, known ...string) {
	w := timesOf(c.text, d.now)
	rest := slices.DeleteFunc(strings.Fields(condition(w.rest)), func(word string) bool { return slices.Contains(known, strings.ToLower(word)) })
	if w.any() {
		rest = append(rest, "a time")
	}
	if len(rest) > 0 {
		d.notes = append(d.notes, fmt.Sprintf("I can not select these by %s, so this is %s.", strings.Join(rest, " and "), list))
	}
}

// show looks up what the user asked for.
func (d *dialog) show(category, action string, params object) error {
	answer, err := d.invoke(category, action, params)
	if err == nil {
		d.asked = append(d.asked, answer.ToolCallID)
	}
	return err
}

// act finds the tool for something that is to be done.
func (d *dialog) act(category, action string, params object) ([]act, error) {
	name, err := d.find(category, action)
	return []act{{name, params}}, err
}

// change does something with a mail or a task that is there.
func (d *dialog) change(c clause, category, action string) ([]act, error) {
	tool, err := d.find(category, action)
	if err != nil {
		return nil, err
	}
	one, err := d.chosen(category, c.fields["topic"], object{})
	switch {
	case err != nil:
		return nil, err
	case one.Mail != 0:
		return []act{{tool, object{"mail_id": one.Mail}}}, nil
	}
	return []act{{tool, object{"task_id": one.Task}}}, nil
}

// chosen searches, and returns the thing that is meant.
func (d *dialog) chosen(category, topic string, params object) (item, error) {
	params["query"] = query(topic)
	if params["from"] != nil && condition(topic) == "" {
		params["query"] = "" // "my meeting on Tuesday"
	}
	answer, err := d.invoke(category, "search", params)
	if err != nil {
		return item{}, err
	}
	var found []item
	if answer.Status == llm.StatusError || json.Unmarshal([]byte(answer.Text()), &found) != nil {
		return item{}, blocker("I could not look that up: " + answer.Text())
	}
	exact := slices.DeleteFunc(slices.Clone(found), func(i item) bool { return !strings.EqualFold(i.Title+i.Subject, unquote(topic)) })
	if len(exact) > 0 {
		found = exact
	}
	switch {
	case len(found) == 0:
		what := map[string]string{"calendar": "event", "mail": "mail", "task": "task"}[category]
		return item{}, blocker(fmt.Sprintf("I found no %s for '%s', so I did nothing about it.", what, strings.TrimSpace(unquote(topic))))
	case len(found) == 1:
		return found[0], nil
	}
	text := fmt.Sprintf("I found %d of them, so I did nothing about it. Ask again, and say the day or more words of its name:", len(found))
	for _, one := range found {
		text += "\n  - " + one.name()
	}
	return item{}, blocker(text)
}

// createTask adds a task. A part of a day stands in its title, because a task is due on a day or at a time.
func (d *dialog) createTask(c clause) ([]act, error) {
	w := timesOf(c.fields["topic"], d.now)
	title := unquote(ends.ReplaceAllString(w.rest, ""))
	if w.part != "" && !w.clock {
		title += " (" + w.part + ")"
	}
	params := object{"title": title}
	switch {
	case w.wrong != "":
		return nil, noSuchDay(w.wrong)
	case w.odd() != "":
		return nil, notUnderstood(w.odd())
	case w.clock:
		params["due"] = w.from.Format(localTime)
	case w.day:
		params["due"] = w.to.Format(time.DateOnly)
	}
	return d.act("task", "create", params)
}
