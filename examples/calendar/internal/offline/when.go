package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	weekdays = strings.Fields("monday tuesday wednesday thursday friday saturday sunday")
	numbers  = strings.Fields("one two three four five six seven eight nine ten eleven twelve")

	day        = `(?:on )?(today|tomorrow|this week|next week|(?:next )?(?:` + strings.Join(weekdays, "|") + `)|\d{1,2} (?:` + months + `))`
	hour       = `(half past (?:` + strings.Join(numbers, "|") + `)|\d{1,2}(?::\d\d)?(?: ?[ap]m)?)`
	dayAndHour = day + `(?: (morning|afternoon|evening)| (?:at )?` + hour + `| (?:from|between) ` + hour + ` (?:to|and) ` + hour + `)?`

	timeParts = regexp.MustCompile(`(?i)^` + dayAndHour + `$`)
)

const months = `january|february|march|april|may|june|july|august|september|october|november|december`

// A when is a time or a range of time in a request.
type when struct {
	from, to time.Time
	exact    bool   // the request names an hour, at which an event can begin
	layout   string // of from and to in the arguments of a tool: days or times
}

// when parses a time that matches dayAndHour. For an empty text it returns the zero value.
func (d *dialog) when(text string) (w when, err error) {
	if text == "" {
		return w, nil
	}
	said := timeParts.FindStringSubmatch(strings.ToLower(text))
	first, last, err := d.days(said[1])
	hours := said[2] + said[3] + said[4]
	switch {
	case err != nil || hours == "":
		return when{from: first, to: last, layout: time.DateOnly}, err
	case last.After(first), strings.HasSuffix(said[4], "m") != strings.HasSuffix(said[5], "m"): // "from 8 to 10pm" has two meanings
		return w, notUnderstood("the time '" + text + "'")
	case said[2] != "":
		begin := first.Add(map[string]time.Duration{"morning": 6, "afternoon": 12, "evening": 18}[said[2]] * time.Hour)
		return when{from: begin, to: begin.Add(6 * time.Hour), layout: localTime}, nil
	}
	from, fromErr := hourOf(said[3] + said[4])
	to, toErr := hourOf(said[3] + said[5])
	if fromErr != nil || toErr != nil || to < from {
		return w, notUnderstood("the time '" + text + "'")
	}
	return when{first.Add(from), first.Add(to), true, localTime}, nil
}

// days returns the first and the last day that a name stands for: one day, or a week.
func (d *dialog) days(name string) (first, last time.Time, err error) {
	y, m, n := d.now.Date()
	today := time.Date(y, m, n, 0, 0, 0, 0, time.UTC)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	switch name {
	case "today":
		return today, today, nil
	case "tomorrow":
		first = today.AddDate(0, 0, 1)
		return first, first, nil
	case "this week":
		return today, monday.AddDate(0, 0, 6), nil
	case "next week":
		return monday.AddDate(0, 0, 7), monday.AddDate(0, 0, 13), nil
	}
	weekday, next := strings.CutPrefix(name, "next ")
	if n := slices.Index(weekdays, weekday); n >= 0 {
		first = monday.AddDate(0, 0, n)
		if next || !first.After(today) {
			first = first.AddDate(0, 0, 7)
		}
		return first, first, nil
	}
	for year := y; year <= y+1; year++ {
		first, err = time.Parse("2 January 2006", fmt.Sprintf("%s %d", name, year))
		if err == nil && !first.Before(today) {
			return first, first, nil
		}
	}
	return first, first, blocker(fmt.Sprintf("There is no such day in the next year: '%s'. Tell me all of it again with another day.", name))
}

// hourOf parses a time of day. An hour from 1 to 6 without am or pm is in the afternoon, unless it begins with 0.
func hourOf(text string) (time.Duration, error) {
	if word, ok := strings.CutPrefix(text, "half past "); ok {
		text = fmt.Sprintf("%d:30", slices.Index(numbers, word)+1)
	}
	for _, layout := range []string{"15:04", "15", "3:04pm", "3:04 pm", "3pm", "3 pm"} {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if !strings.HasSuffix(text, "m") && text[0] != '0' && t.Hour() >= 1 && t.Hour() <= 6 {
			t = t.Add(12 * time.Hour)
		}
		return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
	}
	return 0, fmt.Errorf("%q is no time of day", text)
}

// span returns the range as arguments of a tool. Without a time there are no limits. A time of day without an end
// lasts an hour.
func (w when) span() object {
	if w.layout == "" {
		return object{}
	}
	if w.exact && w.to.Equal(w.from) {
		w.to = w.from.Add(time.Hour)
	}
	return object{"from": w.from.Format(w.layout), "to": w.to.Format(w.layout)}
}
