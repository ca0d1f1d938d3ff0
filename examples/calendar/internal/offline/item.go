package offline

import (
	"fmt"
	"strings"
	"time"
)

// An item is a thing that a search found: an event, a mail or a task. A free time has only When.
type item struct {
	Event   string `json:"event_id"`
	Mail    int64  `json:"mail_id"`
	Task    int64  `json:"task_id"`
	Title   string `json:"title"`
	Subject string `json:"subject"`
	When    string `json:"when"`
	Start   string `json:"start"`
	End     string `json:"end"`
	Folder  string `json:"folder"`
	From    string `json:"from"`
	To      string `json:"to"`
	Place   string `json:"place"`
	Due     string `json:"due"`
	Done    string `json:"done"`
	Unread  bool   `json:"unread"`
	Text    string `json:"text"`
	Warning string `json:"warning"`
}

// name names the item in a sentence.
func (i item) name() string {
	switch {
	case i.Event != "" && strings.HasPrefix(i.When, "today"):
		return fmt.Sprintf("'%s' %s", i.Title, i.When)
	case i.Event != "":
		return fmt.Sprintf("'%s' on %s", i.Title, i.When)
	case i.Mail != 0:
		return fmt.Sprintf("'%s' from %s", i.Subject, i.From)
	}
	return fmt.Sprintf("'%s'", i.Title)
}

// line is the item in a list.
func (i item) line() string {
	switch {
	case i.Event != "":
		return i.When + ": " + i.at()
	case i.Folder == "sent":
		return fmt.Sprintf("to %s: %s", i.To, i.Subject)
	case i.Mail != 0 && i.Unread:
		return fmt.Sprintf("%s: %s (unread)", i.From, i.Subject)
	case i.Mail != 0:
		return i.From + ": " + i.Subject
	case i.Done != "":
		return i.Title + " (done)"
	case i.Due != "":
		return fmt.Sprintf("%s (due %s)", i.Title, strings.Replace(i.Due, "T", " at ", 1))
	}
	return i.When + i.Title
}

// at is the title of an event and its place.
func (i item) at() string {
	if i.Place == "" {
		return i.Title
	}
	return fmt.Sprintf("%s (%s)", i.Title, i.Place)
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
