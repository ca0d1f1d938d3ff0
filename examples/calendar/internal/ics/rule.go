package ics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// frequency is the length of the periods of a rule.
type frequency int

const (
	yearly frequency = iota
	monthly
	weekly
	daily
	hourly
	minutely
	secondly
)

var (
	frequencies = []string{"YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"}
	weekdays    = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}
)

// A mask is a set of numbers from a list. A negative number counts from the end.
type mask map[int]bool

// has reports whether the mask contains a place, counted from 1, in a range of the given length. An empty mask contains
// every place.
func (m mask) has(place, length int) bool {
	return len(m) == 0 || m[place] || m[place-length-1]
}

// A rule is a rule of recurrence (RFC 5545, 3.3.10). It applies to wall times.
type rule struct {
	freq     frequency
	interval int
	count    int    // 0 without one
	until    string // the value of UNTIL
	setPos   mask
	weekNo   mask
	yearDay  mask
	monthDay mask
	month    mask
	hour     mask
	minute   mask
	second   mask
	day      mask            // 0 is Sunday
	nth      map[[2]int]bool // a weekday, and which one of the month or year
	wkst     int
	// The numbers of hour, minute and second, sorted.
	hours, minutes, seconds []int
}

// lists are the parts of a rule that are lists of numbers, with the range of their numbers.
func (r *rule) lists() map[string]struct {
	into      *mask
	low, high int
	negative  bool
} {
	type list = struct {
		into      *mask
		low, high int
		negative  bool
	}
	return map[string]list{
		"BYSETPOS": {&r.setPos, 1, 366, true}, "BYWEEKNO": {&r.weekNo, 1, 53, true}, "BYYEARDAY": {&r.yearDay, 1, 366, true},
		"BYMONTHDAY": {&r.monthDay, 1, 31, true}, "BYMONTH": {&r.month, 1, 12, false},
		"BYHOUR": {&r.hour, 0, 23, false}, "BYMINUTE": {&r.minute, 0, 59, false}, "BYSECOND": {&r.second, 0, 60, false},
	}
}

// parseRule parses the value of an RRULE. It completes the rule from start.
func parseRule(value string, start time.Time) (*rule, error) {
	r := &rule{freq: -1, interval: 1, wkst: 1}
	lists := r.lists()
	for part := range strings.SplitSeq(strings.ToUpper(strings.Trim(value, " ;")), ";") {
		name, text, _ := strings.Cut(part, "=")
		err := error(nil)
		if list, ok := lists[name]; ok {
			*list.into, err = numbers(text, list.low, list.high, list.negative)
		} else {
			err = r.part(name, text)
		}
		if err != nil {
			return nil, fmt.Errorf("the rule %.80q: %s: %w", value, name, err)
		}
	}
	if r.freq < 0 {
		return nil, fmt.Errorf("the rule %.80q has no FREQ", value)
	}
	if r.second[60] { // a clock without leap seconds shows 59
		r.second[59] = true
		delete(r.second, 60)
	}
	r.complete(start)
	return r, nil
}

var errPart = errors.New("this value is unknown")

// part reads a part of a rule that is no list of numbers.
func (r *rule) part(name, text string) (err error) {
	switch name {
	case "FREQ":
		if r.freq = frequency(slices.Index(frequencies, text)); r.freq < 0 {
			return errPart
		}
	case "WKST":
		if r.wkst = slices.Index(weekdays, text); r.wkst < 0 {
			return errPart
		}
	case "UNTIL":
		r.until = text
	case "INTERVAL":
		r.interval, err = number(text, 1, maxInterval)
	case "COUNT":
		r.count, err = number(text, 1, 1<<31-1)
	case "BYDAY":
		return r.byDay(text)
	default:
		return errors.New("this part is unknown")
	}
	return err
}

const maxInterval = 1 << 24

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%.20q is no number from %d to %d", text, low, high)
	}
	return n, nil
}

func numbers(text string, low, high int, negative bool) (mask, error) {
	m := mask{}
	for one := range strings.SplitSeq(text, ",") {
		digits, minus := strings.CutPrefix(one, "-")
		n, err := number(digits, low, high)
		if err != nil || minus && !negative {
			return nil, fmt.Errorf("%.20q is no number from %d to %d", one, low, high)
		}
		if minus {
			n = -n
		}
		m[n] = true
	}
	return m, nil
}

func (r *rule) byDay(text string) error {
	r.day, r.nth = mask{}, map[[2]int]bool{}
	for one := range strings.SplitSeq(text, ",") {
		place := one[:max(0, len(one)-2)]
		day := slices.Index(weekdays, one[len(place):])
		if day < 0 {
			return fmt.Errorf("%.20q is no day of the week", one)
		}
		if place == "" {
			r.day[day] = true
			continue
		}
		n, err := number(strings.TrimPrefix(place, "+"), -53, 53)
		if err != nil || n == 0 {
			return fmt.Errorf("%.20q is no day of the week", one)
		}
		r.nth[[2]int{day, n}] = true
	}
	return nil
}

// complete sets the missing parts of the rule from start.
func (r *rule) complete(start time.Time) {
	if r.freq > monthly { // the place of a weekday has a meaning only in a month or year
		for at := range r.nth {
			r.day[at[0]] = true
		}
		r.nth = nil
	}
	byDay := len(r.day)+len(r.nth) > 0
	switch {
	case byDay || len(r.monthDay)+len(r.yearDay) > 0 || r.freq > weekly:
	case r.freq == weekly, len(r.weekNo) > 0:
		r.day = mask{int(start.Weekday()): true}
	default:
		r.monthDay = mask{start.Day(): true}
		if r.freq == yearly && len(r.month) == 0 {
			r.month = mask{int(start.Month()): true}
		}
	}
	for _, unit := range []struct {
		list *mask
		freq frequency
		at   int
	}{{&r.hour, hourly, start.Hour()}, {&r.minute, minutely, start.Minute()}, {&r.second, secondly, start.Second()}} {
		if len(*unit.list) == 0 && r.freq < unit.freq {
			*unit.list = mask{unit.at: true}
		}
	}
	r.hours, r.minutes, r.seconds = slices.Sorted(maps.Keys(r.hour)), slices.Sorted(maps.Keys(r.minute)), slices.Sorted(maps.Keys(r.second))
}

// fits reports whether a day belongs to the rule.
func (r *rule) fits(day time.Time) bool {
	y, m, d := day.Date()
	if !r.month.has(int(m), 12) {
		return false
	}
	monthLength := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	if !r.monthDay.has(d, monthLength) || !r.yearDay.has(day.YearDay(), yearLength(y)) {
		return false
	}
	if len(r.weekNo) > 0 {
		if no, of := r.week(day); !r.weekNo.has(no, of) {
			return false
		}
	}
	weekday := int(day.Weekday())
	if len(r.nth) == 0 {
		return len(r.day) == 0 || r.day[weekday]
	}
	place, length := d, monthLength
	if r.freq == yearly && len(r.month) == 0 {
		place, length = day.YearDay(), yearLength(y)
	}
	return r.day[weekday] || r.nth[[2]int{weekday, (place-1)/7 + 1}] || r.nth[[2]int{weekday, -((length-place)/7 + 1)}]
}

func yearLength(year int) int { return time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC).YearDay() }

// week returns the number of a day's week, and how many weeks its year has. The first week of a year
// is the first one with four days in it.
func (r *rule) week(day time.Time) (no, of int) {
	middle := r.weekStart(day).AddDate(0, 0, 3)
	last := r.weekStart(time.Date(middle.Year(), 12, 31, 0, 0, 0, 0, time.UTC)).AddDate(0, 0, 3)
	if last.Year() > middle.Year() {
		last = last.AddDate(0, 0, -7)
	}
	return (middle.YearDay()-1)/7 + 1, (last.YearDay()-1)/7 + 1
}

func (r *rule) weekStart(day time.Time) time.Time {
	return day.AddDate(0, 0, -((int(day.Weekday()) - r.wkst + 7) % 7))
}
