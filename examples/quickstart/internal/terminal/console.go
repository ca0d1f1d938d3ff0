package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"

	"github.com/weft-go/weft/examples/quickstart/internal/reader"
	"github.com/weft-go/weft/tools"
)

// A console is the input and output of the user.
type console struct {
	in     io.Reader
	out    io.Writer
	plain  bool // no colours
	looked bool // plain was set
}

func (c *console) say(text string) { fmt.Fprint(c.out, text) }

func (c *console) sayf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// The styles of a text, as codes in the escape sequences of terminals.
const (
	bold  = "1"
	faint = "2"
)

// style returns a text in a style, if the output is a terminal and the user wants colours
// (https://no-color.org).
func (c *console) style(code, text string) string {
	if !c.looked {
		c.looked = true
		c.plain = !c.terminal(c.out) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
		if f, ok := c.out.(*os.File); ok && !c.plain {
			c.plain = !styled(f)
		}
	}
	if c.plain {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// dim shows a line that is not part of an answer.
func (c *console) dim(text string) {
	c.say("\n")
	w := c.wrapped()
	w.style = faint
	w.write(text + "\n")
}

// wrapped returns a writer that breaks lines.
func (c *console) wrapped() *wrapper { return &wrapper{console: c, width: c.width()} }

// width returns the width of the terminal, and at most 100 columns, which are easier to
// read.
func (c *console) width() int {
	if f, ok := c.out.(*os.File); ok && c.terminal(f) {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns >= 20 {
			return min(columns, 100)
		}
	}
	return defaultWidth
}

// yesOrNo reads an answer. It reports ok only for yes, y, no and n, in any case.
func yesOrNo(text string) (yes, ok bool) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "yes", "y":
		return true, true
	case "no", "n":
		return false, true
	}
	return false, false
}

// line shows a text under a name.
func (c *console) line(name, text string) {
	c.sayf("%s  %s\n", c.style(faint, fmt.Sprintf("%-10s", name)), visible(text))
}

// visible replaces the characters that could change a terminal or the order of a
// text. The text of a model or a file may hold them.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return '\ufffd'
		}
		return r
	}, text)
}

func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// approval shows a note that the user has to approve.
func (c *console) approval(n reader.Note) {
	c.line("approval", "append this to "+tools.VisibleLine(short(n.File))+"?")
	var text strings.Builder
	w := wrapper{console: &console{out: &text}, width: c.width() - len("            > ")}
	w.write(tools.Visible(n.Text) + "\n")
	for line := range strings.Lines(text.String()) {
		c.line("", strings.TrimSpace("> "+strings.TrimRight(line, "\n")))
	}
}

// terminal reports whether an input or output is a terminal.
func (c *console) terminal(end any) bool {
	switch f := end.(type) {
	case interface{ Terminal() bool }:
		return f.Terminal()
	case *os.File:
		return term.IsTerminal(int(f.Fd()))
	}
	return false
}

// clip returns the beginning of a text as one line.
func clip(text string, most int) string {
	text = visible(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
