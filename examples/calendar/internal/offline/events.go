package offline

import (
	"fmt"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"
)

const localTime = "2006-01-02T15:04"

// event looks up events, or what is to be done with them.
func (d *dialog) event(c clause) ([]act, error) {
	said := []string{c.fields["topic"], c.fields["to"]}
	if c.kind != createEvent && c.kind != moveEvent {
		said = append(said, c.text)
	}
	for _, text := range said {
		w := timesOf(text, d.now)
		if w.wrong != "" {
			return nil, noSuchDay(w.wrong)
		}
		if odd := w.odd(); odd != "" {
			return nil, notUnderstood(odd)
		}
	}
	switch c.kind {
	case createEvent:
		return d.createEvent(c)
	case moveEvent, deleteEvent:
		return d.changeEvent(c)
	}
	return nil, d.showEvents(c)
}

// notUnderstood names words about time.
func notUnderstood(words string) blocker {
	return blocker(fmt.Sprintf("I did not understand the time '%s', so I did nothing. Tell me all of it again with a day and a time such as 9:30.", words))
}

// noSuchDay names a date that no calendar has.
func noSuchDay(words string) blocker {
	return blocker(fmt.Sprintf("There is no such day: '%s'. Tell me all of it again with another day.", words))
}

func (d *dialog) showEvents(c clause) error {
	w := timesOf(c.text, d.now)
	params := object{}
	if w.any() {
		params["from"], params["to"] = w.bounds()
	}
	if c.kind == freeTime {
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

// bounds are the first and the last time that are named, as a tool takes them.
func (w when) bounds() (from, to string) {
	y, m, d := w.from.Date()
	at := func(hour int) string { return time.Date(y, m, d, hour, 0, 0, 0, time.UTC).Format(localTime) }
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

// ends finds words that a title does not begin or end with.
var ends = regexp.MustCompile(`(?i)^(?:an? |the |my )+|[ ,]+(?:on|at|for|with|in|due|by)?$`)

func (d *dialog) createEvent(c clause) ([]act, error) {
	w := timesOf(c.fields["topic"], d.now)
	again := "Tell me all of it again with a day and a time."
	switch {
	case !w.any():
		return nil, blocker(fmt.Sprintf("When is '%s' to be? %s", w.rest, again))
	case w.part != "" && !w.clock:
		return nil, blocker(fmt.Sprintf("At what time is '%s' to be? %s", w.rest, again))
	case c.fields["book"] != "":
		d.notes = append(d.notes, "This is an entry in your calendar only: I can not book anything with anybody.")
	}
	if !w.day && w.from.Before(d.now) {
		w.from = w.from.AddDate(0, 0, 1)
	}
	params := object{"start": w.from.Format(localTime)}
	if w.length > 0 {
		params["end"] = w.from.Add(w.length).Format(localTime)
	}
	if !w.clock {
		params["start"], params["end"] = w.from.Format(time.DateOnly), w.to.Format(time.DateOnly)
	}
	title := w.rest
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

func (d *dialog) changeEvent(c clause) ([]act, error) {
	tool, err := d.find("calendar", map[kind]string{moveEvent: "update", deleteEvent: "delete"}[c.kind])
	if err != nil {
		return nil, err
	}
	w := timesOf(c.fields["topic"], d.now)
	params := object{}
	if w.any() {
		params["from"], params["to"] = w.bounds()
	}
	one, err := d.chosen("calendar", w.rest, params)
	if err != nil {
		return nil, err
	}
	a := act{tool, object{"event_id": one.Event}}
	if c.kind == deleteEvent {
		return []act{a}, nil
	}
	to := timesOf(c.fields["to"], d.now)
	start, timed := time.Parse(localTime, one.Start)
	switch {
	case to.clock && to.day:
		a.params["start"] = to.from.Format(localTime)
	case to.clock && timed == nil:
		a.params["start"] = start.Format(time.DateOnly) + to.from.Format("T15:04")
	case to.day && to.part == "" && timed == nil:
		a.params["start"] = to.from.Format(time.DateOnly) + start.Format("T15:04")
	case to.day && to.part == "":
		a.params["start"] = to.from.Format(time.DateOnly) // whole days
	default:
		return nil, blocker(fmt.Sprintf("To when is %s to be moved? Tell me a day and a time.", one.name()))
	}
	return []act{a}, nil
}
