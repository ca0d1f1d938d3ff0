package offline

import (
	"cmp"
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
		return fmt.Sprintf("No line mentions %q.", topic)
	case f.Total == 0:
		return fmt.Sprintf("No line has all of %q. These have some of it, of %s:\n%s",
			topic, number(f.Partly, "line"), quote(f.Lines))
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

// list lists words: "a", "b" or "c".
func list(words []string, last string) string {
	var b strings.Builder
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			b.WriteString(" " + last + " ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(w))
	}
	return b.String()
}

// defineAnswer quotes the best passage for the words of a question and names the next ones.
// It says which words the text lacks, and whether no passage has all words.
func defineAnswer(in intent, words string, f found) string {
	m := measure(in.topic)
	is := func(w string) bool { return strings.EqualFold(w, m) }
	rest := slices.DeleteFunc(strings.Fields(words), is) // a text says "9 kg" and not "heavy"
	if len(rest) == 0 {
		rest, m = []string{words}, ""
	}
	f.Missing = slices.DeleteFunc(f.Missing, is)
	if len(f.Passages) == 0 {
		return fmt.Sprintf("I found no passage about that: %s does not mention %s.", f.File, list(f.Missing, "or"))
	}
	best, lead := f.Passages[0], ""
	several := f.Total > 1 && len(rest) == 1 && loose.MatchString(in.topic)
	switch {
	case len(f.Missing) > 0:
		lead = fmt.Sprintf("The text does not mention %s.", list(f.Missing, "or"))
	case m != "":
		best, lead = f.measured(rest, m)
	case f.Total == 0:
		lead = fmt.Sprintf("No passage has %s together.", list(rest, "and"))
	case several:
		lead = fmt.Sprintf("%s mention %s.", number(f.Total, "passage"), list(rest, "and"))
	}
	if lead == "" {
		return quotes(f.File, []place{best}, f.Passages[:min(len(f.Passages), f.Total)])
	}
	return lead + " The closest " + f.closest(best, rest, several)
}

// closest shows the best sentences of a passage. If it lacks a word, or several have the only one, it also shows those of
// the first passage that has another word, or as many.
func (f found) closest(best place, rest []string, several bool) string {
	shown, label := []place{best.closest()}, "passage"
	enough := max(1, matches(best.Text, rest...))
	if i := slices.IndexFunc(f.Passages, func(p place) bool {
		adds := func(w string) bool { return p.has(p.Text, []string{w}) && !best.has(best.Text, []string{w}) }
		return slices.ContainsFunc(rest, adds) || p != best && matches(p.Text, rest...) >= enough
	}); i >= 0 && (several || !best.has(best.Text, rest)) {
		shown, label = append(shown, f.Passages[i].closest()), "passages"
	}
	return label + ":\n\n" + quotes(f.File, shown, f.Passages)
}

// loose are questions that one word does not answer.
var loose = regexp.MustCompile(`(?i)^(?:when|why|who|which|until when)\b`)

// quotes shows passages and names two others, from under other headings.
func quotes(file string, shown, others []place) string {
	var b strings.Builder
	var seen []string
	for i, p := range shown {
		if i > 0 {
			b.WriteString("\n\n")
		}
		if p.Code {
			p.Text = "    " + strings.ReplaceAll(p.Text, "\n", "\n    ")
		}
		fmt.Fprintf(&b, "%s\n\n  %s, %s", p.Text, file, p.where())
		seen = append(seen, p.Heading)
	}
	for mark := "\n  see also "; len(others) > 0 && len(seen) < len(shown)+2; others = others[1:] {
		if p := others[0]; !slices.Contains(seen, p.Heading) {
			b.WriteString(mark + p.where())
			mark, seen = "; ", append(seen, p.Heading)
		}
	}
	return b.String()
}

const numerals = `\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|hundred|thousand`

// amounts match what a text says for a measure: a number with a unit.
var amounts = func() map[string]*regexp.Regexp {
	const (
		number = `\b(?:` + numerals + `|an?|half|every|each|per)[\s-]*(?:\w+\s+)?`
		time   = number + `(?:second|minute|hour|day|week|month|year|time)s?\b|\b(?:once|twice|hourly|daily|weekly|monthly|yearly|annually)\b`
		size   = number + `(?:mm|cm|m|km|metres?|meters?|inch(?:es)?|foot|feet|miles?|litres?|pixels?|(?:\w*bytes?|[kMGT]i?B))\b`
		weight = number + `(?:k?g|kilos?|\w*grams?|lbs?|pounds?|ton(?:ne)?s?|ounces?)\b`
		sound  = number + `(?:dB|decibels?)\b`
		clock  = `\b\d\d?[.:]\d\d\b|\b\d\d? ?[ap]m\b|o'clock|\b(?:noon|midnight)\b|\b(?:at|by|past|till?|to|until) (?:` + numerals + `)\b`
		money  = `[€£$] ?\d|\b(?:` + numerals + `) ?(?:[€£$]|(?:euro|pound|dollar|franc|cent)s?\b)|\b(?:free|half)\b`
	)
	out := map[string]*regexp.Regexp{}
	for measures, form := range map[string]string{
		"often soon old frequently": time, "long fast far quickly": time + "|" + size,
		"big large high tall wide deep": size, "heavy": weight, "loud": sound, "late": clock, "much": money,
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
	caveat := fmt.Sprintf("I cannot tell whether this says how %s.", measure)
	form := amounts[measure]
	if thing, ok := strings.CutPrefix(measure, "many "); ok {
		form = regexp.MustCompile(`(?i)\b(?:` + numerals + `)[\s-]+(?:\w+\s+)?` + strings.TrimSuffix(thing, "s"))
	}
	if at := slices.IndexFunc(f.Passages, func(p place) bool { return p.says(words, form) }); at >= 0 {
		if len(words) > 1 {
			caveat = ""
		}
		return f.Passages[at], caveat
	}
	if at := slices.IndexFunc(f.Passages, func(p place) bool { return p.has(p.Text, words) }); at >= 0 {
		return f.Passages[at], caveat
	}
	return f.Passages[0], fmt.Sprintf("No passage has %s together.", list(words, "and"))
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

// has reports whether a part of the passage, with the heading, has all words.
func (p place) has(part string, words []string) bool {
	return matches(p.Heading+" "+part, words...) == len(words)
}

// matches counts the words for which a text has words that begin like them.
func matches(text string, words ...string) int {
	split := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	}
	own, n := split(text), 0
	for _, w := range words {
		if !slices.ContainsFunc(split(w), func(w string) bool {
			r := []rune(w)
			start := string(r[:max(min(len(r), 4), len(r)-3)]) // without an ending such as "ing"
			return !slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, start) })
		}) {
			n++
		}
	}
	return n
}

// closest is the passage with its best sentences only.
func (p place) closest() place {
	p.Text = cmp.Or(p.Best, p.Text)
	return p
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
