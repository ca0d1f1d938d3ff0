package ics

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds on the events that one call finds, and on the dates that the file lists for one event.
const (
	maxOccurrences = 5_000
	maxFound       = 10_000
	maxDates       = 10_000
)

// An occurrence is one time of an event that recurs, as a wall time in the event's zone.
type occurrence struct {
	wall   time.Time
	length *span // nil means the length of the event
}

// occurrences returns the occurrences of an event between two times, in order. Replaced occurrences are among them,
// at their original times.
func (c *calendar) occurrences(e *entry, from, to time.Time) ([]occurrence, error) {
	if !e.recurs {
		return []occurrence{{wall: e.start.wall}}, nil
	}
	all, err := c.dates(e)
	if err != nil {
		return nil, err
	}
	rules := e.at.all("RRULE")
	if len(rules) == 0 {
		all = append(all, occurrence{wall: e.start.wall})
	}
	steps := c.steps.meter()
	err = c.expand(e, rules, from, to, steps, func(wall time.Time) { all = append(all, occurrence{wall: wall}) })
	if err != nil {
		return nil, err
	}
	gone, err := c.excluded(e)
	if err != nil {
		return nil, err
	}
	err = c.expand(e, e.at.all("EXRULE"), from, to, steps, func(wall time.Time) { gone[e.start.zone.instant(wall).Unix()] = true })
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(o occurrence) bool {
		return e.in(gone, o.wall) || o.wall.Before(from) || o.wall.After(to)
	})
	slices.SortStableFunc(all, func(a, b occurrence) int { return a.wall.Compare(b.wall) })
	return slices.CompactFunc(all, func(a, b occurrence) bool { return a.wall.Equal(b.wall) }), nil
}

// key returns the key of a moment in a set. The keys of days and of times differ.
func (m moment) key() int64 {
	if m.allDay {
		return -1<<62 + m.wall.Unix()
	}
	return m.instant().Unix()
}

// in reports whether a set of keys contains a time of the event, or its day.
func (e *entry) in(set map[int64]bool, wall time.Time) bool {
	return set[e.start.zone.instant(wall).Unix()] || set[moment{dateOf(wall), true, nil}.key()]
}

// expand yields the times of an event's rules between from and to.
func (c *calendar) expand(e *entry, rules []property, from, to time.Time, steps *meter, yield func(wall time.Time)) error {
	for _, p := range rules {
		r, err := parseRule(p.value, e.start.wall)
		if err != nil {
			return err
		}
		past, err := r.past(e.start)
		if err != nil {
			return err
		}
		n := 0
		err = r.expand(e.start.wall, from, to, steps, func(wall time.Time) bool {
			if past(wall) || wall.After(to) {
				return false
			}
			if !wall.Before(from) {
				yield(wall)
				n++
			}
			return n <= maxOccurrences
		})
		if err != nil {
			return err
		}
		if n > maxOccurrences {
			return fmt.Errorf("it occurs more often than the limit of %d times between %s and %s", maxOccurrences, from.Format(time.DateOnly), to.Format(time.DateOnly))
		}
	}
	return nil
}

// past returns a function that reports whether a time is after the end of the rule (UNTIL).
func (r *rule) past(start moment) (func(wall time.Time) bool, error) {
	value := r.until
	if value == "" {
		return func(time.Time) bool { return false }, nil
	}
	if len(value) == len(dateForm) || start.allDay {
		last, err := time.Parse(dateForm, value[:min(len(value), len(dateForm))])
		return func(wall time.Time) bool { return dateOf(wall).After(last) }, err
	}
	text, utc := strings.CutSuffix(value, "Z")
	last, err := parseWall(text)
	if utc {
		return func(wall time.Time) bool { return start.zone.instant(wall).After(last) }, err
	}
	return func(wall time.Time) bool { return wall.After(last) }, err
}

// dates returns the occurrences that the file lists one by one (RDATE).
func (c *calendar) dates(e *entry) (all []occurrence, err error) {
	values, err := e.values("RDATE")
	for _, p := range values {
		for value := range strings.SplitSeq(p.value, ",") {
			p := property{value, p.params}
			var one occurrence
			var m moment
			var err error
			if strings.Contains(value, "/") {
				one.length = new(span)
				m, *one.length, err = c.period(p)
			} else {
				m, err = c.moment(p)
			}
			if err != nil {
				return nil, err
			}
			one.wall = e.wallOf(m)
			all = append(all, one)
		}
	}
	return all, err
}

// values returns the properties with a name, which are lists of dates.
func (e *entry) values(name string) ([]property, error) {
	all, n := e.at.all(name), 0
	for _, p := range all {
		n += 1 + strings.Count(p.value, ",")
	}
	if n > maxDates {
		return nil, fmt.Errorf("its %s has more than the limit of %d dates", name, maxDates)
	}
	return all, nil
}

// excluded returns the keys of the moments that the file excludes (EXDATE).
func (c *calendar) excluded(e *entry) (map[int64]bool, error) {
	gone := map[int64]bool{}
	values, err := e.values("EXDATE")
	if err != nil {
		return nil, err
	}
	for _, p := range values {
		for value := range strings.SplitSeq(p.value, ",") {
			m, err := c.moment(property{value, p.params})
			if err != nil {
				return nil, err
			}
			if e.start.allDay {
				m.wall, m.allDay = dateOf(m.wall), true
			}
			gone[m.key()] = true
		}
	}
	return gone, nil
}

// between returns the occurrences of an event that overlap a time range and whose entry fits.
func (c *calendar) between(e *entry, from, to time.Time, fits func(*entry) bool) (found []Event, err error) {
	if cancelled(e.at) {
		return nil, nil
	}
	add := func(one occurrence) {
		event := c.event(e, one)
		if event.Start.Before(to) && (event.End.After(from) || event.Start.Equal(from)) && fits(e.source(one.wall)) {
			found = append(found, event)
		}
	}
	before, after := e.reach()
	all, err := c.occurrences(e, e.start.zone.wall(from).Add(-before), e.start.zone.wall(to).Add(after))
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if r := e.replacing(one.wall); r == nil || !r.wall.Equal(one.wall) && !cancelled(r.at) {
			add(one)
		}
	}
	gone, err := c.excluded(e)
	for _, r := range e.replaced {
		if !cancelled(r.at) && !e.in(gone, r.wall) {
			add(occurrence{wall: r.wall})
		}
	}
	return found, err
}

// reach returns by how much between must extend a time range, before and after, to find every occurrence that
// overlaps it.
func (e *entry) reach() (before, after time.Duration) {
	long := e.length
	shift := time.Duration(0)
	for _, r := range e.replaced {
		if r.onward {
			long.days, long.rest = max(long.days, r.length.days), max(long.rest, r.length.rest)
			shift = max(shift, r.start.wall.Sub(r.wall).Abs())
		}
	}
	for _, p := range e.at.all("RDATE") {
		if strings.Contains(p.value, "/") {
			shift = max(shift, 366*aDay*time.Second) // a period may be longer than the event
		}
	}
	return time.Duration(long.days+2)*aDay*time.Second + long.rest + shift, 2*aDay*time.Second + shift
}
