package ics

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/teambition/rrule-go"
)

const (
	dateForm = "20060102"
	wallForm = "20060102T150405"
)

// A moment is a date or a time in a file. Wall is what a clock there shows, as
// if it were in UTC; rules of recurrence are about that.
type moment struct {
	wall   time.Time
	allDay bool
	zone   zone
}

func (m moment) instant() time.Time { return m.zone(m.wall) }

// A zone finds the instant at which a clock shows something.
type zone func(wall time.Time) time.Time

func inLocation(loc *time.Location) zone {
	return func(w time.Time) time.Time {
		return time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, loc)
	}
}

// moment reads a property that is a time. A time without a zone is one of the
// reader's.
func (c *calendar) moment(p property) (moment, error) {
	m := moment{zone: inLocation(c.zone)}
	value := strings.TrimSpace(p.value)
	var err error
	switch {
	case len(value) == len(dateForm):
		m.allDay = true
		m.wall, err = time.Parse(dateForm, value)
		return m, err
	case strings.HasSuffix(value, "Z"):
		m.zone = inLocation(time.UTC)
		value = strings.TrimSuffix(value, "Z")
	case p.params["TZID"] != "":
		if m.zone, err = c.zoneOf(p.params["TZID"]); err != nil {
			return m, err
		}
	}
	m.wall, err = time.Parse(wallForm, value)
	return m, err
}

// zoneOf finds a zone by its name, else by what the file says of it.
func (c *calendar) zoneOf(id string) (zone, error) {
	for _, name := range []string{id, strings.TrimPrefix(id, "/")} {
		if loc, err := time.LoadLocation(name); err == nil && name != "" {
			return inLocation(loc), nil
		}
	}
	if known, ok := c.zones[id]; ok {
		return known, nil
	}
	for _, z := range c.root.subs("VTIMEZONE") {
		if z.text("TZID") != id {
			continue
		}
		if loc, err := time.LoadLocation(z.text("X-LIC-LOCATION")); err == nil && z.text("X-LIC-LOCATION") != "" {
			return inLocation(loc), nil
		}
		if zone := described(id, z); zone != nil {
			c.zones[id] = zone
			return zone, nil
		}
	}
	return nil, fmt.Errorf("there is no time zone %q", id)
}

// described is a zone as a VTIMEZONE has it: the offset that came last counts.
func described(id string, z *component) zone {
	type change struct {
		at  time.Time // by the clocks there
		loc *time.Location
	}
	var all []change
	for _, o := range append(z.subs("STANDARD"), z.subs("DAYLIGHT")...) {
		start, err1 := time.Parse(wallForm, o.text("DTSTART"))
		offset, err2 := time.Parse("-0700", o.text("TZOFFSETTO"))
		if err1 != nil || err2 != nil {
			continue
		}
		if start.Year() < 1970 { // Outlook begins in 1601, and rules are followed for 292 years only
			start = start.AddDate(1970-start.Year(), 0, 0)
		}
		_, seconds := offset.Zone()
		loc := time.FixedZone(id, seconds)
		all = append(all, change{start, loc})
		if rule, err := ruleOf(o, start); err == nil && rule != nil {
			for _, at := range rule.Between(start, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), true) {
				all = append(all, change{at, loc})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b change) int { return a.at.Compare(b.at) })
	return func(wall time.Time) time.Time {
		at, found := slices.BinarySearchFunc(all, wall, func(c change, t time.Time) int { return c.at.Compare(t) })
		if !found {
			at = max(at-1, 0)
		}
		return inLocation(all[at].loc)(wall)
	}
}

// ruleOf reads a rule of recurrence without its end, or nil if there is none.
func ruleOf(c *component, start time.Time) (*rrule.RRule, error) {
	p, ok := c.get("RRULE")
	if !ok {
		return nil, nil
	}
	option, err := rrule.StrToROption(p.value)
	if err != nil {
		return nil, err
	}
	if option.Freq > rrule.DAILY {
		return nil, fmt.Errorf("it recurs more often than daily: %s", p.value)
	}
	// The end may be told in UTC while all else is in the time of a place.
	option.Dtstart, option.Until = start, time.Time{}
	return rrule.NewRRule(*option)
}

var until = regexp.MustCompile(`(?i)UNTIL=(\d{8}(?:T\d{6}Z?)?)`)

// end returns when a rule ends.
func (c *calendar) end(rule string, start moment) (time.Time, bool) {
	found := until.FindStringSubmatch(rule)
	if found == nil {
		return time.Time{}, false
	}
	m, err := c.moment(property{value: strings.ToUpper(found[1])})
	if err != nil {
		return time.Time{}, false
	}
	if !strings.HasSuffix(strings.ToUpper(found[1]), "Z") {
		m.zone = start.zone
	}
	if m.allDay && !start.allDay {
		return m.instant().AddDate(0, 0, 1).Add(-time.Second), true
	}
	return m.instant(), true
}

var lasting = regexp.MustCompile(`^\+?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?$`)

// duration reads a value such as P1DT2H30M.
func duration(value string) (days int, rest time.Duration, ok bool) {
	found := lasting.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(value)))
	if found == nil {
		return 0, 0, false
	}
	n := make([]int, len(found))
	for i, digits := range found[1:] {
		n[i], _ = strconv.Atoi(digits) // none are zero
	}
	return 7*n[0] + n[1], time.Duration(n[2])*time.Hour + time.Duration(n[3])*time.Minute + time.Duration(n[4])*time.Second, true
}
