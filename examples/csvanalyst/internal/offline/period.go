package offline

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// months has the numbers of the months by their names.
var months = func() map[string]int {
	out := map[string]int{"sept": 9}
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		out[name], out[name[:3]] = int(m), int(m)
	}
	return out
}()

const (
	yearForm  = `(?P<year>(?:1[0-9]|20)\d\d)`
	monthForm = `(?P<month>[a-z]{3,9})`
	dayForm   = `(?P<day>\d{1,2})(?:st|nd|rd|th)?`
	ofForm    = `(?: ,| of)? `
)

// isYear matches a number that may be a year.
var isYear = regexp.MustCompile(`^` + yearForm + `$`)

// periodForms are the ways to write a day, a month or a quarter, in words that a space separates.
var periodForms = func() (out []*regexp.Regexp) {
	for _, form := range []string{
		yearForm + `[-/](?P<month>\d\d)(?:[-/](?P<day>\d\d))?`,
		`(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.` + yearForm,
		dayForm + `(?: of)? ` + monthForm + ofForm + yearForm,
		monthForm + ` ` + dayForm + `(?: ,)? ` + yearForm,
		monthForm + ofForm + yearForm,
		monthForm,
		`(?P<quarter>q[1-4])` + ofForm + yearForm,
		yearForm + ` (?P<quarter>q[1-4])`,
	} {
		out = append(out, regexp.MustCompile(`^`+form+`(?: |$)`))
	}
	return out
}()

// periodAt reads a period at i. "may" without a year is the month only after words such as "in".
func periodAt(words []word, i int) (token, int) {
	var b strings.Builder
	for _, w := range words[i:min(len(words), i+6)] {
		if w.quoted {
			break
		}
		b.WriteString(w.lower + " ")
	}
	for _, form := range periodForms {
		m := form.FindStringSubmatch(b.String())
		if m == nil {
			continue
		}
		parts := map[string]string{}
		for j, name := range form.SubexpNames() {
			parts[name] = m[j]
		}
		text, n := periodOf(parts), len(strings.Fields(m[0]))
		verb := text == "--05" && words[i].text == "may" && (i == 0 || !set("in during since before after until of for")[words[i-1].lower])
		if text != "" && !verb {
			return token{meaning: meaning{kind: period}, text: written(words[i : i+n]), value: text}, n
		}
	}
	return token{}, 0
}

// periodOf writes a period in the form of the tools: 2025-03-31, 2025-03, 2025-Q1, or --03 for March of every year.
func periodOf(parts map[string]string) string {
	year, month := parts["year"], months[parts["month"]]
	if n, err := strconv.Atoi(parts["month"]); err == nil {
		month = n
	}
	switch {
	case parts["quarter"] != "":
		return year + "-" + strings.ToUpper(parts["quarter"])
	case month < 1 || month > 12:
		return ""
	case year == "":
		return fmt.Sprintf("--%02d", month)
	case parts["day"] == "":
		return fmt.Sprintf("%s-%02d", year, month)
	}
	day, err := time.Parse("2006-1-2", fmt.Sprintf("%s-%d-%s", year, month, strings.TrimLeft(parts["day"], "0")))
	if err != nil {
		return ""
	}
	return day.Format(time.DateOnly)
}

// bounds returns the first and the last day of a period, which must have a year.
func bounds(period string) (first, last string, ok bool) {
	from, months := period, 1
	switch {
	case strings.HasPrefix(period, "--"):
		return "", "", false
	case len(period) == 10:
		return period, period, true
	case len(period) == 4:
		from, months = period+"-01", 12
	case strings.Contains(period, "Q"):
		from, months = fmt.Sprintf("%s-%02d", period[:4], 3*int(period[6]-'1')+1), 3
	}
	begin, err := time.Parse("2006-01", from)
	return begin.Format(time.DateOnly), begin.AddDate(0, months, -1).Format(time.DateOnly), err == nil
}

// inWords writes a period of the tools for people.
func inWords(period string) string {
	if month, err := time.Parse("--01", period); err == nil {
		return month.Month().String() + " (of any year)"
	}
	if month, err := time.Parse("2006-01", period); err == nil {
		return month.Format("January 2006")
	}
	return strings.ReplaceAll(period, "-Q", " Q")
}

// withYear adds the year to a month, if all dates of the column are of one year.
func (c column) withYear(period string) string {
	if month, found := strings.CutPrefix(period, "--"); found && len(c.From) >= 4 && len(c.To) >= 4 && c.From[:4] == c.To[:4] {
		return c.From[:4] + "-" + month
	}
	return period
}
