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
		`\b(?:for (?P<count>\d+|an?|half an|one|two|three) (?P<unit>hours?|minutes?|mins?|h))\b`,
		`\b(?:on )?(?P<date>\d{4}-\d\d-\d\d)(?:T(?P<iso>\d\d:\d\d))?\b`,
		`\b(?:on |by )?(?:the )?(?P<dom>\d{1,2})(?:st|nd|rd|th)?(?: of)? ` + months + `\b(?:,? (?P<year>\d{4}))?`,
		`\b(?:on |by )?` + months + ` (?P<dom>\d{1,2})(?:st|nd|rd|th)?\b(?:,? (?P<year>\d{4}))?`,
		`\b(?:on |by )?the (?P<dom>\d{1,2})(?:st|nd|rd|th)(?:(?: of)? (?P<of>this|next) month)?\b`,
		`\b(?P<word>the day after tomorrow|today|tonight|tomorrow|yesterday|this week|next week|this month|next month)(?: (?P<part>` + parts + `))?\b`,
		`\bin (?P<count>\d+|a|one|two|three) (?P<unit>days?|weeks?)\b`,
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
	past     = regexp.MustCompile(`(?i)\b(?:a )?(half|quarter|five|ten|twenty) (past|to) ` + counted + `\b`)
	atHour   = regexp.MustCompile(`(?i)\b(at|from|between) ` + counted + `\b( (?:to|until|till|and) ` + counted + `\b)?`)
	oClock   = regexp.MustCompile(`(?i)\b(?:at )?` + counted + ` o'?clock\b`)
)

// hourOf reads an hour in digits or as a word.
func hourOf(word string) int {
	if n := slices.Index(counting, strings.ToLower(word)); n > 0 {
		return n
	}
	return number(word)
}

// spoken writes times in digits: "half past ten" is 10:30.
func spoken(text string) string {
	text = past.ReplaceAllStringFunc(text, func(found string) string {
		m := past.FindStringSubmatch(found)
		minutes := map[string]int{"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20}[strings.ToLower(m[1])]
		hour := hourOf(m[3])
		if strings.EqualFold(m[2], "to") {
			hour, minutes = (hour+10)%12+1, 60-minutes
		}
		return fmt.Sprintf("%d:%02d", hour, minutes)
	})
	text = oClock.ReplaceAllStringFunc(text, func(found string) string {
		return fmt.Sprintf("at %d", hourOf(oClock.FindStringSubmatch(found)[1]))
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
		} else if parts["dom"]+parts["date"] != "" && !w.day {
			w.wrong = strings.TrimSpace(w.rest[at[0]:at[1]])
		}
	}
	w.rest = strings.Join(strings.Fields(w.rest), " ")
	if w.to.IsZero() {
		w.to = w.from
	}
	return w
}

func dayOf(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

// take takes a pattern's parts over, unless they contradict what is known.
func (w *when) take(p map[string]string, now time.Time) bool {
	switch {
	case strings.HasPrefix(p["unit"], "h") || strings.HasPrefix(p["unit"], "m"):
		return w.lasts(p["count"], p["unit"])
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

var numbers = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}

func number(word string) int {
	if n, ok := numbers[word]; ok {
		return n
	}
	n, _ := strconv.Atoi(word) // the patterns have digits here
	return n
}

func (w *when) lasts(count, unit string) bool {
	one := time.Minute
	if strings.HasPrefix(unit, "h") {
		one = time.Hour
	}
	w.length = time.Duration(number(count)) * one
	if count == "half an" {
		w.length = one / 2
	}
	return true
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
	h := number(text)
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
	if !w.at(h, number(p["minute"])) {
		return false
	}
	if p["hour2"] != "" {
		end := clockHour(p["hour2"], p["half2"])
		if end < h && end < 12 {
			end += 12
		}
		w.length = time.Duration(end-h)*time.Hour + time.Duration(number(p["minute2"])-number(p["minute"]))*time.Minute
	}
	return true
}

// named finds the day, or the days, that have a name.
func (w *when) named(p map[string]string, now time.Time) bool {
	today := dayOf(now)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	first := today.AddDate(0, 0, 1-today.Day())
	spans := map[string][2]time.Time{
		"today": {today, today}, "tonight": {today, today}, "tomorrow": {today.AddDate(0, 0, 1)},
		"the day after tomorrow": {today.AddDate(0, 0, 2)}, "yesterday": {today.AddDate(0, 0, -1)},
		"this week": {today, monday.AddDate(0, 0, 6)}, "next week": {monday.AddDate(0, 0, 7), monday.AddDate(0, 0, 13)},
		"this month": {today, first.AddDate(0, 1, -1)}, "next month": {first.AddDate(0, 1, 0), first.AddDate(0, 2, -1)},
	}
	switch {
	case p["word"] != "":
		w.from, w.to = spans[p["word"]][0], spans[p["word"]][1]
	case p["date"] != "":
		day, err := time.ParseInLocation(time.DateOnly, p["date"], now.Location())
		w.from = day
		if clock, bad := time.Parse("15:04", p["iso"]); bad == nil {
			w.at(clock.Hour(), clock.Minute())
		}
		return err == nil
	case p["month"] != "":
		return w.monthDay(p, today)
	case p["dom"] != "":
		return w.dayOfMonth(number(p["dom"]), p["of"], first, today)
	case strings.HasPrefix(p["unit"], "day"):
		w.from = today.AddDate(0, 0, number(p["count"]))
	case strings.HasPrefix(p["unit"], "week"):
		w.from = today.AddDate(0, 0, 7*number(p["count"]))
	case p["weekday"] != "":
		w.from = w.weekday(p["weekday"], p["nextweek"] != "", today)
	}
	return true
}

// dayOfMonth finds the next such day, in the months that have it. It reports whether the month that is named has it.
func (w *when) dayOfMonth(n int, of string, month, today time.Time) bool {
	if of == "next" {
		month = month.AddDate(0, 1, 0)
	}
	if n < 1 || n > 31 || of != "" && month.AddDate(0, 0, n-1).Month() != month.Month() {
		return false
	}
	for w.from = month.AddDate(0, 0, n-1); w.from.Before(today) || w.from.Day() != n; w.from = month.AddDate(0, 0, n-1) {
		month = month.AddDate(0, 1, 0)
	}
	return true
}

// weekday is the next such day after today; with "next" that of next week.
func (w *when) weekday(name string, next bool, today time.Time) time.Time {
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

func (w *when) monthDay(p map[string]string, today time.Time) bool {
	for m := time.January; m <= time.December; m++ {
		if !strings.HasPrefix(strings.ToLower(m.String()), p["month"][:3]) {
			continue
		}
		year := today.Year()
		if p["year"] != "" {
			year = number(p["year"])
		}
		n := number(p["dom"])
		if n < 1 || n > time.Date(2000, m+1, 0, 0, 0, 0, 0, time.UTC).Day() { // a year with 29 February
			return false
		}
		day := time.Date(year, m, n, 0, 0, 0, 0, today.Location())
		for p["year"] == "" && (day.Before(today) || day.Day() != n) {
			year++
			day = time.Date(year, m, n, 0, 0, 0, 0, today.Location())
		}
		if day.Day() != n {
			return false
		}
		w.from = day
		return true
	}
	return false
}
