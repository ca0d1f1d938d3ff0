package offline

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
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
	From    string `json:"from"`
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

// line returns the item as a line of a list.
func (i item) line() string {
	switch {
	case i.Event != "":
		return i.When + ": " + i.at()
	case i.Mail != 0 && i.Unread:
		return fmt.Sprintf("%s: %s (unread)", i.From, i.Subject)
	case i.Mail != 0:
		return i.From + ": " + i.Subject
	case i.Due != "":
		return fmt.Sprintf("%s (due %s)", i.Title, i.Due)
	}
	return i.When + i.Title
}

// at returns the title of an event and its place.
func (i item) at() string {
	if i.Place == "" {
		return i.Title
	}
	return fmt.Sprintf("%s (%s)", i.Title, i.Place)
}

// hours returns the times of day at which an event takes place on a day.
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

// only returns the item with exactly the name, or the only item. The argument what describes the search in an error, such
// as "event that mentions".
func only(found []item, what string, said words) (item, error) {
	exact := slices.DeleteFunc(slices.Clone(found), func(i item) bool { return !strings.EqualFold(i.Title, said["name"]) })
	if len(exact) > 0 {
		found = exact
	}
	switch len(found) {
	case 0:
		asked := strings.TrimSpace(fmt.Sprintf("'%s' %s", said["name"], said["day"]))
		return item{}, blocker(fmt.Sprintf("I found no %s %s, so I did nothing.", what, asked))
	case 1:
		return found[0], nil
	}
	text := fmt.Sprintf("I found %d of them, so I did nothing. Ask again, and say the day or more words of its name:", len(found))
	for _, one := range found {
		text += "\n  - " + one.name()
	}
	return item{}, blocker(text)
}

// mentions reports whether a text has the words of a name, one after the other.
func mentions(text, name string) bool {
	apart := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	spaced := func(text string) string {
		return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), apart), " ") + " "
	}
	return strings.Contains(spaced(text), spaced(name))
}
