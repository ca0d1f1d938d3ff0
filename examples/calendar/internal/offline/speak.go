package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/weft-go/weft/llm"
)

// A report is what the graph says of a turn.
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
	said, notes, _ := strings.Cut(r.Planner, "\n")
	asked, byRules := strings.CutPrefix(said, noted)
	if !byRules {
		asked, notes = "", r.Planner // help, or a text of the graph
	}
	var out []string
	for _, s := range r.Steps {
		switch {
		case strings.Contains(asked+" ", " "+s.ID+" "):
			out = append(out, s.show())
		case !s.reads() || strings.HasPrefix(s.Tool, "read_"):
			out = append(out, s.tell(r.Steps))
		}
	}
	if notes = strings.TrimSpace(notes); notes != "" {
		out = append(out, notes)
	}
	if len(out) == 0 {
		return "There was nothing to do."
	}
	return strings.Join(out, "\n\n")
}

func (s step) reads() bool {
	for _, prefix := range []string{"list_", "search_", "get_", "find_", "read_"} {
		if strings.HasPrefix(s.Tool, prefix) {
			return true
		}
	}
	return false
}

// about finds what an id in the arguments stands for, among what was found.
func (s step) about(steps []step) item {
	var want item
	_ = json.Unmarshal(s.Args, &want) // without an id nothing is found
	for _, other := range steps {
		found, err := items(other.Message)
		if err != nil {
			continue
		}
		for _, i := range found {
			if want.Event != "" && i.Event == want.Event || want.Mail != 0 && i.Mail == want.Mail || want.Task != 0 && i.Task == want.Task {
				return i
			}
		}
	}
	return want
}

var shape = regexp.MustCompile(`^([a-z]+)_(?:[a-z]+_)?([a-z]+)$`)

// tell says what a step did.
func (s step) tell(steps []step) string {
	words := shape.FindStringSubmatch(s.Tool)
	if strings.HasPrefix(s.Tool, "read_") {
		return s.show()
	}
	if words == nil {
		return s.Tool + ": " + s.Message
	}
	verb, noun := words[1], words[2]
	i := s.about(steps)
	if noun == "message" {
		noun = "mail"
	}
	if !s.Success {
		return fmt.Sprintf("I could not %s the %s: %s", verb, noun, s.Message)
	}
	switch s.Tool {
	case "create_calendar_event":
		_ = json.Unmarshal([]byte(s.Message), &i) // it says what was made
		if i.Place != "" {
			return fmt.Sprintf("I've put '%s' into your calendar for %s (%s).", i.Title, i.When, i.Place)
		}
		return fmt.Sprintf("I've put '%s' into your calendar for %s.", i.Title, i.When)
	case "create_task":
		_ = json.Unmarshal([]byte(s.Message), &i)
		if i.Due != "" {
			return fmt.Sprintf("I've added the task '%s', due %s.", i.Title, strings.Replace(i.Due, "T", " at ", 1))
		}
		return fmt.Sprintf("I've added the task '%s'.", i.Title)
	case "delete_calendar_event":
		return fmt.Sprintf("I've deleted your %s that was scheduled for %s.", lower(i.Title), i.When)
	case "update_calendar_event":
		var to item
		_ = json.Unmarshal(s.Args, &to)
		text := fmt.Sprintf("I've changed your %s that was scheduled for %s.", lower(i.Title), i.When)
		if start, err := time.Parse(localTime, to.Start); err == nil {
			text += " It is now on " + start.Format("Monday 2 January at 3:04 PM") + "."
		}
		return text
	case "send_mail_message":
		var mail struct{ To []string }
		_ = json.Unmarshal(s.Args, &mail)
		return fmt.Sprintf("I've sent your mail to %s.", strings.Join(mail.To, ", "))
	}
	past := map[string]string{"delete": "deleted", "archive": "archived", "complete": "completed", "update": "changed"}[verb]
	return fmt.Sprintf("I've %s the %s %s.", past, noun, i.name())
}

// lower makes a title a part of a sentence, unless it begins with a name of
// capitals.
func lower(title string) string {
	r := []rune(title)
	if len(r) > 1 && unicode.IsLower(r[1]) {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}

// show lists what a step found.
func (s step) show() string {
	if !s.Success {
		return "I could not look that up: " + s.Message
	}
	var one item
	if json.Unmarshal([]byte(s.Message), &one) == nil && (one.Mail != 0 || one.Event != "") {
		return strings.TrimSpace(fmt.Sprintf("%s\n%s", strings.TrimSpace(one.name()), one.Text))
	}
	switch s.Tool {
	case "list_calendar_events":
		return s.days()
	case "find_free_time":
		return s.free()
	}
	var found []item
	if err := json.Unmarshal([]byte(s.Message), &found); err != nil {
		return s.Message
	}
	if len(found) == 0 {
		return strings.TrimSuffix(nothing[s.Tool], ".") + s.matching()
	}
	return heading[s.Tool] + lines(found, s.Tool) + warning(found[0].Warning)
}

// matching names the words that nothing mentions.
func (s step) matching() string {
	var in struct{ Query string }
	if json.Unmarshal(s.Args, &in) != nil || in.Query == "" {
		return "."
	}
	return fmt.Sprintf(" that mentions '%s'.", in.Query)
}

func lines(found []item, tool string) string {
	var b strings.Builder
	for _, i := range found {
		b.WriteString("\n  - " + i.line(tool))
	}
	return b.String()
}

func warning(text string) string {
	if text == "" {
		return ""
	}
	return "\n\n" + text
}

// days shows a calendar, day by day.
func (s step) days() string {
	var days []struct {
		Date    string
		Events  []item
		Warning string
	}
	if json.Unmarshal([]byte(s.Message), &days) != nil {
		return s.Message
	}
	if len(days) == 0 {
		return "There is nothing in your calendar then."
	}
	var b strings.Builder
	for _, day := range days {
		date, err := time.Parse(time.DateOnly, day.Date)
		if err != nil {
			return s.Message
		}
		fmt.Fprintf(&b, "%s:\n", date.Format("Monday 2 January"))
		for _, e := range day.Events {
			b.WriteString("  - " + e.hours(date) + ": " + e.Title)
			if e.Place != "" {
				b.WriteString(" (" + e.Place + ")")
			}
			b.WriteString("\n")
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String()) + warning(days[0].Warning)
}

// hours says from when to when an event goes on a day.
func (i item) hours(day time.Time) string {
	start, err := time.Parse(localTime, i.Start)
	end, endErr := time.Parse(localTime, i.End)
	switch {
	case err != nil || endErr != nil:
		return "all day"
	case start.Before(day):
		return "until " + end.Format("3:04 PM")
	case end.Equal(start):
		return start.Format("3:04 PM")
	}
	return start.Format("3:04 PM") + " to " + end.Format("3:04 PM")
}

// free shows when a person is free, or else why not.
func (s step) free() string {
	var f struct {
		Free    []item
		Busy    []item
		Warning string
	}
	if json.Unmarshal([]byte(s.Message), &f) != nil {
		return s.Message
	}
	if len(f.Free) > 0 {
		return "You are free:" + lines(f.Free, s.Tool) + warning(f.Warning)
	}
	if len(f.Busy) == 0 {
		return "You are not free then." + warning(f.Warning)
	}
	return "You are not free then:" + lines(f.Busy, "") + warning(f.Warning)
}

var heading = map[string]string{
	"search_calendar_events": "I found:", "list_mail_messages": "Your mail:", "search_mail_messages": "I found these mails:",
	"list_tasks": "Your tasks:", "search_tasks": "I found these tasks:",
}

var nothing = map[string]string{
	"search_calendar_events": "I found no event.", "list_mail_messages": "There is no such mail.",
	"search_mail_messages": "I found no mail.", "list_tasks": "You have no open tasks.", "search_tasks": "I found no task.",
}

func (i item) line(tool string) string {
	switch {
	case tool == "find_free_time":
		return i.When
	case i.Event != "" && i.Place != "":
		return fmt.Sprintf("%s: %s (%s)", i.When, i.Title, i.Place)
	case i.Event != "":
		return i.When + ": " + i.Title
	case i.Mail != 0 && i.Unread:
		return fmt.Sprintf("%s: %s (unread)", i.From, i.Subject)
	case i.Mail != 0:
		return i.From + ": " + i.Subject
	case i.Done != "":
		return i.Title + " (done)"
	case i.Due != "":
		return fmt.Sprintf("%s (due %s)", i.Title, strings.Replace(i.Due, "T", " at ", 1))
	}
	return i.Title
}
