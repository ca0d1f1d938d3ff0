package tools

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weft-go/weft/internal/display"
	"github.com/weft-go/weft/llm"
)

const (
	defaultMaxText = 64 << 10
	defaultMaxData = 8 << 20
)

// maxResultParts is the maximum number of parts of a result. maxNoted is the maximum number
// of notes about parts that are too large; further parts are only counted.
const (
	maxResultParts = 1000
	maxNoted       = 10
)

// trim applies the limits of o to a result and makes its texts valid UTF-8.
func (o *Options) trim(r Result, call llm.ToolCall) Result {
	room := allowance{text: orDefault(o.MaxText, defaultMaxText), data: orDefault(o.MaxData, defaultMaxData)}
	clean := func(text string) string {
		text = strings.ToValidUTF8(text, "\ufffd")
		if o.Clean != nil {
			text = strings.ToValidUTF8(o.Clean(call.Clone(), text), "\ufffd")
		}
		return room.cut(text)
	}
	r.Text = clean(r.Text)
	kept := min(len(r.Parts), maxResultParts)
	parts := make([]llm.Part, 0, kept)
	noted, left := 0, len(r.Parts)-kept
	for _, p := range r.Parts[:kept] {
		fits := room.holds(len(p.Data) + len(p.URL) + len(p.Name))
		switch {
		case p.Text != "" && room.full, !fits && noted == maxNoted:
			left++
			continue
		case !fits:
			noted++
			p = llm.Text(fmt.Sprintf("[left out: %s of %d bytes is too large]", clip(cmp.Or(p.Name, p.MIMEType, "a part")), len(p.Data)+len(p.URL)))
		case p.Text != "":
			p.Text = clean(p.Text)
		}
		parts = append(parts, p)
	}
	if left > 0 {
		parts = append(parts, llm.Text(fmt.Sprintf("\n[left out: %d more]", left)))
	}
	r.Parts = parts
	return r
}

// clip shortens a name for use within a text.
func clip(name string) string {
	const most = 100
	name = strings.ToValidUTF8(name, "\ufffd")
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "…"
	}
	return name
}

func orDefault(n, standard int) int {
	if n == 0 {
		return standard
	}
	return n
}

// An allowance is the number of bytes that a result may still have. A negative number means
// no limit.
type allowance struct {
	text, data int
	full       bool // a text was cut
}

// cut shortens a text to the remaining bytes. A shortened text ends with a note for the
// model.
func (a *allowance) cut(text string) string {
	if a.text < 0 || len(text) <= a.text {
		a.text = max(a.text-len(text), min(a.text, 0))
		return text
	}
	n := a.text
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	a.text, a.full = 0, true
	return fmt.Sprintf("%s\n[cut off: these are the first %d of %d bytes; ask for less]", text[:n], n, len(text))
}

func (a *allowance) holds(size int) bool {
	if a.data < 0 || size <= a.data {
		a.data = max(a.data-size, min(a.data, 0))
		return true
	}
	return false
}

// Visible returns a text for a person with its invisible characters replaced by escape
// sequences, such as \u202e: control characters except line feeds and tabs, characters that
// change the direction of text, tag characters, zero-width and other format characters,
// variation selectors, and bytes that are not UTF-8. Use it to show a person a text that
// came from a model, a tool or a document. See also [Question.Text].
func Visible(text string) string { return display.Escape(text) }

// VisibleLine is [Visible] for a text that is shown on one line. It replaces line feeds
// and tabs too.
func VisibleLine(text string) string { return display.EscapeLine(text) }

// Printable removes characters that a person does not see but a model reads, because
// instructions can hide in them: control characters except tabs, line feeds and carriage
// returns, format characters, private-use characters and variation selectors. Use it in
// [Options].Clean. Some emoji and scripts use such characters and lose them.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector):
			return -1
		}
		return r
	}, text)
}
