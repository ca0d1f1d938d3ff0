package extract

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A value is a number, a time of the day or a date, in each way that it can be read.
type value struct {
	numbers []float64
	minutes []int // of the day
	dates   []date
}

// A date has zeros for what it does not say.
type date struct{ year, month, day int }

var monthNames = map[string]int{}

func init() {
	for i, names := range strings.Split(`january jan januar jänner janvier enero gennaio janeiro
february feb februar février fevrier febrero febbraio fevereiro
march mar märz maerz mars marzo março
april apr avril abril aprile
may mai mayo maggio maio
june jun juni juin junio giugno junho
july jul juli juillet julio luglio julho
august aug août aout agosto
september sep sept septembre septiembre settembre setembro
october oct oktober okt octobre octubre ottobre outubro
november nov novembre noviembre novembro
december dec dezember dez décembre diciembre dicembre dezembro`, "\n") {
		for name := range strings.FieldsSeq(names) {
			monthNames[name] = i + 1
		}
	}
}

const monthName = `([\pL]{3,10})`

// A form finds values that are written in one way.
type form struct {
	pattern *regexp.Regexp
	read    func(parts []string) (value, bool)
}

var forms = []form{
	{regexp.MustCompile(`(\d{4})-(\d{1,2})-(\d{1,2})`), func(p []string) (value, bool) { return dated(number(p[1]), number(p[2]), number(p[3])) }},
	{regexp.MustCompile(`(\d{1,2})[./](\d{1,2})[./](\d{4}|\d{2})`), func(p []string) (v value, ok bool) {
		v, ok = dated(number(p[3]), number(p[2]), number(p[1]))
		if other, also := dated(number(p[3]), number(p[1]), number(p[2])); also { // the month before the day
			v.dates, ok = append(v.dates, other.dates...), true
		}
		return v, ok
	}},
	{regexp.MustCompile(`(?i)(\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:(?:of|de)\s+)?` + monthName + `\.?(?:,?\s+(?:de\s+)?['’]?(\d{4}|\d{2}))?`), func(p []string) (value, bool) {
		return dated(number(p[3]), monthNames[strings.ToLower(p[2])], number(p[1]))
	}},
	{regexp.MustCompile(`(?i)` + monthName + `\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?`), func(p []string) (value, bool) {
		return dated(number(p[3]), monthNames[strings.ToLower(p[1])], number(p[2]))
	}},
	{regexp.MustCompile(`(?i)` + monthName + `\.?,?\s+(?:of\s+)?(\d{4})`), func(p []string) (value, bool) {
		month := monthNames[strings.ToLower(p[1])]
		return value{dates: []date{{year: number(p[2]), month: month}}}, month > 0
	}},
	{regexp.MustCompile(`(?i)(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?m\.?`), func(p []string) (value, bool) {
		hour := number(p[1])%12 + 12*strings.Index("ap", strings.ToLower(p[3]))
		return clock(hour, number(p[2]))
	}},
	{regexp.MustCompile(`(?i)(\d{1,2})(?:[:.](\d{2}))?\s*(?:uhr|h)`), func(p []string) (value, bool) { return clock(number(p[1]), number(p[2])) }},
	{regexp.MustCompile(`(?i)(\d{1,2})\s*o['’]?clock`), func(p []string) (v value, ok bool) {
		v, ok = clock(number(p[1])%12, 0)
		v.minutes = append(v.minutes, v.minutes[0]+12*60)
		return v, ok && number(p[1]) <= 12
	}},
	{regexp.MustCompile(`(\d{1,2}):(\d{2})`), func(p []string) (value, bool) { return clock(number(p[1]), number(p[2])) }},
	{regexp.MustCompile(`(?i)(noon|midday|midnight)`), func(p []string) (value, bool) {
		if strings.EqualFold(p[1], "midnight") {
			return clock(0, 0)
		}
		return clock(12, 0)
	}},
	{regexp.MustCompile(`['’](\d{2})`), func(p []string) (value, bool) {
		return value{dates: []date{{year: number(p[1])}}}, true
	}},
	{regexp.MustCompile(`(?i)(\d[\d.,]*\d|\d)(?:\s?(k|thousand|million|m|bn|billion)\b)?`), func(p []string) (value, bool) { return counted(p[1], p[2]) }},
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func dated(year, month, day int) (value, bool) {
	return value{dates: []date{{year, month, day}}}, month >= 1 && month <= 12 && day >= 1 && day <= 31
}

func clock(hour, minute int) (value, bool) {
	return value{minutes: []int{hour*60 + minute}}, hour >= 0 && hour < 24 && minute < 60
}

var scales = map[string]float64{"": 1, "k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "hundred": 100}

// counted reads a number. A mark before three digits may stand in either of its meanings.
func counted(digits, scale string) (v value, ok bool) {
	factor := scales[strings.ToLower(scale)]
	ways := []string{strings.ReplaceAll(digits, ",", ""), strings.NewReplacer(".", "", ",", ".").Replace(digits), strings.NewReplacer(".", "", ",", "").Replace(digits)}
	if mark := strings.LastIndexAny(digits, ".,"); mark < 0 || len(digits)-mark != 4 {
		ways = ways[:2]
	}
	for _, way := range ways {
		if n, err := strconv.ParseFloat(way, 64); err == nil && !math.IsInf(n, 0) {
			v.numbers = append(v.numbers, n*factor)
		}
	}
	return v, len(v.numbers) > 0
}

// values returns what a text has of values, and the text with blanks in their places.
func values(text string) (list []value, rest string) {
	left := []byte(text)
	for _, f := range forms {
		for _, at := range f.pattern.FindAllSubmatchIndex(left, -1) {
			if !apart(left, at[0], at[1]) {
				continue
			}
			parts := make([]string, len(at)/2)
			for i := range parts {
				if at[2*i] >= 0 {
					parts[i] = string(left[at[2*i]:at[2*i+1]])
				}
			}
			if v, ok := f.read(parts); ok {
				list = append(list, v)
				blank(left, at[0], at[1])
			}
		}
	}
	return append(list, spelled(left)...), string(left)
}

// apart reports whether no word begins before or ends after a part of a text.
func apart(text []byte, from, to int) bool {
	before, _ := utf8.DecodeLastRune(text[:from])
	after, _ := utf8.DecodeRune(text[to:])
	first, _ := utf8.DecodeRune(text[from:])
	wordy := func(r rune) bool { return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, spaceless...) }
	return !(wordy(before) && wordy(first)) && !wordy(after)
}

func blank(text []byte, from, to int) {
	for i := from; i < to; i++ {
		text[i] = ' '
	}
}

var spellings = map[string]float64{}

func init() {
	for n, names := range strings.Split(`zero null
one eins ein
two zwei deux dos due twee
three drei trois tres tre drie
four vier quatre cuatro quattro
five fünf cinq cinco cinque vijf
six sechs seis sei zes
seven sieben sept siete sette zeven
eight acht huit ocho otto
nine neun neuf nueve nove negen
ten zehn dix diez dieci tien
eleven elf onze once undici
twelve zwölf douze doce dodici twaalf
thirteen
fourteen
fifteen
sixteen
seventeen
eighteen
nineteen`, "\n") {
		for name := range strings.FieldsSeq(names) {
			spellings[name] = float64(n)
		}
	}
	for i, name := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		spellings[name] = float64(20 + 10*i)
	}
}

var numberWords = regexp.MustCompile(`[\pL]+`)

// spelled returns the numbers that are written in words, and blanks them.
func spelled(text []byte) (list []value) {
	total, open, last := 0.0, false, 0
	end := func() {
		if open {
			list = append(list, value{numbers: []float64{total}})
		}
		total, open = 0, false
	}
	for _, at := range numberWords.FindAllIndex(text, -1) {
		word := strings.ToLower(string(text[at[0]:at[1]]))
		n, small := spellings[word]
		factor, large := scales[word]
		if strings.Trim(string(text[last:at[0]]), " -") != "" || small && !follows(total, n) {
			end()
		}
		switch last = at[1]; {
		case small:
			total, open = total+n, true
		case large && open && len(word) > 2:
			total *= factor
		case word == "and" && open && total >= 100:
			continue
		default:
			end()
			continue
		}
		blank(text, at[0], at[1])
	}
	end()
	return list
}

// follows reports whether a number can go on with a smaller one: twenty with five, and not with thirty.
func follows(total, n float64) bool {
	if n >= 20 {
		return math.Mod(total, 100) == 0
	}
	return math.Mod(total, 10) == 0
}

// in reports whether one of the others says what the value says, or a day that is counted from
// another in them: at is when they were said.
func (v value) in(others []value, said string, at time.Time) bool {
	for _, o := range others {
		if v.is(o) {
			return true
		}
	}
	for _, d := range v.dates {
		if !at.IsZero() && d.reckoned(said, at) {
			return true
		}
	}
	return false
}

func (v value) is(o value) bool {
	sameNumber := slices.ContainsFunc(v.numbers, func(n float64) bool {
		return slices.Contains(o.numbers, n) || slices.ContainsFunc(o.dates, func(d date) bool { return d.counts(n) })
	})
	sameMinute := slices.ContainsFunc(v.minutes, func(m int) bool { return slices.Contains(o.minutes, m) })
	sameDate := slices.ContainsFunc(v.dates, func(d date) bool {
		if d.month == 0 && d.day == 0 && slices.ContainsFunc(o.numbers, func(n float64) bool { return (date{year: int(n)}).has(d) }) {
			return true
		}
		return slices.ContainsFunc(o.dates, func(other date) bool { return other.has(d) })
	})
	return sameNumber || sameMinute || sameDate
}

// counts reports whether a number is the year or the day of a date.
func (d date) counts(n float64) bool {
	if n > 31 {
		return d.has(date{year: int(n)})
	}
	return float64(d.day) == n
}

// has reports whether a date says all that another one does.
func (d date) has(other date) bool {
	same := d.year == other.year || (d.year < 100 || other.year < 100) && d.year > 0 && d.year%100 == other.year%100
	return (other.year == 0 || same) && (other.month == 0 || d.month == other.month) && (other.day == 0 || d.day == other.day)
}

var (
	fromToday = regexp.MustCompile(`(?i)\b(today|tonight|this morning|this evening|yesterday|last night|tomorrow|heute|gestern|morgen|hier|aujourd'hui|demain|ayer|hoy|mañana|ieri|oggi|domani)`)
	ofWeek    = regexp.MustCompile(`(?i)\b(?:(last|next|this)\s+)?(sunday|monday|tuesday|wednesday|thursday|friday|saturday)\b`)
	dayOf     = map[string]int{
		"today": 0, "tonight": 0, "this morning": 0, "this evening": 0, "yesterday": -1, "last night": -1, "tomorrow": 1,
		"heute": 0, "gestern": -1, "morgen": 1, "aujourd'hui": 0, "hier": -1, "demain": 1, "hoy": 0, "ayer": -1, "mañana": 1, "oggi": 0, "ieri": -1, "domani": 1,
	}
	agoOrIn = regexp.MustCompile(`(?i)(?:\bin\s+)?(\d+|an?|one|two|three|four|five|six|seven)\s+(day|week)s?(\s+ago)?`)
)

// reckoned reports whether a whole date is one that a text counts from the day on which it was said.
func (d date) reckoned(said string, at time.Time) bool {
	if d.year < 100 || d.month == 0 || d.day == 0 {
		return false
	}
	day := time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	today := time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	days := int(day.Sub(today).Hours() / 24)
	return slices.Contains(fromNow(said), days) || weekday(said, day.Weekday(), days)
}

// fromNow returns the days that a text counts from the one on which it was said.
func fromNow(said string) (days []int) {
	for _, m := range fromToday.FindAllStringSubmatch(said, -1) {
		days = append(days, dayOf[strings.ToLower(m[1])])
	}
	for _, m := range agoOrIn.FindAllStringSubmatch(said, -1) {
		n, ok := spellings[strings.ToLower(m[1])]
		if !ok {
			n = float64(max(1, number(m[1])))
		}
		if strings.EqualFold(m[2], "week") {
			n *= 7
		}
		if m[3] != "" {
			n = -n
		}
		days = append(days, int(n))
	}
	return days
}

// weekday reports whether a text names a day of the week that is so many days away.
func weekday(said string, day time.Weekday, days int) bool {
	for _, m := range ofWeek.FindAllStringSubmatch(said, -1) {
		past, coming := strings.EqualFold(m[1], "last"), strings.EqualFold(m[1], "next")
		if strings.EqualFold(m[2], day.String()) && days >= -14 && days <= 14 && (!past || days < 0) && (!coming || days > 0) {
			return true
		}
	}
	return false
}

// String is how a model is told of a value.
func (v value) String() string {
	switch {
	case len(v.dates) > 0:
		d := v.dates[0]
		return strings.Trim(fmt.Sprintf("%d-%d-%d", d.year, d.month, d.day), "0-")
	case len(v.minutes) > 0:
		return fmt.Sprintf("%02d:%02d", v.minutes[0]/60, v.minutes[0]%60)
	case len(v.numbers) > 0:
		return strconv.FormatFloat(v.numbers[0], 'f', -1, 64)
	}
	return ""
}
