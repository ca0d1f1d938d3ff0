package ics

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Event is something in the calendar; of one that recurs, an occurrence.
type Event struct {
	// ID is the event's own, with "#" and a time for an occurrence.
	ID     string
	Title  string
	Place  string
	Notes  string
	With   []string // the names or addresses of those who take part
	Start  time.Time
	End    time.Time // not included
	AllDay bool
	Recurs bool
}

// Mentions reports whether each of some words is found in an event.
func (e Event) Mentions(words string) bool {
	about := strings.ToLower(strings.Join(append([]string{e.Title, e.Place, e.Notes}, e.With...), "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(about, word) {
			return false
		}
	}
	return true
}

// calendar is a file that was read.
type calendar struct {
	root  *component
	zone  *time.Location
	zones map[string]zone // those of the file that were read
}

// most is how many occurrences of one event are looked at.
const most = 100_000

// entry is an event as the file has it, with what replaces its occurrences.
type entry struct {
	at       *component
	start    moment
	span     func(start time.Time) time.Time
	excluded map[int64]bool
	replaced map[int64]*component
}

// entries reads the events by their id. Those that can not be read are left out,
// and errs says why.
func (c *calendar) entries() (all map[string]*entry, errs []error) {
	all = map[string]*entry{}
	events := c.root.subs("VEVENT")
	for _, at := range events {
		if _, part := at.get("RECURRENCE-ID"); part || at.text("UID") == "" {
			continue
		}
		e, err := c.entry(at)
		if err != nil {
			errs = append(errs, fmt.Errorf("event %q (%s): %w", at.text("UID"), at.text("SUMMARY"), err))
			continue
		}
		all[at.text("UID")] = e
	}
	for _, at := range events {
		part, ok := at.get("RECURRENCE-ID")
		if master := all[at.text("UID")]; ok && master != nil {
			if m, err := c.moment(part); err == nil {
				master.replaced[m.instant().Unix()] = at
			}
		}
	}
	return all, errs
}

func (c *calendar) entry(at *component) (*entry, error) {
	p, ok := at.get("DTSTART")
	if !ok {
		return nil, fmt.Errorf("it has no DTSTART")
	}
	start, err := c.moment(p)
	if err != nil {
		return nil, err
	}
	e := &entry{at: at, start: start, excluded: map[int64]bool{}, replaced: map[int64]*component{}}
	e.span, err = c.span(at, start)
	for _, p := range at.all("EXDATE") {
		for value := range strings.SplitSeq(p.value, ",") {
			if m, err := c.moment(property{value, p.params}); err == nil {
				e.excluded[m.instant().Unix()] = true
			}
		}
	}
	return e, err
}

// span returns how the end of an event follows from its start.
func (c *calendar) span(at *component, start moment) (func(time.Time) time.Time, error) {
	if p, ok := at.get("DTEND"); ok {
		end, err := c.moment(p)
		if err != nil {
			return nil, err
		}
		if start.allDay {
			days := int(end.wall.Sub(start.wall).Hours() / 24)
			return func(t time.Time) time.Time { return t.AddDate(0, 0, days) }, nil
		}
		length := max(0, end.instant().Sub(start.instant()))
		return func(t time.Time) time.Time { return t.Add(length) }, nil
	}
	days, rest, ok := duration(at.text("DURATION"))
	if !ok && start.allDay {
		days = 1
	}
	return func(t time.Time) time.Time { return t.AddDate(0, 0, days).Add(rest) }, nil
}

// event is an event, or the occurrence of one at a time.
func (c *calendar) event(e *entry, wall time.Time) (Event, error) {
	at, id, recurs := e.at, e.at.text("UID"), e.recurs()
	start := moment{wall, e.start.allDay, e.start.zone}
	span := e.span
	if recurs {
		id += "#" + wall.Format(wallForm)
	}
	if other, ok := e.replaced[start.instant().Unix()]; ok && recurs {
		one, err := c.entry(other)
		if err != nil {
			return Event{}, err
		}
		at, start, span = other, one.start, one.span
	}
	out := Event{
		ID: id, Title: at.text("SUMMARY"), Place: at.text("LOCATION"), Notes: at.text("DESCRIPTION"), With: guests(at),
		Start: start.instant().In(c.zone), AllDay: start.allDay, Recurs: recurs,
	}
	out.End = span(out.Start)
	return out, nil
}

func (e *entry) recurs() bool {
	_, rule := e.at.get("RRULE")
	_, dates := e.at.get("RDATE")
	return rule || dates
}

// guests are the names of those who take part, else their addresses.
func guests(at *component) (with []string) {
	for _, p := range at.all("ATTENDEE") {
		address := p.value
		if scheme, rest, ok := strings.Cut(address, ":"); ok && strings.EqualFold(scheme, "mailto") {
			address = rest
		}
		if name := p.params["CN"]; name != "" && !strings.EqualFold(name, address) {
			address = name + " <" + address + ">"
		}
		with = append(with, address)
	}
	return with
}

// walls yields when the occurrences of an entry begin, in order.
func (c *calendar) walls(e *entry, yield func(wall time.Time) bool) error {
	if !e.recurs() {
		yield(e.start.wall)
		return nil
	}
	extra := c.dates(e)
	rule, err := ruleOf(e.at, e.start.wall)
	if err != nil {
		return err
	}
	next := func() (time.Time, bool) { return time.Time{}, false }
	if rule != nil {
		next = rule.Iterator()
	} else {
		extra = append([]time.Time{e.start.wall}, extra...)
	}
	last, ends := c.end(e.at.text("RRULE"), e.start)
	wall, more := next()
	for range most {
		t := wall
		switch {
		case more && ends && e.start.zone(wall).After(last):
			more = false
			continue
		case len(extra) > 0 && (!more || extra[0].Before(wall)):
			t, extra = extra[0], extra[1:]
		case !more:
			return nil
		default:
			wall, more = next()
		}
		if !e.excluded[e.start.zone(t).Unix()] && !yield(t) {
			return nil
		}
	}
	return nil
}

// dates are the occurrences that are told one by one.
func (c *calendar) dates(e *entry) (extra []time.Time) {
	for _, p := range e.at.all("RDATE") {
		for value := range strings.SplitSeq(p.value, ",") {
			if m, err := c.moment(property{value, p.params}); err == nil {
				extra = append(extra, m.wall)
			}
		}
	}
	slices.SortFunc(extra, time.Time.Compare)
	return extra
}

// between finds what happens within a time, up to a number of occurrences of
// each event.
func (c *calendar) between(e *entry, from, to time.Time, limit int) (found []Event, err error) {
	if e.at.text("STATUS") == "CANCELLED" {
		return nil, nil
	}
	var failed error
	err = c.walls(e, func(wall time.Time) bool {
		// An occurrence may have been moved by up to a month and still be found.
		begin := e.start.zone(wall)
		if begin.After(to.AddDate(0, 1, 0)) {
			return false
		}
		if begin.Before(from.AddDate(0, -1, 0)) && !e.span(begin).After(from) {
			return true
		}
		var event Event
		if event, failed = c.event(e, wall); failed != nil {
			return false
		}
		inside := event.Start.Before(to) && (event.End.After(from) || event.Start.Equal(from))
		other, moved := e.replaced[begin.Unix()]
		if inside && (!moved || other.text("STATUS") != "CANCELLED") {
			found = append(found, event)
		}
		return len(found) < limit
	})
	if err == nil {
		err = failed
	}
	return found, err
}
