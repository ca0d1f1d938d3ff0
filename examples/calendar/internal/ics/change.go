package ics

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Add adds an event with its id. If the calendar already has the id, Add does nothing.
func (f *File) Add(e Event) error {
	c, err := f.read()
	if err != nil {
		return err
	}
	events := c.root.subs("VEVENT")
	for _, known := range events {
		if known.text("UID") == e.ID {
			return nil
		}
	}
	if len(events) >= maxEvents {
		return fmt.Errorf("%s is not changed: a calendar has at most %d events", f.path, maxEvents)
	}
	at := &component{name: "VEVENT"}
	at.set("UID:" + escaped(e.ID))
	f.stamp(at)
	at.set("SUMMARY:" + escaped(e.Title))
	setTimes(at, e.Start, e.End, e.AllDay)
	if e.Place != "" {
		at.set("LOCATION:" + escaped(e.Place))
	}
	if e.Notes != "" {
		at.set("DESCRIPTION:" + escaped(e.Notes))
	}
	for _, who := range e.With {
		at.add("ATTENDEE:mailto:" + strings.Join(strings.Fields(who), ""))
	}
	calendars := c.root.subs("VCALENDAR")
	calendars[0].items = append(calendars[0].items, item{sub: at})
	return f.write(c)
}

// A Change is a change of an event. A nil field leaves its part unchanged.
type Change struct {
	Title, Place, Notes *string
	Start, End          *time.Time
	// Days says that Start and End are days, without a time. End is the last day.
	Days bool
}

// Apply returns the event with the change.
//
// Without an end, the event keeps its length. A whole-day event that gets a time lasts one hour. If Days is set, a
// whole-day event stays a whole-day event. An event with times becomes one if the change has a start and an end. With
// only one of them, it keeps its time of day.
func (change Change) Apply(e Event) Event {
	for _, part := range []struct{ to, from *string }{{&e.Title, change.Title}, {&e.Place, change.Place}, {&e.Notes, change.Notes}} {
		if part.from != nil {
			*part.to = *part.from
		}
	}
	switch {
	case change.Start == nil && change.End == nil:
	case !change.Days:
		change.times(&e)
	case e.AllDay || change.Start != nil && change.End != nil:
		change.wholeDays(&e)
	default:
		change.day(&e)
	}
	return e
}

// times sets the start and the end of an event to times.
func (change Change) times(e *Event) {
	long := e.End.Sub(e.Start)
	if e.AllDay {
		long = time.Hour
	}
	if change.Start != nil {
		e.Start, e.End = *change.Start, change.Start.Add(long)
	}
	if change.End != nil {
		e.End = *change.End
	}
	e.AllDay = false
}

// wholeDays sets the start and the end of an event to whole days.
func (change Change) wholeDays(e *Event) {
	days := 1
	if e.AllDay {
		days = int(dateOf(e.End).Sub(dateOf(e.Start)) / (aDay * time.Second))
	}
	if change.Start != nil {
		e.Start, e.End = Midnight(*change.Start, 0), Midnight(*change.Start, days)
	}
	if change.End != nil {
		e.End = Midnight(*change.End, 1)
	}
	e.AllDay = true
}

// day moves the beginning or the end of an event to a day, at the same time of day.
func (change Change) day(e *Event) {
	on := func(day, at time.Time) time.Time {
		y, m, d := day.Date()
		return time.Date(y, m, d, at.Hour(), at.Minute(), at.Second(), 0, at.Location())
	}
	if change.End != nil {
		e.End = on(*change.End, e.End)
		return
	}
	long := e.End.Sub(e.Start)
	e.Start = on(*change.Start, e.Start)
	e.End = e.Start.Add(long)
}

// Midnight returns the start of the day of t plus a number of days. Where clocks change at midnight, the day begins at
// another hour.
func Midnight(t time.Time, days int) time.Time {
	y, m, n := t.Date()
	begin := time.Date(y, m, n+days, 0, 0, 0, 0, t.Location())
	if noon := time.Date(y, m, n+days, 12, 0, 0, 0, t.Location()); begin.Day() != noon.Day() {
		_, begin = begin.ZoneBounds()
	}
	return begin
}

// Change changes an event, or one occurrence.
func (f *File) Change(id string, change Change) error {
	c, err := f.read()
	if err != nil {
		return err
	}
	e, one, err := c.lookup(id)
	if err != nil {
		return err
	}
	at := e.at
	if e.recurs {
		if id == e.id && (change.Start != nil || change.End != nil) {
			return errors.New("the time of one occurrence can be changed, not that of a whole series")
		}
		if id != e.id {
			at = c.occurrence(e, one)
		}
	}
	now := c.event(e, one)
	f.stamp(at)
	for name, text := range map[string]*string{"SUMMARY": change.Title, "LOCATION": change.Place, "DESCRIPTION": change.Notes} {
		if text != nil {
			at.set(name + ":" + escaped(*text))
		}
	}
	if change.Start != nil || change.End != nil {
		now = change.Apply(now)
		setTimes(at, now.Start, now.End, now.AllDay)
	}
	return f.write(c)
}

// occurrence returns the component of one occurrence. If the file has none, it adds one.
func (c *calendar) occurrence(e *entry, one occurrence) *component {
	from := e.at
	if r := e.replacing(one.wall); r != nil {
		if r.wall.Equal(one.wall) && !r.onward {
			return r.at
		}
		from = r.at
	}
	at := &component{name: "VEVENT", items: slices.Clone(from.items)}
	now := c.event(e, one)
	at.remove("RRULE", "EXRULE", "EXDATE", "RDATE", "RECURRENCE-ID")
	at.set(e.like("RECURRENCE-ID", one.wall))
	setTimes(at, now.Start, now.End, now.AllDay)
	for _, calendar := range c.root.subs("VCALENDAR") {
		if i := slices.IndexFunc(calendar.items, func(i item) bool { return i.sub == from }); i >= 0 {
			calendar.items = slices.Insert(calendar.items, i+1, item{sub: at})
		}
	}
	return at
}

// like returns a property with a time of the event, in the same form as its DTSTART.
func (e *entry) like(name string, wall time.Time) string {
	p, _ := e.at.get("DTSTART")
	switch {
	case e.start.allDay:
		return name + ";VALUE=DATE:" + wall.Format(dateForm)
	case strings.HasSuffix(p.value, "Z"):
		return name + ":" + wall.Format(wallForm) + "Z"
	case p.params["TZID"] != "":
		return fmt.Sprintf("%s;TZID=%q:%s", name, p.params["TZID"], wall.Format(wallForm))
	}
	return name + ":" + wall.Format(wallForm)
}

// Remove removes an event, or one occurrence.
func (f *File) Remove(id string) error {
	c, err := f.read()
	if err != nil {
		return err
	}
	e, one, err := c.lookup(id)
	if err != nil {
		return err
	}
	gone := func(i item) bool { return i.sub == e.at }
	switch {
	case e.alone:
	case id == e.id:
		gone = func(i item) bool { return i.sub != nil && i.sub.name == "VEVENT" && i.sub.text("UID") == e.id }
	default:
		r := e.replacing(one.wall)
		gone = func(i item) bool { return r != nil && i.sub == r.at && r.wall.Equal(one.wall) && !r.onward }
		e.at.add(e.like("EXDATE", one.wall))
		f.stamp(e.at)
	}
	for _, calendar := range c.root.subs("VCALENDAR") {
		calendar.items = slices.DeleteFunc(calendar.items, gone)
	}
	return f.write(c)
}

// stamp sets the time of the last change of an event to now.
func (f *File) stamp(at *component) {
	now := f.now().UTC().Format(wallForm) + "Z"
	at.set("DTSTAMP:" + now)
	at.set("LAST-MODIFIED:" + now)
}

func setTimes(at *component, start, end time.Time, allDay bool) {
	at.remove("DTSTART", "DTEND", "DURATION")
	if allDay {
		at.set("DTSTART;VALUE=DATE:" + start.Format(dateForm))
		at.set("DTEND;VALUE=DATE:" + end.Format(dateForm))
		return
	}
	at.set("DTSTART:" + start.UTC().Format(wallForm) + "Z")
	at.set("DTEND:" + end.UTC().Format(wallForm) + "Z")
}
