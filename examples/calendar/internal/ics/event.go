package ics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// An Event is something in the calendar. For an event that recurs, it is one occurrence.
type Event struct {
	// ID is that of the event in the file, followed by "#" and a time for an occurrence.
	ID     string
	Title  string
	Place  string
	Notes  string
	With   []string // the names or addresses of those who take part
	Start  time.Time
	End    time.Time // not included
	AllDay bool
	Recurs bool
	// Free says that the person is not busy at this time (TRANSP).
	Free bool
}

// Mentions reports whether each of some words is found in an event.
func (e Event) Mentions(words string) bool { return mentions(words, e.Title, e.Place, e.Notes, e.With) }

// calendar is a file that was read.
type calendar struct {
	root         *component
	zone         *time.Location
	zones        map[string]knownZone
	descriptions map[string]*component
	steps        *budget
}

// An entry is an event as the file has it, with what replaces its occurrences.
type entry struct {
	id     string
	at     *component
	start  moment
	length span
	// alone says that the file has this occurrence of an event, and not the event.
	alone    bool
	recurs   bool
	replaced []*replacement // in the order of wall
	onward   []*replacement // those of them that are for the following ones as well
}

// A replacement is what the file has for one occurrence (RECURRENCE-ID), or for this one and all that follow.
type replacement struct {
	at     *component
	wall   time.Time // of the occurrence, by the clock of the event
	onward bool
	start  moment
	length span
}

// entries reads the events. Those that can not be read are left out, and errs says why.
func (c *calendar) entries() (all []*entry, errs []error) {
	byID := map[string]*entry{}
	events := c.root.subs("VEVENT")
	bad := map[string]bool{}
	failed := func(at *component, err error) {
		errs = append(errs, unreadable(at, err))
		bad[at.text("UID")] = true
	}
	for _, at := range events {
		id := at.text("UID")
		if _, part := at.get("RECURRENCE-ID"); part || id == "" {
			continue
		}
		e, err := c.entry(at)
		if err != nil {
			failed(at, err)
			continue
		}
		if known := byID[id]; known == nil || sequence(at) >= sequence(known.at) {
			byID[id] = e
		}
	}
	for _, at := range events {
		id := at.text("UID")
		part, ok := at.get("RECURRENCE-ID")
		if !ok || id == "" || bad[id] {
			continue
		}
		if err := c.replace(byID, at, part); err != nil {
			failed(at, err)
			delete(byID, id)
		}
	}
	for _, e := range byID {
		e.order()
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *entry) int { return strings.Compare(a.id, b.id) })
	return all, errs
}

// unreadable names the event that has an error.
func unreadable(at *component, err error) error {
	return fmt.Errorf("event %.200q (%.200s): %w", at.text("UID"), at.text("SUMMARY"), err)
}

// sequence is the number of a version of an event. A later version has a higher number.
func sequence(at *component) int {
	n, _ := number(at.text("SEQUENCE"), 0, 1<<31-1) // none is 0
	return n
}

// entry reads an event.
func (c *calendar) entry(at *component) (*entry, error) {
	p, ok := at.get("DTSTART")
	if !ok {
		return nil, fmt.Errorf("it has no DTSTART")
	}
	_, rule := at.get("RRULE")
	_, dates := at.get("RDATE")
	e := &entry{id: at.text("UID"), at: at, recurs: rule || dates}
	var err error
	if e.start, err = c.moment(p); err != nil {
		return nil, err
	}
	e.length, err = c.length(at, e.start)
	return e, err
}

// length returns how long an event lasts.
func (c *calendar) length(at *component, start moment) (span, error) {
	p, ok := at.get("DTEND")
	if !ok {
		s, ok := duration(at.text("DURATION"))
		if !ok && start.allDay {
			s.days = 1
		}
		return s, nil
	}
	end, err := c.moment(p)
	if err != nil {
		return span{}, err
	}
	if start.allDay {
		return span{days: max(1, int(end.wall.Unix()-start.wall.Unix())/aDay)}, nil
	}
	return span{rest: max(0, end.instant().Sub(start.instant()))}, nil
}

// replace adds a component with a RECURRENCE-ID to its event, or as an event where there is none.
func (c *calendar) replace(byID map[string]*entry, at *component, part property) error {
	m, err := c.moment(part)
	if err != nil {
		return err
	}
	one, err := c.entry(at)
	if err != nil {
		return err
	}
	e := byID[one.id]
	if e == nil || e.alone {
		one.id, one.alone, one.recurs = one.id+"#"+m.wall.Format(wallForm), true, false
		byID[one.id] = one
		return nil
	}
	e.recurs = true
	e.replaced = append(e.replaced, &replacement{at, e.wallOf(m), strings.EqualFold(part.params["RANGE"], "THISANDFUTURE"), one.start, one.length})
	return nil
}

// order sorts what replaces occurrences, and leaves the last version of each.
func (e *entry) order() {
	slices.Reverse(e.replaced) // of equal versions the later one in the file counts
	slices.SortStableFunc(e.replaced, func(a, b *replacement) int {
		return cmp.Or(a.wall.Compare(b.wall), sequence(b.at)-sequence(a.at))
	})
	same := func(a, b *replacement) bool { return a.wall.Equal(b.wall) }
	for _, r := range e.replaced {
		if r.onward {
			e.onward = append(e.onward, r)
		}
	}
	e.onward = slices.CompactFunc(e.onward, same)
	slices.SortStableFunc(e.replaced, func(a, b *replacement) int { // what is for one occurrence wins
		return cmp.Or(a.wall.Compare(b.wall), cmp.Compare(btoi(a.onward), btoi(b.onward)))
	})
	e.replaced = slices.CompactFunc(e.replaced, same)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// wallOf returns a moment by the clock of the event. A date is the time on this date at which the event begins.
func (e *entry) wallOf(m moment) time.Time {
	switch {
	case e.start.allDay:
		return dateOf(m.wall)
	case m.allDay:
		return dateOf(m.wall).Add(e.start.wall.Sub(dateOf(e.start.wall)))
	case e.start.zone.instant(m.wall).Equal(m.instant()):
		return m.wall
	}
	return e.start.zone.wall(m.instant())
}

// replacing returns what the file has for an occurrence, or nil.
func (e *entry) replacing(wall time.Time) *replacement {
	byWall := func(r *replacement, t time.Time) int { return r.wall.Compare(t) }
	if i, found := slices.BinarySearchFunc(e.replaced, wall, byWall); found {
		return e.replaced[i]
	}
	if i, _ := slices.BinarySearchFunc(e.onward, wall, byWall); i > 0 {
		return e.onward[i-1]
	}
	return nil
}

// cancelled reports whether the file has something that does not happen.
func cancelled(at *component) bool { return strings.EqualFold(at.text("STATUS"), "CANCELLED") }

// event returns an event, or the occurrence of one.
func (c *calendar) event(e *entry, one occurrence) Event {
	at, id, start, length := e.at, e.id, moment{one.wall, e.start.allDay, e.start.zone}, e.length
	if one.length != nil {
		length = *one.length
	}
	if e.recurs {
		id += "#" + one.wall.Format(wallForm)
		if r := e.replacing(one.wall); r != nil {
			at, start, length = r.at, r.start, r.length
			start.wall = start.wall.Add(one.wall.Sub(r.wall))
		}
	}
	return Event{
		ID: id, Title: at.text("SUMMARY"), Place: at.text("LOCATION"), Notes: at.text("DESCRIPTION"), With: guests(at),
		Start: start.instant().In(c.zone), End: length.end(start).In(c.zone), AllDay: start.allDay, Recurs: e.recurs || e.alone,
		Free: strings.EqualFold(at.text("TRANSP"), "TRANSPARENT"),
	}
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

// mentions reports whether an event of the file, or what replaces one of its occurrences, may have all words.
func (e *entry) mentions(words string) bool {
	parts := []*component{e.at}
	for _, r := range e.replaced {
		parts = append(parts, r.at)
	}
	return slices.ContainsFunc(parts, func(at *component) bool {
		return mentions(words, at.text("SUMMARY"), at.text("LOCATION"), at.text("DESCRIPTION"), guests(at))
	})
}

func mentions(words, title, place, notes string, with []string) bool {
	about := strings.ToLower(strings.Join(append([]string{title, place, notes}, with...), "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(about, word) {
			return false
		}
	}
	return true
}
