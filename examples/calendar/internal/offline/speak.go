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
	var told, shown []string
	for _, s := range r.Steps {
		if s.reads() {
			shown = append(shown, s.show())
		} else {
			told = append(told, s.tell(r.Steps))
		}
	}
	switch {
	case len(told) > 0:
		return strings.Join(told, "\n")
	case r.Planner != noted && r.Planner != "":
		return r.Planner
	case len(shown) > 0:
		if last := len(shown) - 1; strings.HasPrefix(r.Steps[last].Tool, "read_") || strings.HasPrefix(r.Steps[last].Tool, "get_") {
			shown = shown[last:] // what was found on the way is not asked for
		}
		return strings.Join(shown, "\n")
	}
	return "There was nothing to do."
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
		return fmt.Sprintf("I've put '%s' into your calendar %s.", i.Title, "for "+i.When)
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
	found, err := items(s.Message)
	if err != nil {
		return s.Message
	}
	if len(found) == 0 {
		return nothing[s.Tool]
	}
	var b strings.Builder
	b.WriteString(heading[s.Tool])
	for _, i := range found {
		b.WriteString("\n  - " + i.line(s.Tool))
	}
	return b.String()
}

var heading = map[string]string{
	"list_calendar_events": "In your calendar:", "search_calendar_events": "I found:", "find_free_time": "You are free:",
	"list_mail_messages": "Your mail:", "search_mail_messages": "I found these mails:", "list_tasks": "Your tasks:", "search_tasks": "I found these tasks:",
}

var nothing = map[string]string{
	"list_calendar_events": "There is nothing in your calendar then.", "search_calendar_events": "I found no such event.",
	"find_free_time": "You are not free then.", "list_mail_messages": "There is no such mail.",
	"search_mail_messages": "I found no such mail.", "list_tasks": "You have no open tasks.", "search_tasks": "I found no such task.",
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
