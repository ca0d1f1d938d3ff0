package ics

import (
	"fmt"
	"time"
)

// Bounds on the work that a file can cause. A step is a day, or a time of a day, that is compared with a rule.
const (
	maxRuleSteps = 100_000
	maxSteps     = 2_000_000
)

// A budget counts the steps that are left for the events of a file, in one call.
type budget struct{ total int }

// A meter counts the steps for one event or time zone. They also count against the budget of the calendar.
type meter struct {
	all  *budget
	left int
}

func (b *budget) meter() *meter { return &meter{b, maxRuleSteps} }

func (m *meter) take(n int) error {
	m.left -= n
	m.all.total -= n
	switch {
	case m.left < 0:
		return fmt.Errorf("its rule of recurrence needs more than the limit of %d steps", maxRuleSteps)
	case m.all.total < 0:
		return fmt.Errorf("the rules of recurrence of this calendar need more than the limit of %d steps", maxSteps)
	}
	return nil
}

// lastYear is the last year in which something may occur.
const lastYear = 9999

// expand yields the times of a rule that begins at start, in order. It yields all times between from and to, and may
// yield others. All times are wall times.
func (r *rule) expand(start, from, to time.Time, steps *meter, yield func(wall time.Time) bool) error {
	x := &expansion{rule: r, start: start, from: from, steps: steps, yield: yield, left: r.count}
	first := 0
	if r.count == 0 {
		first = max(0, r.index(start, from)/r.interval)
	} else {
		x.from = start // COUNT includes the occurrences before from
	}
	for k := first; ; k++ {
		at := r.period(start, k*r.interval)
		if at.After(to) || at.Year() > lastYear {
			return nil
		}
		if err := x.add(at); err != nil || x.ended {
			return err
		}
	}
}

// index returns the number of the period that contains a time. The period of start has the number 0.
func (r *rule) index(start, at time.Time) int {
	seconds := int(at.Unix() - start.Unix())
	switch r.freq {
	case yearly:
		return at.Year() - start.Year()
	case monthly:
		return 12*(at.Year()-start.Year()) + int(at.Month()-start.Month())
	case weekly:
		return int(r.weekStart(dateOf(at)).Unix()-r.weekStart(dateOf(start)).Unix()) / (7 * 86400)
	case daily:
		return int(dateOf(at).Unix()-dateOf(start).Unix()) / 86400
	case hourly:
		return seconds / 3600
	case minutely:
		return seconds / 60
	}
	return seconds
}

// period returns the beginning of the period with the number k. The period of start has the number 0.
func (r *rule) period(start time.Time, k int) time.Time {
	y, m, d := start.Date()
	switch r.freq {
	case yearly:
		return time.Date(y+k, 1, 1, 0, 0, 0, 0, time.UTC)
	case monthly:
		return time.Date(y, m+time.Month(k), 1, 0, 0, 0, 0, time.UTC)
	case weekly:
		return r.weekStart(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)).AddDate(0, 0, 7*k)
	case daily:
		return time.Date(y, m, d+k, 0, 0, 0, 0, time.UTC)
	case hourly:
		return time.Date(y, m, d, start.Hour()+k, 0, 0, 0, time.UTC)
	case minutely:
		return time.Date(y, m, d, start.Hour(), start.Minute()+k, 0, 0, time.UTC)
	}
	return time.Unix(start.Unix()+int64(k), 0).UTC()
}

func dateOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// An expansion is the state of one call of expand.
type expansion struct {
	*rule
	start, from time.Time
	steps       *meter
	yield       func(wall time.Time) bool
	left        int // the number of occurrences that COUNT still permits
	ended       bool
}

// add yields the occurrences of the period that begins at a time.
func (x *expansion) add(at time.Time) error {
	if len(x.setPos) == 0 {
		return x.candidates(at, x.emit)
	}
	var all []time.Time
	if err := x.candidates(at, func(t time.Time) bool { all = append(all, t); return true }); err != nil {
		return err
	}
	for i, t := range all {
		if x.setPos.has(i+1, len(all)) && !x.emit(t) {
			return nil
		}
	}
	return nil
}

func (x *expansion) emit(t time.Time) bool {
	if t.Before(x.start) {
		return true
	}
	x.ended = !x.yield(t)
	if x.count > 0 {
		x.left--
		x.ended = x.ended || x.left == 0
	}
	return !x.ended
}

// candidates yields the times in a period that fit all parts of the rule but COUNT, UNTIL and BYSETPOS.
func (x *expansion) candidates(at time.Time, yield func(time.Time) bool) error {
	day, end := dateOf(at), dateOf(at).AddDate(0, 0, 1)
	switch x.freq {
	case yearly:
		end = day.AddDate(1, 0, 0)
	case monthly:
		end = day.AddDate(0, 1, 0)
	case weekly:
		end = day.AddDate(0, 0, 7)
	}
	if len(x.setPos) == 0 && day.Before(x.from) {
		day = dateOf(latest(day, x.from))
	}
	for ; day.Before(end); day = day.AddDate(0, 0, 1) {
		if err := x.steps.take(1); err != nil {
			return err
		}
		if x.freq <= monthly && !x.month.has(int(day.Month()), 12) { // skip to the last day of the month
			day = time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC)
			continue
		}
		if !x.fits(day) {
			continue
		}
		if more, err := x.times(day, at, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// times yields the times of a day that fit the rule. If the period is an hour, a minute or a second, times yields only
// times within the period.
func (x *expansion) times(day, at time.Time, yield func(time.Time) bool) (more bool, err error) {
	hours, minutes, seconds := x.hours, x.minutes, x.seconds
	if x.freq >= hourly {
		hours = own(x.hour, at.Hour())
	}
	if x.freq >= minutely {
		minutes = own(x.minute, at.Minute())
	}
	if x.freq >= secondly {
		seconds = own(x.second, at.Second())
	}
	if err := x.steps.take(len(hours) * len(minutes) * len(seconds)); err != nil {
		return false, err
	}
	for _, h := range hours {
		for _, m := range minutes {
			for _, s := range seconds {
				if !yield(day.Add(time.Duration(h*3600+m*60+s) * time.Second)) {
					return false, nil
				}
			}
		}
	}
	return true, nil
}

// own returns a list of at, which is the hour, minute or second of the period, if the mask is empty or contains at.
// Otherwise it returns nil.
func own(list mask, at int) []int {
	if len(list) == 0 || list[at] {
		return []int{at}
	}
	return nil
}
