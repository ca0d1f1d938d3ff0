package offline

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
		out[i] = strings.TrimRight(fmt.Sprintf("  %*d | %s", width, l.Number, l.Text), " ")
	}
	return strings.Join(out, "\n")
}

func byNumber(list []line) []line {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b line) int { return a.Number - b.Number })
	return list
}

// shorter cuts long lines of a list.
func shorter(list []line) []line {
	for i, l := range list {
		if runes := []rune(l.Text); len(runes) > 100 {
			list[i].Text = string(runes[:99]) + "…"
		}
	}
	return list
}

func whereAnswer(topic string, f found) string {
	switch {
	case len(f.Lines) == 0:
		return nothing(topic, f)
	case f.Total == 0:
		return fmt.Sprintf("No line has all of %q. Those with some of it, the best of %d:\n%s",
			topic, f.Partly, quote(shorter(byNumber(f.Lines)))) + similar(f)
	}
	shown := byNumber(f.Lines[:min(len(f.Lines), f.Total)])
	lead := fmt.Sprintf("%q is on %s", topic, number(f.Total, "line"))
	if len(shown) < f.Total {
		lead += fmt.Sprintf("; here are %d", len(shown))
	}
	return lead + ":\n" + quote(shorter(shown))
}

func nothing(topic string, f found) string {
	return fmt.Sprintf("I found nothing about %q in the file.", topic) + similar(f)
}

func similar(f found) string {
	if len(f.Similar) == 0 {
		return ""
	}
	return " It does have: " + strings.Join(f.Similar, ", ") + "."
}

func defineAnswer(in intent, f found, p []line) string {
	lead := fmt.Sprintf("The file says about %q:", in.topic)
	switch {
	case f.Total == 0:
		lead = fmt.Sprintf("No line has all of %q. This has most of it:", query(in.topic))
	case in.kind == unknown:
		lead = "I go by the words of your question, and this has most of them:"
	}
	text := lead + "\n" + quote(p)
	var also []line
	for _, l := range f.Lines[:min(len(f.Lines), max(f.Total, 3))] {
		if !slices.ContainsFunc(p, func(q line) bool { return q.Number == l.Number }) {
			also = append(also, l)
		}
	}
	if len(also) > 0 {
		text += "\nSee also:\n" + quote(shorter(byNumber(also)))
	}
	if f.Total > len(f.Lines) {
		text += fmt.Sprintf("\nIn all, %s.", number(f.Total, "line"))
	}
	if len(f.Missing) > 0 {
		text += fmt.Sprintf("\nThe file does not have: %s.", strings.Join(f.Missing, ", ")) + similar(f)
	}
	return text
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
		b.WriteString("I can not summarise: that takes a language model, and I am rules. What I see is this.\n")
	}
	fmt.Fprintf(&b, "The file has %s, %s and %s that I can see.", number(c.Lines, "line"), number(c.Words, "word"),
		number(len(o.Headings)+o.More, "heading"))
	if len(o.Headings) > 0 {
		fmt.Fprintf(&b, "\nHeadings:\n%s", quote(o.Headings))
		if o.More > 0 {
			fmt.Fprintf(&b, "\n  ... and %d more", o.More)
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
