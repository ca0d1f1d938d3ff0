package desk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/weft-go/weft/examples/calendar/internal/ics"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/tools"
)

// An Event is an event as a model sees it.
type Event struct {
	ID     string   `json:"event_id"`
	Title  string   `json:"title"`
	When   string   `json:"when"`
	Start  string   `json:"start"`
	End    string   `json:"end"`
	Place  string   `json:"place,omitempty"`
	With   []string `json:"with,omitempty"`
	Recurs bool     `json:"recurs,omitempty"`
	Free   bool     `json:"free,omitempty"` // the person is not busy at this time
	Notes  string   `json:"notes,omitempty"`
	// Warning says that a part of the calendar could not be read.
	Warning string `json:"warning,omitempty"`
}

const localTime = "2006-01-02T15:04"

func (d *Desk) event(e ics.Event) Event {
	form := localTime
	if e.AllDay {
		form = time.DateOnly
	}
	return Event{
		ID: e.ID, Title: shown(e.Title), When: d.during(e), Start: e.Start.Format(form), End: e.End.Format(form),
		Place: shown(e.Place), With: each(e.With, shown), Recurs: e.Recurs, Free: e.Free,
	}
}

// shown returns a text from another person. If the text contains control characters, bidirectional controls or tag
// characters, shown escapes it: they could change the terminal or the order of the text, or hide instructions.
func shown(text string) string {
	deceives := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r >= 0xe0000 && r <= 0xe0fff
	}
	if strings.ContainsFunc(text, deceives) {
		return tools.Visible(text)
	}
	return text
}

func each(texts []string, change func(string) string) []string {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = change(out[i])
	}
	return out
}

// during describes the start of an event, and the last day of an event of several whole days.
func (d *Desk) during(e ics.Event) string {
	when := d.When(e.Start, e.AllDay)
	if !e.AllDay {
		return when
	}
	if last := ics.Midnight(e.End, -1); last.After(e.Start) {
		return when + " to " + d.When(last, true) + ", all day"
	}
	return when + ", all day"
}

// warned turns an [ics.UnreadError] into a warning if something was found. Otherwise it returns the error.
func warned(found int, err error) (warning string, failed error) {
	if unread, ok := errors.AsType[*ics.UnreadError](err); ok && found > 0 {
		return "A part of the calendar could not be read: " + unread.Error(), nil
	}
	return "", err
}

// mostFound limits the number of results of a tool.
const mostFound = 50

func (d *Desk) events(found []ics.Event) []Event {
	out := make([]Event, 0, len(found))
	for _, e := range found[:min(len(found), mostFound)] {
		out = append(out, d.event(brief(e)))
	}
	return out
}

// Bounds on an event in a list, so that a long event leaves room for the others.
const (
	mostText   = 200 // bytes
	mostGuests = 5
)

// brief shortens the texts and the guests of an event, for a list.
func brief(e ics.Event) ics.Event {
	e.Title, e.Place = cut(e.Title), cut(e.Place)
	more := len(e.With) - mostGuests
	e.With = each(e.With[:min(len(e.With), mostGuests)], cut)
	if more > 0 {
		e.With = append(e.With, "and others")
	}
	return e
}

func cut(text string) string {
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(text[:mostText], "") + "…"
}

type spanInput struct {
	From string `json:"from,omitempty" jsonschema:"a time or a date; now if left out"`
	To   string `json:"to,omitempty" jsonschema:"a time, or the last day; a week later if left out"`
}

// A Day has the events of a date. An event of several whole days is in each of its days.
type Day struct {
	Date    string  `json:"date"`
	Events  []Event `json:"events"`
	Warning string  `json:"warning,omitempty"`
}

func (d *Desk) listEvents(_ context.Context, in spanInput) ([]Day, error) {
	from, to, err := d.span(in.From, in.To, d.now(), 7)
	if err != nil {
		return nil, err
	}
	found, err := d.calendar.Between(from, to)
	warning, err := warned(len(found), err)
	if err != nil {
		return nil, err
	}
	if more := len(found) - mostFound; more > 0 {
		found = found[:mostFound]
		warning = strings.TrimSpace(fmt.Sprintf("%d more events are not listed. %s", more, warning))
	}
	days := map[string][]Event{}
	for _, e := range found {
		last := later(e.Start, from)
		if e.AllDay {
			last = earlier(e.End, to).Add(-time.Second)
		}
		first := later(e.Start, from)
		for n := 0; n == 0 || n < mostFound && !ics.Midnight(first, n).After(last); n++ {
			date := ics.Midnight(first, n).Format(time.DateOnly)
			days[date] = append(days[date], d.event(brief(e)))
		}
	}
	list := []Day{}
	for _, date := range slices.Sorted(maps.Keys(days)) {
		list = append(list, Day{Date: date, Events: days[date]})
	}
	if warning != "" {
		list[0].Warning = warning
	}
	return list, nil
}

type searchInput struct {
	Query string `json:"query" jsonschema:"words that all have to be there"`
	From  string `json:"from,omitempty" jsonschema:"a time or a date; today if left out"`
	To    string `json:"to,omitempty" jsonschema:"a time, or the last day; a year later if left out"`
}

func (d *Desk) searchEvents(_ context.Context, in searchInput) ([]Event, error) {
	from, to, err := d.span(in.From, in.To, d.today(), 365)
	if err != nil {
		return nil, err
	}
	found, err := d.calendar.Search(in.Query, from, to)
	warning, err := warned(len(found), err)
	events := d.events(found)
	if warning != "" {
		events[0].Warning = warning
	}
	return events, err
}

type eventID struct {
	ID string `json:"event_id"`
}

func (d *Desk) getEvent(_ context.Context, in eventID) (Event, error) {
	e, err := d.calendar.Event(in.ID)
	out := d.event(e)
	out.Notes = shown(e.Notes)
	return out, err
}

type freeInput struct {
	From    string `json:"from,omitempty" jsonschema:"a time or a date; now if left out"`
	To      string `json:"to,omitempty" jsonschema:"a time, or the last day; a day later if left out"`
	Minutes int    `json:"minutes,omitempty" jsonschema:"how long it has to be at least; 30 if left out"`
}

// A Gap is a time range in which a person is free.
type Gap struct {
	From string `json:"from"`
	To   string `json:"to"`
	When string `json:"when"`
}

// A FreeTime has the times in which a person is free, and the events in which the person is busy.
type FreeTime struct {
	Free    []Gap   `json:"free"`
	Busy    []Event `json:"busy"`
	Warning string  `json:"warning,omitempty"`
}

// freeTime searches the hours from 8 to 18 of each day, or the whole requested range if it is shorter than 24 hours
// and within one day.
func (d *Desk) freeTime(_ context.Context, in freeInput) (FreeTime, error) {
	from, to, err := d.span(in.From, in.To, d.now(), 1)
	if err != nil {
		return FreeTime{}, err
	}
	found, err := d.calendar.Between(from, to)
	warning, err := warned(1, err)
	if err != nil {
		return FreeTime{}, err
	}
	found = slices.DeleteFunc(found, func(e ics.Event) bool { return e.Free || !e.End.After(e.Start) })
	least := time.Duration(max(in.Minutes, 0)) * time.Minute
	if least == 0 {
		least = 30 * time.Minute
	}
	gaps := []Gap{}
	for day := from; day.Before(to) && len(gaps) < mostFound; {
		y, m, n := day.Date()
		next := ics.Midnight(day, 1)
		begin, end := later(from, time.Date(y, m, n, 8, 0, 0, 0, d.zone)), earlier(to, time.Date(y, m, n, 18, 0, 0, 0, d.zone))
		if to.Sub(from) < 24*time.Hour && !to.After(next) {
			begin, end = from, to
		}
		for _, e := range found {
			if e.Start.Before(end) && e.End.After(begin) {
				gaps = d.gap(gaps, begin, earlier(e.Start, end), least)
				begin = later(begin, e.End)
			}
		}
		gaps = d.gap(gaps, begin, end, least)
		day = next
	}
	return FreeTime{gaps, d.events(found), warning}, nil
}

func (d *Desk) gap(gaps []Gap, from, to time.Time, least time.Duration) []Gap {
	if to.Sub(from) < least {
		return gaps
	}
	return append(gaps, Gap{from.Format(localTime), to.Format(localTime), d.When(from, false) + to.Format(" to 3:04 PM")})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

type createInput struct {
	Title string   `json:"title"`
	Start string   `json:"start" jsonschema:"a time, or a date for a whole day"`
	End   string   `json:"end,omitempty" jsonschema:"an hour, or a day, later if left out"`
	Place string   `json:"place,omitempty"`
	Notes string   `json:"notes,omitempty"`
	With  []string `json:"with,omitempty" jsonschema:"mail addresses of guests"`
}

func (d *Desk) createEvent(ctx context.Context, in createInput) (json.RawMessage, error) {
	start, allDay, err := d.parseTime(in.Start)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	end := start.Add(time.Hour)
	if allDay {
		end = ics.Midnight(start, 1)
	}
	if in.End != "" {
		var day bool
		if end, day, err = d.parseTime(in.End); err != nil {
			return nil, fmt.Errorf("end: %w", err)
		}
		if allDay && day {
			end = ics.Midnight(end, 1)
		}
	}
	if in.Title == "" || !end.After(start) {
		return nil, errors.New("an event has a title, and ends after it began")
	}
	e := ics.Event{ID: newID(ctx), Title: in.Title, Place: in.Place, Notes: in.Notes, With: in.With, Start: start, End: end, AllDay: allDay}
	answer, err := d.effect(ctx, func(*sql.Tx) (string, error) {
		text, err := json.Marshal(d.event(e))
		return string(text), err
	}, func(*sql.Tx) error { return d.calendar.Add(e) })
	return json.RawMessage(answer), err
}

// newID returns the id of a new event. A repeated call of a run gets the same id, so that it adds no second event.
func newID(ctx context.Context) string {
	key := graph.IdempotencyKey(ctx)
	call, ok := tools.CallFrom(ctx)
	if key == "" || !ok {
		return rand.Text() + "@weft.example"
	}
	sum := sha256.Sum256([]byte(key + "/" + call.ID))
	return hex.EncodeToString(sum[:12]) + "@weft.example"
}

type updateInput struct {
	ID    string  `json:"event_id"`
	Title *string `json:"title,omitempty"`
	Start *string `json:"start,omitempty" jsonschema:"a time; or a day, which leaves the time of day, or whole days, as they are"`
	End   *string `json:"end,omitempty" jsonschema:"a time, or the last day; the event lasts as long as before if left out"`
	Place *string `json:"place,omitempty"`
	Notes *string `json:"notes,omitempty"`
}

// change converts the arguments to an [ics.Change].
func (d *Desk) change(in updateInput) (ics.Change, error) {
	change := ics.Change{Title: in.Title, Place: in.Place, Notes: in.Notes}
	for _, part := range []struct {
		text *string
		into **time.Time
	}{{in.Start, &change.Start}, {in.End, &change.End}} {
		if part.text == nil {
			continue
		}
		t, day, err := d.parseTime(*part.text)
		if err != nil {
			return change, err
		}
		if part.into == &change.End && change.Start != nil && day != change.Days {
			return change, errors.New("start and end are both times, or both days")
		}
		*part.into, change.Days = &t, day
	}
	return change, nil
}

// A Changed describes an event before and after a change.
type Changed struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func (d *Desk) updateEvent(ctx context.Context, in updateInput) (json.RawMessage, error) {
	change, err := d.change(in)
	if err != nil {
		return nil, err
	}
	answer, err := d.effect(ctx, func(*sql.Tx) (string, error) {
		e, err := d.calendar.Event(in.ID)
		if err != nil {
			return "", err
		}
		after := change.Apply(e)
		if change.End != nil && !after.End.After(after.Start) {
			return "", errors.New("an event ends after it began")
		}
		text, err := json.Marshal(Changed{shown(e.Title), d.text(e), d.text(after)})
		return string(text), err
	}, func(*sql.Tx) error { return d.calendar.Change(in.ID, change) })
	return json.RawMessage(answer), err
}

// text returns an event as text for a person.
func (d *Desk) text(e ics.Event) string {
	form := "Monday 2 January 2006, 15:04"
	if e.AllDay {
		form, e.End = "Monday 2 January 2006", ics.Midnight(e.End, -1)
	}
	text := fmt.Sprintf("Title: %s\nFrom:  %s\nTo:    %s", e.Title, e.Start.Format(form), e.End.Format(form))
	if e.Place != "" {
		text += "\nPlace: " + e.Place
	}
	if e.Notes != "" {
		text += "\nNotes: " + e.Notes
	}
	return shown(text)
}

func (d *Desk) deleteEvent(ctx context.Context, in eventID) (string, error) {
	return d.effect(ctx, func(*sql.Tx) (string, error) {
		_, err := d.calendar.Event(in.ID)
		return "Event deleted", err
	}, func(*sql.Tx) error {
		err := d.calendar.Remove(in.ID)
		if errors.Is(err, ics.ErrNotFound) {
			return nil // look found the event, so an earlier attempt has removed it
		}
		return err
	})
}
