package ics

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// An Event is an event in the calendar, or one occurrence of an event that recurs.
type Event struct {
	// ID is the id of the event in the file. For an occurrence, "#" and a time follow.
	ID     string
	Title  string
	Place  string
	Notes  string
	With   []string // the guests: a name with an address, or an address
	Start  time.Time
	End    time.Time // exclusive
	AllDay bool
	Recurs bool
	// Free says that the person is not busy at this time (TRANSP).
	Free bool
}

// Mentions reports whether the title, place, notes and guests of an event have each of the words.
func (e Event) Mentions(words string) bool { return mentions(words, e.Title, e.Place, e.Notes, e.With) }

// calendar is the parsed content of a file.
type calendar struct {
	root         *component
	zone         *time.Location
	zones        map[string]knownZone
	descriptions map[string]*component
	steps        *budget
}

// An entry is an event of the file, with the replacements of its occurrences.
type entry struct {
	id     string
	at     *component
	start  moment
	length span
	// sequence is the number of a version of an event. A later version has a higher number.
	sequence int
	// alone says that the file has only this occurrence of the event.
	alone    bool
	recurs   bool
	replaced []*replacement // in the order of wall
	onward   []*replacement // the replacements that also replace the following occurrences
	read     *details       // nil until they are needed
}

// The details of an event are its texts, which are read once for all occurrences.
type details struct {
	title, place, notes string
	with                []string
	free                bool
}

// A replacement is an event of the file that replaces one occurrence (RECURRENCE-ID), or one and all that follow it.
type replacement struct {
	*entry
	wall time.Time // the wall time of the occurrence, in the event's zone
	// onward says that it also replaces the following occurrences.
	onward bool
}

// Bounds on the events of a file, and on the texts and guests of one event.
const (
	maxEvents = 30_000
	maxText   = 20_000
	maxGuests = 100
	maxGuest  = 500 // bytes of a name and an address
)

// entries reads the events. It leaves out events that cannot be read, and all events after the first maxEvents. errs
// has the reasons.
func (c *calendar) entries() (all []*entry, errs []error) {
	byID := map[string]*entry{}
	events := c.root.subs("VEVENT")
	if more := len(events) - maxEvents; more > 0 {
		at := events[maxEvents]
		errs = append(errs, unreadable(at, fmt.Errorf("it and %d others are left out: a calendar has at most %d events", more-1, maxEvents)))
		events = events[:maxEvents]
	}
	bad := map[string]bool{}
	failed := func(at *component, err error) {
		errs = append(errs, unreadable(at, err))
		bad[at.text("UID")] = true
	}
	for _, at := range events {
		if _, part := at.get("RECURRENCE-ID"); part {
			continue
		}
		id := identify(at)
		e, err := c.entry(at)
		if err != nil {
			failed(at, err)
			continue
		}
		if known := byID[id]; known == nil || e.sequence >= known.sequence {
			byID[id] = e
		}
	}
	for _, at := range events {
		id := at.text("UID")
		part, ok := at.get("RECURRENCE-ID")
		if !ok || bad[id] {
			continue
		}
		if id == "" {
			errs = append(errs, unreadable(at, errors.New("it replaces an occurrence (RECURRENCE-ID) of an unknown event: it has no UID")))
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

// identify returns the UID of an event. An event without one gets a UID derived from its content, which is in the file
// after the next change of the calendar.
func identify(at *component) string {
	id := at.text("UID")
	if id == "" {
		sum := sha256.Sum256(at.content(nil))
		id = hex.EncodeToString(sum[:12]) + "@weft.example"
		at.set("UID:" + id)
	}
	return id
}

// content appends the lines of a component, without its UID and the times that a program changes in each export.
func (c *component) content(to []byte) []byte {
	for _, i := range c.items {
		if i.sub != nil {
			to = i.sub.content(append(append(to, i.sub.name...), '\n'))
		} else if name := nameOf(i.text); name != "DTSTAMP" && name != "LAST-MODIFIED" && name != "UID" {
			to = append(append(to, i.text...), '\n')
		}
	}
	return to
}

// unreadable names the event that has an error.
func unreadable(at *component, err error) error {
	return fmt.Errorf("event %.200q (%.200s): %w", at.text("UID"), at.text("SUMMARY"), err)
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
	e.sequence, _ = number(at.text("SEQUENCE"), 0, 1<<31-1) // none is 0
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
		if start.allDay && (!ok || s == span{}) {
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

// replace adds a component with a RECURRENCE-ID to its event, or as an event of its own if the file does not have the
// event.
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
	e.replaced = append(e.replaced, &replacement{one, e.wallOf(m), strings.EqualFold(part.params["RANGE"], "THISANDFUTURE")})
	return nil
}

// order sorts the replacements of occurrences, and keeps the last version of each.
func (e *entry) order() {
	slices.Reverse(e.replaced) // of equal versions, keep the last one in the file
	slices.SortStableFunc(e.replaced, func(a, b *replacement) int {
		return cmp.Or(a.wall.Compare(b.wall), b.sequence-a.sequence)
	})
	same := func(a, b *replacement) bool { return a.wall.Equal(b.wall) }
	for _, r := range e.replaced {
		if r.onward {
			e.onward = append(e.onward, r)
		}
	}
	e.onward = slices.CompactFunc(e.onward, same)
	slices.SortStableFunc(e.replaced, func(a, b *replacement) int { // a replacement of only one occurrence has priority
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

// wallOf returns a moment as a wall time in the event's zone. For a date, it is the time of day at which the event
// begins.
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

// replacing returns the replacement of an occurrence, or nil.
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

// cancelled reports whether an event has the status CANCELLED.
func cancelled(at *component) bool { return strings.EqualFold(at.text("STATUS"), "CANCELLED") }

// source returns the entry of an occurrence: its replacement, or else the event.
func (e *entry) source(wall time.Time) *entry {
	if !e.recurs {
		return e
	}
	if r := e.replacing(wall); r != nil {
		return r.entry
	}
	return e
}

// details reads the texts of an event.
func (e *entry) details() *details {
	if e.read == nil {
		e.read = &details{
			title: e.at.short("SUMMARY"), place: e.at.short("LOCATION"), notes: e.at.short("DESCRIPTION"),
			with: guests(e.at), free: strings.EqualFold(e.at.short("TRANSP"), "TRANSPARENT"),
		}
	}
	return e.read
}

// short returns the beginning of the text of a property. It cuts the value before it unescapes it.
func (c *component) short(name string) string {
	p, _ := c.get(name)
	return plain(clip(p.value, maxText))
}

// event returns an occurrence of an event, or the event if it does not recur.
func (c *calendar) event(e *entry, one occurrence) Event {
	id, start, length := e.id, moment{one.wall, e.start.allDay, e.start.zone}, e.length
	if one.length != nil {
		length = *one.length
	}
	if e.recurs {
		id += "#" + one.wall.Format(wallForm)
		if r := e.replacing(one.wall); r != nil {
			start, length = r.start, r.length
			start.wall = start.wall.Add(one.wall.Sub(r.wall))
		}
	}
	d := e.source(one.wall).details()
	return Event{
		ID: id, Title: d.title, Place: d.place, Notes: d.notes, With: d.with, Free: d.free,
		Start: start.instant().In(c.zone), End: length.end(start).In(c.zone), AllDay: start.allDay, Recurs: e.recurs || e.alone,
	}
}

// clip cuts a text that is too long.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// guests returns the guests of an event, each with a name and an address, or with an address only.
func guests(at *component) (with []string) {
	more := 0
	for _, i := range at.items {
		if i.sub != nil || nameOf(i.text) != "ATTENDEE" {
			continue
		}
		if len(with) == maxGuests {
			more++
			continue
		}
		p := split(i.text)
		address := p.value
		if scheme, rest, ok := strings.Cut(address, ":"); ok && strings.EqualFold(scheme, "mailto") {
			address = rest
		}
		if name := p.params["CN"]; name != "" && !strings.EqualFold(name, address) {
			address = name + " <" + address + ">"
		}
		with = append(with, clip(address, maxGuest))
	}
	if more > 0 {
		with = append(with, fmt.Sprintf("and %d more", more))
	}
	return with
}

// mentions reports whether an event of the file has all words.
func (e *entry) mentions(words string) bool {
	d := e.details()
	return mentions(words, d.title, d.place, d.notes, d.with)
}

func mentions(words, title, place, notes string, with []string) bool {
	about := strings.ToLower(strings.Join(append([]string{title, place, notes}, with...), "\n"))
	words = strings.ToLower(words)
	return mentionsAll(about, words) || mentionsAll(about, strings.ReplaceAll(words, "-", ""))
}

func mentionsAll(about, words string) bool {
	parts := strings.FieldsFunc(about, between)
	for word := range strings.FieldsFuncSeq(words, between) {
		begins := slices.ContainsFunc(parts, func(part string) bool { return strings.HasPrefix(part, word) })
		if !begins && !joined(parts, word) && (isASCII(word) || !strings.Contains(about, word)) {
			return false
		}
	}
	return true
}

// between reports whether a character separates words.
func between(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }

// joined reports whether two words that follow each other make a word, as "stand-up" makes "standup".
func joined(parts []string, word string) bool {
	for i := range len(parts) - 1 {
		if rest, ok := strings.CutPrefix(word, parts[i]); ok && rest != "" && rest == parts[i+1] {
			return true
		}
	}
	return false
}

// isASCII reports whether a word is ASCII. Other words may be of a script that does not separate words by spaces.
func isASCII(word string) bool {
	return strings.IndexFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}
