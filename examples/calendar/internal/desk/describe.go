package desk

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/tools"
)

// Describe returns a description of an action, for a person to confirm. It names an event, mail or task by its title
// or subject, not by its id.
func (d *Desk) Describe(ctx context.Context, a tools.Action) string {
	text, err := d.describe(ctx, a)
	tool := strings.ReplaceAll(a.Tool, "_", " ")
	switch {
	case text != "" && err == nil:
		return text
	case strings.Contains(string(a.Arguments), "${"): // the arguments need an earlier action's result
		return tool + ", for what an earlier step finds"
	case err != nil:
		return fmt.Sprintf("%s (%v)", tool, err)
	}
	return fmt.Sprintf("%s with %s", tool, a.Arguments)
}

func (d *Desk) describe(ctx context.Context, a tools.Action) (string, error) {
	switch {
	case a.Tool == "send_mail_message":
		var in sendInput
		err := json.Unmarshal(a.Arguments, &in)
		return fmt.Sprintf("send a mail to %s: '%s', which says: %s", strings.Join(in.To, ", "), in.Subject, in.Text), err
	case a.Tool == "create_calendar_event":
		var in createInput
		if err := json.Unmarshal(a.Arguments, &in); err != nil {
			return "", err
		}
		start, allDay, err := d.parseTime(in.Start)
		return fmt.Sprintf("create the calendar event: '%s' on %s", in.Title, d.When(start, allDay)), err
	case a.Tool == "create_task":
		var in taskInput
		err := json.Unmarshal(a.Arguments, &in)
		return fmt.Sprintf("create the task: '%s'", in.Title), err
	case strings.HasSuffix(a.Tool, "_calendar_event"):
		return d.describeEvent(a)
	case strings.HasSuffix(a.Tool, "_mail_message"):
		return d.describeRow(ctx, a, func(tx *sql.Tx) (string, error) {
			var in mailID
			if err := json.Unmarshal(a.Arguments, &in); err != nil {
				return "", err
			}
			m, err := mailOf(ctx, tx, in.ID)
			return fmt.Sprintf("the mail: '%s' from %s", m.Subject, m.From), err
		})
	case strings.HasSuffix(a.Tool, "_task"):
		return d.describeRow(ctx, a, func(tx *sql.Tx) (string, error) {
			var in taskChange
			if err := json.Unmarshal(a.Arguments, &in); err != nil {
				return "", err
			}
			t, err := taskOf(ctx, tx, in.ID)
			return fmt.Sprintf("the task: '%s'", t.Title) + d.changes(a.Arguments, "task_id", ""), err
		})
	}
	return "", nil
}

func (d *Desk) describeEvent(a tools.Action) (string, error) {
	var in eventID
	if err := json.Unmarshal(a.Arguments, &in); err != nil {
		return "", err
	}
	e, err := d.calendar.Event(in.ID)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s the calendar event: '%s' %s", verb(a.Tool), e.Title, on(d.during(e)))
	switch {
	case e.Recurs && !strings.Contains(in.ID, "#"):
		text += ", and every other time that it recurs"
	case e.Recurs:
		text += ", this time only"
	}
	var change updateInput
	if err := json.Unmarshal(a.Arguments, &change); err != nil {
		return "", err
	}
	if change.Start != nil { // a date alone keeps the time of day: show the resulting time
		to, err := d.change(change)
		if err != nil {
			return "", err
		}
		after := to.Apply(e)
		return text + d.changes(a.Arguments, "event_id", d.When(after.Start, after.AllDay)), nil
	}
	return text + d.changes(a.Arguments, "event_id", ""), nil
}

// on puts "on" before a time of [Desk.When], unless it begins with "today".
func on(when string) string {
	if strings.HasPrefix(when, "today") {
		return when
	}
	return "on " + when
}

func verb(tool string) string {
	word, _, _ := strings.Cut(tool, "_")
	if word == "update" {
		return "change"
	}
	return word
}

func (d *Desk) describeRow(ctx context.Context, a tools.Action, row func(tx *sql.Tx) (string, error)) (text string, err error) {
	err = d.transact(ctx, func(tx *sql.Tx) error {
		text, err = row(tx)
		return err
	})
	return verb(a.Tool) + " " + text, err
}

// changes lists the arguments in parentheses, without the id. If start is not empty, it replaces the argument start.
func (d *Desk) changes(arguments json.RawMessage, id, start string) string {
	var all map[string]any
	if json.Unmarshal(arguments, &all) != nil {
		return ""
	}
	delete(all, id)
	var parts []string
	for _, name := range []string{"title", "start", "end", "place", "notes", "due"} {
		value, ok := all[name]
		if !ok {
			continue
		}
		text := fmt.Sprint(value)
		if t, day, err := d.parseTime(text); err == nil && name != "title" && name != "notes" {
			text = d.When(t, day)
		}
		if name == "start" && start != "" {
			text = start
		}
		parts = append(parts, name+": "+text)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
