package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
)

// A report has the fields that the rules use of the graph's report of a turn.
type report struct {
	Steps     []step `json:"steps"`
	Cancelled bool   `json:"cancelled"`
	Planner   string `json:"planner"`
	Error     string `json:"error"`
}

type step struct {
	ID      string          `json:"id"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Success bool            `json:"success"`
	Message string          `json:"message"`
}

// speak makes sentences of a report.
func speak(messages []llm.Message) string {
	var r report
	if len(messages) == 0 || json.Unmarshal([]byte(messages[len(messages)-1].Text()), &r) != nil {
		return "I was told nothing that I could speak of."
	}
	switch {
	case r.Error != "":
		return "That could not be done: " + r.Error
	case r.Cancelled:
		return "Cancelled: I have not done it."
	}
	asked, byRules := strings.CutPrefix(r.Planner, noted)
	if !byRules && r.Planner != "" {
		return r.Planner // why nothing was done, or a text of the graph
	}
	var out []string
	for _, s := range r.Steps {
		switch {
		case strings.Contains(asked+" ", " "+s.ID+" "), s.Tool == "read_mail_message":
			out = append(out, s.show())
		case !strings.HasPrefix(s.Tool, "search_"):
			out = append(out, s.tell(r.Steps))
		}
	}
	if len(out) == 0 {
		return "There was nothing to do."
	}
	return strings.Join(out, "\n\n")
}

// tell describes the outcome of a step.
func (s step) tell(steps []step) string {
	if !s.Success {
		words := strings.Split(s.Tool, "_")
		return fmt.Sprintf("I could not %s the %s: %s", words[0], words[len(words)-1], s.Message)
	}
	var made item
	_ = json.Unmarshal([]byte(s.Message), &made) // the answer is the new event or task
	i := s.about(steps)
	switch s.Tool {
	case "create_calendar_event":
		return fmt.Sprintf("I've put '%s' into your calendar for %s.", made.Title, made.When)
	case "create_task":
		if made.Due != "" {
			return fmt.Sprintf("I've added the task '%s', due %s.", made.Title, made.Due)
		}
		return fmt.Sprintf("I've added the task '%s'.", made.Title)
	case "delete_calendar_event":
		return fmt.Sprintf("I've deleted your %s that was scheduled for %s.", lower(i.Title), i.When)
	case "update_calendar_event":
		var to struct{ Start string }
		_ = json.Unmarshal(s.Args, &to)
		start, _ := time.Parse(localTime, to.Start) // the rules have written this layout
		return fmt.Sprintf("I've moved your %s that was scheduled for %s. It is now on %s.", lower(i.Title), i.When, start.Format("Monday 2 January at 3:04 PM"))
	case "send_mail_message":
		var mail struct{ To []string }
		_ = json.Unmarshal(s.Args, &mail)
		return fmt.Sprintf("I've sent your mail to %s.", strings.Join(mail.To, ", "))
	}
	return fmt.Sprintf("I've completed the task %s.", i.name())
}

// about returns the item whose id is in the arguments, from the results of all steps.
func (s step) about(steps []step) item {
	var want item
	_ = json.Unmarshal(s.Args, &want)
	for _, other := range steps {
		var found []item
		if json.Unmarshal([]byte(other.Message), &found) != nil {
			continue
		}
		for _, i := range found {
			if i.Event == want.Event && i.Task == want.Task {
				return i
			}
		}
	}
	return want
}

// lower changes the first letter of a title to lower case if the second letter is lower case. It does not change "IT
// review" or "A4 paper".
func lower(title string) string {
	if len(title) > 1 && title[1] >= 'a' && title[1] <= 'z' {
		return strings.ToLower(title[:1]) + title[1:]
	}
	return title
}

// found is an element of a tool's list: a mail, a task, an event, or a day with its events.
type found struct {
	item
	Date   string `json:"date"`
	Events []item `json:"events"`
}

// show writes the result of a step that looked something up.
func (s step) show() string {
	var list []found
	switch {
	case !s.Success:
		return "I could not look that up: " + s.Message
	case s.Tool == "find_free_time":
		return s.free()
	case s.Tool == "read_mail_message":
		var one item
		_ = json.Unmarshal([]byte(s.Message), &one) // the tool writes valid JSON
		return strings.TrimSpace(one.name() + "\n" + one.Text)
	case json.Unmarshal([]byte(s.Message), &list) != nil:
		return s.Message
	case len(list) == 0:
		return s.nothing()
	case s.Tool == "list_calendar_events" && s.period() != "":
		return "Your calendar " + s.period() + ":\n\n" + days(list)
	case s.Tool == "list_calendar_events":
		return days(list)
	}
	text := map[string]string{"list_mail_messages": "Your mail:", "list_tasks": "Your tasks:"}[s.Tool]
	if text == "" {
		text = "I found:"
	}
	for _, f := range list {
		text += lines(f.item)
	}
	return text + after(list[0].Warning)
}

// free lists the free times, or the events of a busy time if there are none.
func (s step) free() string {
	var times struct {
		Free, Busy []item
		Warning    string
	}
	if json.Unmarshal([]byte(s.Message), &times) != nil {
		return s.Message
	}
	if len(times.Free) > 0 {
		return "You are free:" + lines(times.Free...) + after(times.Warning)
	}
	return "You are not free then:" + lines(times.Busy...) + after(times.Warning)
}

// nothing says that a step found nothing, and for which query or days.
func (s step) nothing() string {
	var in struct{ Query, From string }
	_ = json.Unmarshal(s.Args, &in)
	switch s.Tool {
	case "list_calendar_events":
		return "There is nothing in your calendar " + cmp.Or(s.period(), "then") + "."
	case "list_tasks":
		return "You have no open tasks."
	case "list_mail_messages":
		return "There is no such mail."
	}
	if in.From != "" {
		return fmt.Sprintf("I found no event that mentions '%s' then.", in.Query)
	}
	return fmt.Sprintf("I found no event that mentions '%s'.", in.Query)
}

// period describes the days of a step, or returns "" for a single day.
func (s step) period() string {
	var in struct{ From, To string }
	_ = json.Unmarshal(s.Args, &in)
	if in.From == "" {
		return "in the next seven days"
	}
	from, err := time.Parse(time.DateOnly, in.From)
	to, toErr := time.Parse(time.DateOnly, in.To)
	if err != nil || toErr != nil || from.Equal(to) {
		return ""
	}
	return "from " + from.Format("Monday 2 January") + " to " + to.Format("Monday 2 January")
}

func lines(list ...item) string {
	var b strings.Builder
	for _, i := range list {
		b.WriteString("\n  - " + i.line())
	}
	return b.String()
}

// after returns a warning for the end of an answer.
func after(warning string) string {
	if warning == "" {
		return ""
	}
	return "\n\n" + warning
}

// days shows a calendar, day by day.
func days(list []found) string {
	var b strings.Builder
	for _, day := range list {
		date, _ := time.Parse(time.DateOnly, day.Date) // the tool writes this layout
		fmt.Fprintf(&b, "%s:\n", date.Format("Monday 2 January"))
		for _, e := range day.Events {
			fmt.Fprintf(&b, "  - %s: %s\n", e.hours(date), e.at())
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String()) + after(list[0].Warning)
}
