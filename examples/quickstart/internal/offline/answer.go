package offline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-go/weft/examples/internal/rules"
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
		return fmt.Sprintf("No line has all words of %q.", topic)
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

// list joins quoted words: "a", "b" or "c".
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

// lookAnswer quotes the best passage for the words of a question and names the next ones. If the
// text lacks some of the words, if no passage has all words, or if several passages have the only
// word, it says so and quotes the two closest passages.
func lookAnswer(in intent, words []string, f found) string {
	lead := ""
	switch {
	case len(f.Passages) == 0:
		return fmt.Sprintf("I found no passage about that: %s does not mention %s.", f.File, list(f.Missing, "or"))
	case len(f.Missing) > 0:
		lead = fmt.Sprintf("The text does not mention %s.", list(f.Missing, "or"))
	case f.Total == 0:
		lead = fmt.Sprintf("No passage has %s together.", list(words, "and"))
	case f.Total > 1 && len(words) == 1 && !in.named:
		lead = fmt.Sprintf("%s mention %q.", number(f.Total, "passage"), words[0])
	default:
		return rules.Quoted(in.question, quotes(f.File, f.Passages[0], f.Passages[:min(len(f.Passages), f.Total)]))
	}
	closest := make([]string, min(2, len(f.Passages)))
	for i := range closest {
		closest[i] = quotes(f.File, f.Passages[i].closest(), nil)
	}
	lead += " The closest passage"
	if len(closest) > 1 {
		lead += "s"
	}
	return lead + ":\n\n" + strings.Join(closest, "\n\n")
}

// quotes returns a passage and its place, with the places of up to two others under other headings.
func quotes(file string, p place, others []place) string {
	if p.Code {
		p.Text = "    " + strings.ReplaceAll(p.Text, "\n", "\n    ")
	}
	text := fmt.Sprintf("%s\n\n  %s, %s", p.Text, file, p.where())
	mark, seen := "\n  see also ", []string{p.Heading}
	for _, other := range others {
		if len(seen) < 3 && !slices.Contains(seen, other.Heading) {
			text += mark + other.where()
			mark, seen = "; ", append(seen, other.Heading)
		}
	}
	return text
}

// closest returns the passage with only its best sentences.
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

func countAnswer(word string, c counted) string {
	if word == "" {
		return fmt.Sprintf("The file has %s, %s and %s.", number(c.Lines, "line"), number(c.Words, "word"), number(c.Characters, "character"))
	}
	if c.Occurrences == 0 {
		return fmt.Sprintf("The file has no %q as a whole word.", word)
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
	return fmt.Sprintf("The file has %q %s as a whole word, on %s%s%s.", word, number(c.Occurrences, "time"), where, strings.Join(on, ", "), more)
}

func summaryAnswer(o outline, c counted) string {
	var b strings.Builder
	b.WriteString("I cannot summarise: that takes a language model. This is what I can see.\n")
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

// number returns a count with its noun: "1 line", "12,345 lines".
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
