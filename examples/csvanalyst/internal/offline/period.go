package offline

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// periodForms are the ways to write a day or a month, and their forms in the tools: 2025-03-31, 2025-03, or --03 for
// March of every year.
var periodForms = map[string]string{
	time.DateOnly: time.DateOnly, "2006/01/02": time.DateOnly, "2.1.2006": time.DateOnly,
	"2 January 2006": time.DateOnly, "2 Jan 2006": time.DateOnly, "January 2 2006": time.DateOnly, "Jan 2 2006": time.DateOnly,
	"2006-01": "2006-01", "January 2006": "2006-01", "Jan 2006": "2006-01",
	"January": "--01", "Jan": "--01",
}

var (
	isYear  = regexp.MustCompile(`^(1[0-9]|20)\d\d$`)
	ordinal = regexp.MustCompile(`\b(\d+)(st|nd|rd|th)\b`)
	joins   = strings.NewReplacer(" ,", "", " of ", " ")
)

// periodAt reads the longest period at i. "may" without a year is the month only after words such as "in", and "May" not
// at the beginning.
func periodAt(words []word, i int) (token, int) {
	for n := min(5, len(words)-i); n > 0; n-- {
		text := written(words[i : i+n])
		quoted := slices.ContainsFunc(words[i:i+n], func(w word) bool { return w.quoted })
		if quoted || i == 0 && strings.EqualFold(text, "may") || text == "may" && !set("in during since before after until of")[words[i-1].lower] {
			continue
		}
		for layout, form := range periodForms {
			if at, err := time.Parse(layout, ordinal.ReplaceAllString(joins.Replace(text), "$1")); err == nil {
				return token{meaning: meaning{kind: period}, text: text, value: at.Format(form)}, n
			}
		}
	}
	return token{}, 0
}

// bounds returns the first and the last day of a period, which must have a year.
func bounds(period string) (first, last string, ok bool) {
	from, months := period, 1
	switch {
	case len(period) == 10:
		return period, period, true
	case len(period) == 4 && period[0] != '-':
		from, months = period+"-01", 12
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
