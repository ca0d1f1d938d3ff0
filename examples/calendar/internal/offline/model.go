// Package offline is a model that needs no key and no network: rules that look
// at the words of a request, call the calendar's tools and make sentences of
// what these return. It understands English of a few shapes, lists them when
// asked for help, and says so when it does not understand. It is there so that
// the example runs anywhere. It speaks to the graph exactly as a language model
// would: it sees the messages and the tools' answers, and nothing else.
package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// New returns the offline model. Pace is how long it waits before each word; zero
// means not at all. It plans when it is given tools, and else speaks of a report.
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
	d.wanted.ID = fmt.Sprintf("call_%d", len(r.Messages)) // their number only grows
	return llm.Assistant("", d.wanted)
}

// A dialog is a turn so far. The planner is written as if calls returned their
// answers at once: it runs from its top each time, and stops at the first call
// that has no answer yet.
type dialog struct {
	text   string // what the user said
	now    time.Time
	done   []llm.Message // the answers, in the order of the calls
	next   int
	wanted llm.ToolCall
	asked  []string // the calls that looked up what the user asked for
	notes  []string // what else the user is to be told
	listed []item   // the mails that the turns before have listed or read last
}

// errAsked stops the planner at a call that has to be made.
var errAsked = errors.New("a tool has to be called")

var clock = regexp.MustCompile(`the time is (\S+),`)

// read finds out where a turn stands.
func read(messages []llm.Message) *dialog {
	d := &dialog{now: onClock(time.Now())}
	listing := map[string]string{} // the tools of the calls that list something or read a mail
	for _, m := range messages {
		switch m.Role {
		case llm.RoleSystem:
			if found := clock.FindStringSubmatch(m.Text()); found != nil {
				if t, err := time.Parse(time.RFC3339, found[1]); err == nil {
					d.now = onClock(t)
				}
			}
		case llm.RoleUser:
			d.keepMails(listing)
			d.text, d.done = m.Text(), nil
		case llm.RoleAssistant:
			for _, c := range m.ToolCalls {
				if tool := tools.Invoked(c); strings.HasPrefix(tool, "list_") || tool == "search_calendar_events" || tool == "read_mail_message" {
					listing[c.ID] = tool
				}
			}
		case llm.RoleTool:
			d.done = append(d.done, m)
		}
	}
	return d
}

// keepMails keeps the mails that a turn has listed, or the one that it has read. A list of other things takes their place, and
// so does a mail that was to be read and was not.
func (d *dialog) keepMails(listing map[string]string) {
	clauses, _ := understand(d.text)
	if slices.ContainsFunc(clauses, func(c clause) bool { return c.kind == readMail }) {
		d.listed = nil
	}
	for _, answer := range d.done {
		tool, ok := listing[answer.ToolCallID]
		if ok {
			d.listed = nil
		}
		var one item
		switch {
		case tool == "list_mail_messages":
			_ = json.Unmarshal([]byte(answer.Text()), &d.listed) // an error lists nothing
		case tool == "read_mail_message" && json.Unmarshal([]byte(answer.Text()), &one) == nil:
			d.listed = []item{one}
		}
	}
}

// onClock returns what a clock shows, as a time of UTC, which has each hour of each day.
func onClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// call calls a tool, and returns its answer.
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

// find finds the tool that does something with a kind of thing.
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
