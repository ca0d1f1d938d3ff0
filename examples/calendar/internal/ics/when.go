package ics

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	dateForm = "20060102"
	wallForm = "20060102T150405"
)

// A moment is a date or a time in a file. wall is its wall time, in UTC instead of its zone. Rules of recurrence
// apply to wall times.
type moment struct {
	wall   time.Time
	allDay bool
	zone   zone
}

func (m moment) instant() time.Time { return m.zone.instant(m.wall) }

// moment parses a property that is a time. A time without a zone is in the zone of the calendar.
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
	m.wall, err = parseWall(value)
	return m, err
}

// parseWall parses a date with a time. It reads the second 60 as 59, as on a clock without leap seconds.
func parseWall(value string) (time.Time, error) {
	if len(value) == len(wallForm) && strings.HasSuffix(value, "60") {
		value = value[:len(value)-2] + "59"
	}
	return time.Parse(wallForm, value)
}

// A span is a length of time: days of a calendar, and then an exact duration.
type span struct {
	days int
	rest time.Duration
}

// end returns the end of a span that begins at start.
func (s span) end(start moment) time.Time {
	start.wall = start.wall.AddDate(0, 0, s.days)
	return start.instant().Add(s.rest)
}

var lasting = regexp.MustCompile(`^\+?P(?:(\d{1,7})W)?(?:(\d{1,7})D)?(?:T(?:(\d{1,7})H)?(?:(\d{1,7})M)?(?:(\d{1,9})S)?)?$`)

// duration reads a value such as P1DT2H30M.
func duration(value string) (s span, ok bool) {
	found := lasting.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(value)))
	if found == nil {
		return s, false
	}
	n := make([]int, len(found))
	for i, digits := range found[1:] {
		n[i], _ = strconv.Atoi(digits) // a missing part is zero
	}
	return span{7*n[0] + n[1], time.Duration(n[2])*time.Hour + time.Duration(n[3])*time.Minute + time.Duration(n[4])*time.Second}, true
}

// period reads a value such as 20261020T140000Z/PT1H.
func (c *calendar) period(p property) (start moment, s span, err error) {
	first, last, _ := strings.Cut(p.value, "/")
	if start, err = c.moment(property{first, p.params}); err != nil {
		return start, s, err
	}
	if s, ok := duration(last); ok {
		return start, s, nil
	}
	end, err := c.moment(property{last, p.params})
	if err != nil {
		return start, s, fmt.Errorf("the period %.60q has no end", p.value)
	}
	return start, span{rest: max(0, end.instant().Sub(start.instant()))}, nil
}
