// Package offline is a model that needs no key and no network, so that the example runs anywhere. Its rules
// understand a few forms of English sentences, which it lists when asked for help. They call the calendar's tools and
// make sentences from the results. If a request fits no form, they do nothing. As a language model would, the rules
// see only the messages and the tools' answers.
package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// New returns the offline model. pace is the wait before each word of an answer; zero means no wait. The model plans if
// the request has tools, and otherwise answers from a report.
func New(pace time.Duration) llm.Model { return rules.Model{Reply: reply, Pace: pace} }

func reply(r llm.Request) llm.Message {
	if len(r.Tools) == 0 {
		return llm.Assistant(speak(r.Messages))
	}
	d := read(r.Messages)
	text, err := d.plan()
	switch {
	case err == nil:
		return llm.Assistant(text)
	case r.ToolChoice.Mode == llm.ToolsNone:
		return llm.Assistant("I was asked for more than I can look up at once. Ask me for less, please.")
	}
	d.wanted.ID = fmt.Sprintf("call_%d", len(r.Messages)) // unique, as the number of messages only grows
	return llm.Assistant("", d.wanted)
}

// A dialog is the state of a turn. The planner is written as if calls returned their answers at once: for each reply
// of the model it runs from the start, and stops at the first call that has no answer yet.
type dialog struct {
	text   string // the user's message
	now    time.Time
	before []llm.Message // the answers to the calls of the previous turn
	done   []llm.Message // the answers, in the order of the calls
	next   int
	wanted llm.ToolCall
	asked  []string // the ids of the calls whose results answer the user
}

// errAsked stops the planner at a call that has to be made.
var errAsked = errors.New("a tool has to be called")

var clock = regexp.MustCompile(`the time is (\S+),`)

// read returns the dialog that the messages contain.
func read(messages []llm.Message) *dialog {
	d := &dialog{now: onClock(time.Now())}
	for _, m := range messages {
		switch m.Role {
		case llm.RoleSystem:
			if found := clock.FindStringSubmatch(m.Text()); found != nil {
				if t, err := time.Parse(time.RFC3339, found[1]); err == nil {
					d.now = onClock(t)
				}
			}
		case llm.RoleUser:
			d.text, d.before, d.done = m.Text(), d.done, nil
		case llm.RoleTool:
			d.done = append(d.done, m)
		}
	}
	return d
}

// onClock returns the local date and time of t as a time in UTC, where no hour is skipped or repeated.
func onClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// call returns the answer of a tool, or errAsked if the tool has yet to be called.
func (d *dialog) call(name string, arguments any) (llm.Message, error) {
	if d.next < len(d.done) {
		d.next++
		return d.done[d.next-1], nil
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return llm.Message{}, err
	}
	d.wanted = llm.ToolCall{Name: name, Arguments: text}
	return llm.Message{}, errAsked
}

type object map[string]any

// find returns the name of the tool for a category and an action.
func (d *dialog) find(category, action string) (string, error) {
	answer, err := d.call(tools.DiscoverTools, object{"categories": []string{category}, "actions": []string{action}})
	name, _, _ := strings.Cut(answer.Text(), " ")
	return name, err
}

// invoke finds a tool and calls it.
func (d *dialog) invoke(category, action string, params object) (llm.Message, error) {
	name, err := d.find(category, action)
	if err != nil {
		return llm.Message{}, err
	}
	return d.call(tools.InvokeTool, object{"tool_name": name, "params": params})
}

// show calls a tool whose result answers the user.
func (d *dialog) show(category, action string, params object) error {
	answer, err := d.invoke(category, action, params)
	d.asked = append(d.asked, answer.ToolCallID)
	return err
}

// search returns the items that a search finds.
func (d *dialog) search(category string, params object) (found []item, err error) {
	answer, err := d.invoke(category, "search", params)
	if err == nil && json.Unmarshal([]byte(answer.Text()), &found) != nil {
		return nil, blocker("I could not look that up: " + answer.Text())
	}
	return found, err
}

// An act is a call of a found tool that changes something.
type act struct {
	tool   string
	params object
}

// act returns the call that changes something, without calling it.
func (d *dialog) act(category, action string, params object) ([]act, error) {
	name, err := d.find(category, action)
	return []act{{name, params}}, err
}
