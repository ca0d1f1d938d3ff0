package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const helpText = `I am a set of rules and not a language model, but I do read your file. Ask me for example:
    what is a checkpoint?            where is "checkpoint" mentioned?
    how many words are there?        how often does "checkpoint" appear?
    read lines 10-20                 summarise the file
    save that                        save a note that the file is long`

// quote shows lines with their numbers.
func quote(list []line) string {
	if len(list) == 0 {
		return ""
	}
	width := 0
	for _, l := range list {
		width = max(width, len(strconv.Itoa(l.Number)))
	}
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = strings.TrimRight(fmt.Sprintf("    %*d | %s", width, l.Number, l.Text), " ")
	}
	return strings.Join(out, "\n")
}

// outdent removes the indentation of quoted lines.
func outdent(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n    ", "\n"), "\n")
}

func whereAnswer(topic string, f foundLines) string {
	switch {
	case len(f.Lines) == 0:
		return fmt.Sprintf("No line mentions %q.", topic) + similar(f.Similar)
	case f.Total == 0:
		return fmt.Sprintf("No line has all of %q. These have some of it, of %s:\n%s",
			topic, number(f.Partly, "line"), quote(f.Lines)) + similar(f.Similar)
	}
	lead := fmt.Sprintf("%q is on %s", topic, number(f.Total, "line"))
	if strings.Contains(topic, " ") { // perhaps not side by side
		lead = fmt.Sprintf("All words of %q are on %s", topic, number(f.Total, "line"))
	}
	if len(f.Lines) < f.Total {
		lead += fmt.Sprintf("; here are %d", len(f.Lines))
	}
	return lead + ":\n" + quote(f.Lines)
}

// either lists words: "a", "b" or "c".
func either(words []string) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(w))
	}
	return b.String()
}

func similar(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return " Similar words in the file: " + strings.Join(words, ", ") + "."
}

// defineAnswer quotes the best passage for the words of a question and names the next ones.
// It says which words the text lacks, and whether no passage has all words.
func defineAnswer(question, words string, f found) string {
	rest, m := strings.Fields(words), ""
	if len(rest) > 1 { // a text says "9 kg" and not "heavy"
		m = measure(question)
		is := func(w string) bool { return strings.EqualFold(w, m) }
		rest, f.Missing = slices.DeleteFunc(rest, is), slices.DeleteFunc(f.Missing, is)
	}
	if len(f.Passages) == 0 {
		return fmt.Sprintf("I found no passage about that: %s does not mention %s.", f.File, either(f.Missing)) + similar(f.Similar)
	}
	best, lead := f.Passages[0], ""
	switch {
	case len(f.Missing) > 0:
		lead = fmt.Sprintf("The text does not mention %s.%s The closest passages:\n\n", either(f.Missing), similar(f.Similar))
	case m != "":
		best, lead = f.measured(rest, m)
	case f.Total == 0:
		lead = fmt.Sprintf("No passage has all of %q together. The closest ones:\n\n", words)
	}
	if lead != "" { // the second may have the answer
		return lead + quotes(f.File, best, f.Passages, 2)
	}
	return quotes(f.File, best, f.Passages[:min(len(f.Passages), f.Total)], 1)
}

// quotes shows the best passage and others from under other headings, so many in all, and names two more.
func quotes(file string, best place, others []place, n int) string {
	list, seen := []place{best}, []string{best.Heading}
	for _, p := range others {
		if !slices.Contains(seen, p.Heading) && len(list) < n+2 {
			list, seen = append(list, p), append(seen, p.Heading)
		}
	}
	var b strings.Builder
	for i, p := range list {
		switch {
		case i < n:
			if i > 0 {
				b.WriteString("\n\n")
			}
			if p.Code {
				p.Text = "    " + strings.ReplaceAll(p.Text, "\n", "\n    ")
			}
			fmt.Fprintf(&b, "%s\n\n  %s, %s", p.Text, file, p.where())
		case i == n:
			fmt.Fprintf(&b, "\n  see also %s", p.where())
		default:
			fmt.Fprintf(&b, "; %s", p.where())
		}
	}
	return b.String()
}

// amounts match what a text says for a measure: a number with a unit.
var amounts = func() map[string]*regexp.Regexp {
	const number = `\b(?:\d[\d.,]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand|half|every|each|per)[\s-]*(?:\w+\s+)?`
	const (
		time   = number + `(?:second|minute|hour|day|week|month|year|time)s?\b|\b(?:once|twice|hourly|daily|weekly|monthly|yearly|annually)\b`
		size   = number + `(?:mm|cm|m|km|metres?|meters?|inch(?:es)?|foot|feet|miles?|litres?|pixels?|(?:\w*bytes?|[kMGT]i?B))\b`
		weight = number + `(?:k?g|kilos?|\w*grams?|lbs?|pounds?|ton(?:ne)?s?|ounces?)\b`
		sound  = number + `(?:dB|decibels?)\b`
	)
	out := map[string]*regexp.Regexp{}
	for measures, form := range map[string]string{
		"often soon old frequently": time, "long fast far quickly": time + "|" + size,
		"big large high tall wide deep": size, "heavy": weight, "loud": sound,
	} {
		for m := range strings.FieldsSeq(measures) {
			out[m] = regexp.MustCompile("(?i)" + form)
		}
	}
	return out
}()

// measured returns the first passage that has the words and an amount in one sentence or in two. It says so if there
// is none, and if there is only one word, of which a text can say several amounts.
func (f found) measured(words []string, measure string) (best place, lead string) {
	caveat := fmt.Sprintf("I cannot tell whether this says how %s. It has your other words:\n\n", measure)
	form := amounts[measure]
	if at := slices.IndexFunc(f.Passages, func(p place) bool { return p.says(words, form) }); at >= 0 {
		if len(words) > 1 {
			caveat = ""
		}
		return f.Passages[at], caveat
	}
	if at := slices.IndexFunc(f.Passages, func(p place) bool { return p.has(p.Text, words) }); at >= 0 {
		return f.Passages[at], caveat
	}
	return f.Passages[0], fmt.Sprintf("No passage has all of %q together. The closest ones:\n\n", strings.Join(words, " "))
}

// says reports whether two sentences that follow each other have the words and match the form.
func (p place) says(words []string, form *regexp.Regexp) bool {
	before := ""
	for s := range strings.SplitAfterSeq(p.Text, ". ") {
		if near := before + s; p.has(near, words) && form.MatchString(near) {
			return true
		}
		before = s
	}
	return false
}

// has reports whether a part of the passage, with the heading, has words that begin like each of the words.
func (p place) has(part string, words []string) bool {
	split := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	own := split(p.Heading + " " + part)
	return !slices.ContainsFunc(split(strings.Join(words, " ")), func(w string) bool {
		r := []rune(w)
		start := string(r[:max(min(len(r), 4), len(r)-3)]) // without an ending such as "ing"
		return !slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, start) })
	})
}

func (p place) where() string {
	where := fmt.Sprintf("lines %d-%d", p.From, p.To)
	if p.From == p.To {
		where = fmt.Sprintf("line %d", p.From)
	}
	if p.Heading != "" {
		where += fmt.Sprintf(" (%s)", p.Heading)
	}
	return where
}

func linesAnswer(p passage) string {
	if len(p.Lines) == 0 {
		return "There are no such lines."
	}
	first, last := p.Lines[0].Number, p.Lines[len(p.Lines)-1].Number
	text := fmt.Sprintf("Lines %d to %d of %d:\n%s", first, last, p.Of, quote(p.Lines))
	if first == last {
		text = fmt.Sprintf("Line %d of %d:\n%s", first, p.Of, quote(p.Lines))
	}
	if p.Left > 0 {
		text += fmt.Sprintf("\n%s more; say \"more\".", number(p.Left, "line"))
	}
	return text
}

func countAnswer(in intent, c counted) string {
	place, verb := "The file", "has"
	if in.from != 0 {
		place, verb = fmt.Sprintf("Lines %d to %d", c.From, c.To), "have"
		if c.From == c.To {
			place, verb = fmt.Sprintf("Line %d", c.From), "has"
		}
	}
	if in.topic == "" {
		return fmt.Sprintf("%s %s %s, %s and %s.", place, verb, number(c.Lines, "line"), number(c.Words, "word"), number(c.Characters, "character"))
	}
	if c.Occurrences == 0 {
		return fmt.Sprintf("%s %s no %q as a whole word.", place, verb, in.topic)
	}
	on := make([]string, len(c.OnLines))
	for i, n := range c.OnLines {
		on[i] = strconv.Itoa(n)
	}
	more := ""
	if len(on) == 10 {
		more = " at first"
	}
	where := "lines "
	if len(on) == 1 {
		where = "line "
	}
	return fmt.Sprintf("%s %s %q %s as a whole word, on %s%s%s.", place, verb, in.topic, number(c.Occurrences, "time"), where, strings.Join(on, ", "), more)
}

func summaryAnswer(in intent, o outline, c counted) string {
	var b strings.Builder
	if in.topic == "" {
		b.WriteString("I cannot summarise: that takes a language model. This is what I can see.\n")
	}
	fmt.Fprintf(&b, "The file has %s, %s and %s that I can see.", number(c.Lines, "line"), number(c.Words, "word"),
		number(len(o.Headings)+o.More, "heading"))
	if len(o.Headings) > 0 {
		fmt.Fprintf(&b, "\nHeadings:\n%s", quote(o.Headings))
		if o.More > 0 {
			fmt.Fprintf(&b, "\n    ... and %d more", o.More)
		}
	}
	if len(o.Opening) > 0 {
		fmt.Fprintf(&b, "\nIt begins with:\n%s", quote(o.Opening))
	}
	return b.String()
}

func savedAnswer(s saved) string {
	if !s.Saved {
		return "You said no, so nothing was written."
	}
	return "Saved in " + s.File + "."
}

// number is a count with its noun: "1 line", "12,345 lines".
func number(n int, noun string) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		noun += "s"
	}
	return digits + " " + noun
}
