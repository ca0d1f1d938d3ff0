package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var months = func() map[string]int {
	out := map[string]int{"sept": 9}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		out[name], out[name[:3]] = int(m), int(m)
	}
	return out
}()

var (
	isYear    = regexp.MustCompile(`^(1[0-9]|20)\d\d$`)
	isQuarter = regexp.MustCompile(`^[qQ][1-4]$`)
	isDay     = regexp.MustCompile(`^(\d{1,2})(st|nd|rd|th)?$`)
)

// A period is a day, a month, a quarter or a year, in the form of the tool: 2025-03, or --03 for March of every year.
type period struct {
	text string
	bare bool // a year alone, which may be another number
}

// textAt returns the word at i in lower case, if no rule has understood it.
func textAt(words []word, i int) string {
	if i < len(words) && !words[i].quoted && !words[i].used {
		return words[i].lower
	}
	return ""
}

// yearAt reads a year at i, also after a comma or "of", and returns its number of words.
func yearAt(words []word, i int) (string, int) {
	skip := 0
	if i < len(words) && words[i].mark && words[i].text == "," || textAt(words, i) == "of" {
		skip = 1
	}
	if year := textAt(words, i+skip); isYear.MatchString(year) {
		return year, skip + 1
	}
	return "", 0
}

// periodAt reads a period at i, and returns its number of words.
func periodAt(words []word, i int) (period, int) {
	text := textAt(words, i)
	for _, layout := range []string{time.DateOnly, "2006/01/02", "2.1.2006"} {
		if day, err := time.Parse(layout, text); err == nil {
			return period{text: day.Format(time.DateOnly)}, 1
		}
	}
	if month, err := time.Parse("2006-01", text); err == nil {
		return period{text: month.Format("2006-01")}, 1
	}
	for _, read := range []func([]word, int) (period, int){yearOrQuarterAt, dayAt, monthAt} {
		if p, n := read(words, i); n > 0 {
			return p, n
		}
	}
	return period{}, 0
}

// yearOrQuarterAt reads "2025", "Q1 2025" and "2025 Q1".
func yearOrQuarterAt(words []word, i int) (period, int) {
	text, then := textAt(words, i), textAt(words, i+1)
	if isQuarter.MatchString(text) {
		if y, n := yearAt(words, i+1); n > 0 {
			return period{text: y + "-" + strings.ToUpper(text)}, 1 + n
		}
	}
	switch {
	case !isYear.MatchString(text):
		return period{}, 0
	case isQuarter.MatchString(then):
		return period{text: text + "-" + strings.ToUpper(then)}, 2
	}
	return period{text: text, bare: true}, 1
}

// dayAt reads "1 July 2025" and "the 1st of July 2025".
func dayAt(words []word, i int) (period, int) {
	m := isDay.FindStringSubmatch(textAt(words, i))
	if m == nil {
		return period{}, 0
	}
	next := i + 1
	if textAt(words, next) == "of" {
		next++
	}
	month := months[textAt(words, next)]
	if month == 0 {
		return period{}, 0
	}
	y, n := yearAt(words, next+1)
	return day(y, month, m[1], next+1+n-i)
}

// monthAt reads "July", "July 2025" and "July 1, 2025".
func monthAt(words []word, i int) (period, int) {
	text := textAt(words, i)
	month := months[text]
	if month == 0 || words[i].text == "may" && !mayBeMonth(words, i) {
		return period{}, 0
	}
	if m := isDay.FindStringSubmatch(textAt(words, i+1)); m != nil {
		if y, n := yearAt(words, i+2); n > 0 {
			return day(y, month, m[1], 2+n)
		}
		return period{}, 0
	}
	if y, n := yearAt(words, i+1); n > 0 {
		return period{text: fmt.Sprintf("%s-%02d", y, month)}, 1 + n
	}
	return period{text: fmt.Sprintf("--%02d", month)}, 1
}

// mayBeMonth tells the month from the verb, which does not follow such a word.
func mayBeMonth(words []word, i int) bool {
	return i > 0 && set("in during since before after until of and for")[words[i-1].lower]
}

func day(year string, month int, day string, n int) (period, int) {
	d, err := strconv.Atoi(day)
	text := fmt.Sprintf("%s-%02d-%02d", year, month, d)
	if _, bad := time.Parse(time.DateOnly, text); err != nil || bad != nil {
		return period{}, 0
	}
	return period{text: text}, n
}

// bounds returns the first and the last day of a period, which must have a year.
func (p period) bounds() (first, last string, ok bool) {
	if strings.HasPrefix(p.text, "--") {
		return "", "", false
	}
	from, months := p.text, 1
	switch {
	case len(p.text) == 10:
		return p.text, p.text, true
	case len(p.text) == 4:
		from, months = p.text+"-01", 12
	case strings.Contains(p.text, "Q"):
		from, months = fmt.Sprintf("%s-%02d", p.text[:4], 3*int(p.text[6]-'1')+1), 3
	}
	begin, err := time.Parse("2006-01", from)
	return begin.Format(time.DateOnly), begin.AddDate(0, months, -1).Format(time.DateOnly), err == nil
}

// inWords writes a period of the tool for people.
func inWords(text string) string {
	if rest, found := strings.CutPrefix(text, "--"); found {
		if m, err := strconv.Atoi(rest); err == nil && m >= 1 && m <= 12 {
			return time.Month(m).String() + " (of any year)"
		}
	}
	if month, err := time.Parse("2006-01", text); err == nil {
		return month.Format("January 2006")
	}
	return strings.ReplaceAll(text, "-Q", " Q")
}

// addDate adds a comparison with a date, of the column at s or else the only one.
func (q *question) addDate(s int, op string, p period, text string) bool {
	c := q.dateColumn(s)
	if c.Name == "" || c.year() && !p.bare {
		return false
	}
	q.useSubject(s, c.Name)
	if c.year() {
		q.add(condition{Column: c.Name, Op: op, Value: p.text})
		return true
	}
	first, last, ok := c.withYear(p).bounds()
	if !ok {
		q.problem = fmt.Sprintf("I do not know which year %q is in. Write it with the year.", text)
		return true
	}
	if op == "gt" || op == "le" {
		first = last
	}
	q.add(condition{Column: c.Name, Op: op, Value: first})
	return true
}

// addDates adds the condition that a date is between two periods, which may share the year of the second.
func (q *question) addDates(s int, from, to period) bool {
	c := q.dateColumn(s)
	if c.Name == "" || c.year() && !(from.bare && to.bare) {
		return false
	}
	first, last := from.text, to.text
	if !c.year() {
		to = c.withYear(to)
		if strings.HasPrefix(from.text, "--") && !strings.HasPrefix(to.text, "--") {
			from.text = to.text[:4] + from.text[1:]
		}
		var ok1, ok2 bool
		first, _, ok1 = from.bounds()
		if _, last, ok2 = to.bounds(); !ok1 || !ok2 {
			return false
		}
	}
	q.useSubject(s, c.Name)
	q.add(condition{Column: c.Name, Op: "between", Values: []string{first, last}})
	return true
}

// dateColumn returns the column of dates or years at s, or else the only one.
func (q *question) dateColumn(s int) column {
	if c := q.column(s); c != nil && (c.dated() || c.year()) {
		return *c
	}
	if name := q.only(dated); name != "" {
		return q.file.named(name)
	}
	return column{}
}

// useSubject marks the column at s as understood, if it has the name.
func (q *question) useSubject(s int, name string) {
	if c := q.column(s); c != nil && c.Name == name {
		q.useColumn(s)
	}
}

// withYear adds the year to a month, if all dates of the column are of one year.
func (c column) withYear(p period) period {
	if month, found := strings.CutPrefix(p.text, "--"); found && len(c.From) >= 4 && len(c.To) >= 4 && c.From[:4] == c.To[:4] {
		p.text = c.From[:4] + "-" + month
	}
	return p
}

// readDates finds periods: "in March 2025", "from January to March 2025", "on 5 May 2025".
func (q *question) readDates() {
	for i := range q.words {
		p, n := periodAt(q.words, i)
		s := q.subject(i)
		c := q.dateColumn(s)
		before := ""
		if i > 0 {
			before = q.words[i-1].lower
		}
		if n == 0 || c.Name == "" || q.words[i].column > 0 || q.words[i].value > 0 || p.bare && !set("in of during for from year")[before] || c.year() && !p.bare {
			continue
		}
		if last, k := q.until(i + n); before == "from" && k > 0 && q.addDates(s, p, last) {
			n += k
		} else {
			q.inPeriod(i, c, c.withYear(p))
			q.useSubject(s, c.Name)
		}
		use(q.words[i : i+n])
	}
}

// inPeriod adds the condition that a date is in the period at i.
func (q *question) inPeriod(i int, c column, p period) {
	if slices.ContainsFunc(q.conditions, func(o condition) bool { return o.Column == c.Name && o.Op == "in_period" }) {
		q.problem = "I can answer for one period at a time."
	}
	if q.negated(i) {
		q.unknown = append(q.unknown, "not "+q.words[i].text)
	}
	op := "in_period"
	if c.year() {
		op = "eq"
	}
	q.add(condition{Column: c.Name, Op: op, Value: p.text})
}

// until reads "to March 2025" at i.
func (q *question) until(i int) (period, int) {
	if i >= len(q.words) || !set("to until till through")[q.words[i].lower] {
		return period{}, 0
	}
	p, n := periodAt(q.words, i+1)
	if n == 0 {
		return period{}, 0
	}
	return p, n + 1
}
