package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A when is what a text says about time.
type when struct {
	rest     string // the text without it
	from, to time.Time
	day      bool // a day or several are named: from, to
	clock    bool // a time of day is named: from
	length   time.Duration
	part     string // of the day: morning, afternoon, evening
	wrong    string // a date that no calendar has
}

const (
	weekdays = `(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b`
	months   = `(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`
	parts    = `morning|afternoon|evening|night`
	hour     = `(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm|a\.m\.|p\.m\.)?`
)

// The patterns of time, each tried once, in this order.
var patterns = func() []*regexp.Regexp {
	list := []string{
		`\b(?:on |by )?(?:the )?(?P<dom>\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + months + `\b(?:,? (?P<year>\d{4}))?`,
		`\b(?:on |by )?` + months + ` (?P<dom>\d{1,2})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{4}))?`,
		`\b(?P<word>the day after tomorrow|today|tonight|tomorrow|this week|next week|this month|next month)(?: (?P<part>` + parts + `))?\b`,
		`\b(?:on |by |this |coming )?(?P<nextweek>next )?` + weekdays + `(?: (?P<part>` + parts + `)\b)?`,
		`\b(?:in the|(?P<today>this)) (?P<part>` + parts + `)\b`,
		`\b(?:from |between )` + hour + `\s*(?:to|until|till|and|-|–)\s*(?P<hour2>\d{1,2})(?::(?P<minute2>\d\d))?\s*(?P<half2>am|pm|a\.m\.|p\.m\.)?(?:\s|$)`,
		`\b(?:at |by )?(?P<word>noon|midday|midnight)\b`,
		`\b(?:at |by )` + hour + `(?: o'clock|h)?(?:\s|$)`,
		`\b(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm|a\.m\.|p\.m\.)(?:\s|$)`,
		`\b(?P<hour>\d{1,2}):(?P<minute>\d\d)\b`,
	}
	out := make([]*regexp.Regexp, len(list))
	for i, text := range list {
		out[i] = regexp.MustCompile(`(?i)` + text)
	}
	return out
}()

var (
	counting = []string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	counted  = `(\d{1,2}|` + strings.Join(counting[1:], "|") + `)`
	past     = regexp.MustCompile(`(?i)\b(?:a )?(half|quarter) (past|to) ` + counted + `\b`)
	atHour   = regexp.MustCompile(`(?i)\b(at|from|between) ` + counted + `\b( (?:to|until|till|and) ` + counted + `\b)?`)
	// strange finds words about time that no pattern has taken.
	strange = regexp.MustCompile(`(?i)\b(?:` + strings.Join([]string{
		`(?:at|around|from|till?|until)(?: about| around)? (?:the )?(?:\d\S*|` + strings.Join(counting[1:], "|") + `)`,
		`\d{1,2}(?:st|nd|rd|th|am|pm|h|:\S+)`, `\d{4}-\d\d-\d\d`, `(?:half|quarter) (?:\d+|` + strings.Join(counting[1:], "|") + `)`,
		`(?:\d+|an?|half an|` + strings.Join(counting[1:], "|") + `) (?:hours?|minutes?|mins?|days?|weeks?|months?|years?)`,
		`(?:next|last|this|coming) (?:year|weekend)`, `weekends?`, `yesterday`, `every|each`, `daily`, `weekly`, `monthly`, `yearly`,
	}, "|") + `)(?:\s|$)`)
)

// hourOf reads an hour in digits or as a word.
func hourOf(word string) int {
	if n := slices.Index(counting, strings.ToLower(word)); n > 0 {
		return n
	}
	n, _ := strconv.Atoi(word) // the patterns have digits here
	return n
}

// spoken writes times in digits: "half past ten" is 10:30.
func spoken(text string) string {
	text = past.ReplaceAllStringFunc(text, func(found string) string {
		m := past.FindStringSubmatch(found)
		minutes := map[string]int{"half": 30, "quarter": 15}[strings.ToLower(m[1])]
		hour := hourOf(m[3])
		if strings.EqualFold(m[2], "to") {
			hour, minutes = (hour+10)%12+1, 60-minutes
		}
		return fmt.Sprintf("%d:%02d", hour, minutes)
	})
	return atHour.ReplaceAllStringFunc(text, func(found string) string {
		m := atHour.FindStringSubmatch(found)
		found = fmt.Sprintf("%s %d", m[1], hourOf(m[2]))
		if m[3] != "" {
			found += fmt.Sprintf(" to %d", hourOf(m[4]))
		}
		return found
	})
}

// timesOf takes what a text says about time out of it.
func timesOf(text string, now time.Time) when {
	w := when{rest: spoken(text), from: dayOf(now)}
	for _, p := range patterns {
		at := p.FindStringSubmatchIndex(w.rest)
		if at == nil {
			continue
		}
		parts := map[string]string{}
		for i, name := range p.SubexpNames() {
			if at[2*i] >= 0 && name != "" {
				parts[name] = strings.ToLower(w.rest[at[2*i]:at[2*i+1]])
			}
		}
		if w.take(parts, now) {
			w.rest = strings.TrimSpace(w.rest[:at[0]]) + " " + strings.TrimSpace(w.rest[at[1]:])
		} else if parts["dom"] != "" && !w.day {
			w.wrong = strings.TrimSpace(w.rest[at[0]:at[1]])
		}
	}
	w.rest = strings.Join(strings.Fields(w.rest), " ")
	if w.to.IsZero() {
		w.to = w.from
	}
	return w
}

// any reports whether a text names any time.
func (w when) any() bool { return w.day || w.clock || w.part != "" }

// odd returns words about time that were not understood.
func (w when) odd() string { return strings.TrimSpace(strange.FindString(w.rest)) }

func dayOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

// take takes a pattern's parts over, unless they contradict what is known.
func (w *when) take(p map[string]string, now time.Time) bool {
	switch {
	case p["word"] == "noon" || p["word"] == "midday":
		return w.at(12, 0)
	case p["word"] == "midnight":
		return w.at(0, 0)
	case p["hour"] != "":
		return w.hours(p)
	case p["part"] != "" && p["word"] == "" && p["weekday"] == "":
		w.part, w.day = p["part"], w.day || p["today"] != ""
		return true
	case w.day:
		return false
	}
	if w.part = p["part"]; p["word"] == "tonight" {
		w.part = "evening"
	}
	from := w.from
	if w.day = w.named(p, now); !w.day {
		w.from = from
	}
	return w.day
}

func (w *when) at(hour, minute int) bool {
	if w.clock || hour > 23 || minute > 59 {
		return false
	}
	w.clock = true
	y, m, d := w.from.Date()
	w.from = time.Date(y, m, d, hour, minute, 0, 0, w.from.Location())
	return true
}

// clockHour reads an hour; one without am or pm is one of a working day.
func clockHour(text, half string) int {
	h := hourOf(text)
	switch {
	case strings.HasPrefix(half, "p") && h < 12, half == "" && h >= 1 && h <= 6 && len(text) == 1:
		return h + 12
	case strings.HasPrefix(half, "a") && h == 12:
		return 0
	}
	return h
}

func (w *when) hours(p map[string]string) bool {
	half := p["half"]
	if half == "" && p["hour2"] != "" && clockHour(p["hour"], p["half2"]) < clockHour(p["hour2"], p["half2"]) {
		half = p["half2"]
	}
	switch {
	case half != "" || w.part == "":
	case w.part == "morning":
		half = "am"
	default:
		half = "pm"
	}
	h := clockHour(p["hour"], half)
	if !w.at(h, hourOf(p["minute"])) {
		return false
	}
	if p["hour2"] != "" {
		end := clockHour(p["hour2"], p["half2"])
		if end < h && end < 12 {
			end += 12
		}
		w.length = time.Duration(end-h)*time.Hour + time.Duration(hourOf(p["minute2"])-hourOf(p["minute"]))*time.Minute
	}
	return true
}

// named finds the day, or the days, that have a name.
func (w *when) named(p map[string]string, now time.Time) bool {
	today := dayOf(now)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	first := today.AddDate(0, 0, 1-today.Day())
	switch p["word"] {
	case "today", "tonight":
		w.from = today
	case "tomorrow":
		w.from = today.AddDate(0, 0, 1)
	case "the day after tomorrow":
		w.from = today.AddDate(0, 0, 2)
	case "this week":
		w.from, w.to = today, monday.AddDate(0, 0, 6)
	case "next week":
		w.from, w.to = monday.AddDate(0, 0, 7), monday.AddDate(0, 0, 13)
	case "this month":
		w.from, w.to = today, first.AddDate(0, 1, -1)
	case "next month":
		w.from, w.to = first.AddDate(0, 1, 0), first.AddDate(0, 2, -1)
	default:
		if p["month"] != "" {
			return w.monthDay(p, today)
		}
		w.from = weekday(p["weekday"], p["nextweek"] != "", today)
	}
	return true
}

// weekday is the next such day after today; with "next" that of next week.
func weekday(name string, next bool, today time.Time) time.Time {
	for n := 1; n <= 7; n++ {
		day := today.AddDate(0, 0, n)
		if !strings.HasPrefix(strings.ToLower(day.Weekday().String()), name[:3]) {
			continue
		}
		if next && (int(day.Weekday())+6)%7 > (int(today.Weekday())+6)%7 {
			return day.AddDate(0, 0, 7)
		}
		return day
	}
	return today
}

// monthDay finds the next such day, and reports whether there is one.
func (w *when) monthDay(p map[string]string, today time.Time) bool {
	names := "jan feb mar apr may jun jul aug sep oct nov dec"
	month, n := time.Month(strings.Index(names, p["month"][:3])/4+1), hourOf(p["dom"])
	first, last := today.Year(), today.Year()+8 // a year with 29 February is among them
	if p["year"] != "" {
		first = hourOf(p["year"])
		last = first
	}
	for year := first; year <= last; year++ {
		day := time.Date(year, month, n, 0, 0, 0, 0, today.Location())
		if day.Day() == n && day.Month() == month && (p["year"] != "" || !day.Before(today)) {
			w.from = day
			return true
		}
	}
	return false
}
