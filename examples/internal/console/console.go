// Package console reads lines from a person at a terminal, and writes text to the terminal,
// wrapped, escaped and coloured.
package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/weft-go/weft/tools"
)

// The styles of a text.
const (
	Bold  = "1"
	Faint = "2"
	Green = "32"
	Amber = "33"
)

const (
	widest     = 100 // columns; longer lines are harder to read
	narrowest  = 20
	lineLength = 1 << 20 // bytes of a line of the input
)

// A Console reads from a person and writes to a person. If the output is not a terminal, text has
// no colours and is not wrapped. A Console is not safe for concurrent use.
type Console struct {
	out      io.Writer
	in       io.Reader
	lines    chan string
	failed   error // the error that ended the lines, set before lines is closed
	coloured bool
	width    int // 0: not wrapped
	column   int
	word     strings.Builder
}

// New returns a console. It has no colours if NO_COLOR (https://no-color.org) is set or TERM is
// dumb.
func New(in io.Reader, out io.Writer) *Console {
	c := &Console{in: in, out: out}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		c.width = widest
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns >= narrowest {
			c.width = min(columns, widest)
		}
		c.coloured = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && readsCodes(f)
	}
	return c
}

// Line returns the next line of the input. Given is false at the end of the input. Line returns an
// error if the input cannot be read, if a line is longer than 1 MiB, or if ctx ends. A read from a
// terminal cannot be cancelled, so the reading goroutine ends with the program.
func (c *Console) Line(ctx context.Context) (text string, given bool, err error) {
	if c.lines == nil {
		c.lines = make(chan string)
		go func() {
			defer close(c.lines)
			lines := bufio.NewScanner(c.in)
			for lines.Buffer(nil, lineLength); lines.Scan(); {
				c.lines <- lines.Text()
			}
			if c.failed = lines.Err(); errors.Is(c.failed, bufio.ErrTooLong) {
				c.failed = fmt.Errorf("a line of the input is longer than the limit of %d MiB", lineLength>>20)
			}
		}()
	}
	select {
	case text, given = <-c.lines:
		if !given {
			return "", false, c.failed
		}
		return text, true, nil
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

// Prompt writes a prompt if the output is a terminal.
func (c *Console) Prompt(text string) {
	if c.width > 0 {
		fmt.Fprint(c.out, c.style(Bold, text))
	}
}

// Print writes a piece of a text, which may end in the middle of a word. It escapes invisible
// characters as [tools.Visible] does. Say or End ends the text.
func (c *Console) Print(piece string) {
	for _, r := range tools.Visible(piece) {
		switch r {
		case '\n', ' ':
			c.flush()
			if r == '\n' {
				c.column = 0
			} else {
				c.column++
			}
			fmt.Fprint(c.out, string(r))
		default:
			c.word.WriteRune(r)
		}
	}
}

// flush writes the pending word, on a new line if the word does not fit.
func (c *Console) flush() {
	word := c.word.String()
	c.word.Reset()
	n := utf8.RuneCountInString(word)
	if c.width > 0 && c.column > 0 && c.column+n > c.width {
		fmt.Fprintln(c.out)
		c.column = 0
	}
	fmt.Fprint(c.out, word)
	c.column += n
}

// Say ends the current line and writes a line in a style. The empty style is plain.
func (c *Console) Say(style, format string, args ...any) {
	c.End()
	var text strings.Builder
	inner := &Console{out: &text, width: c.width}
	inner.Print(fmt.Sprintf(format, args...))
	inner.flush()
	fmt.Fprintln(c.out, c.style(style, text.String()))
}

// End writes the pending word and ends the current line, unless the line is empty.
func (c *Console) End() {
	c.flush()
	if c.column > 0 {
		fmt.Fprintln(c.out)
		c.column = 0
	}
}

func (c *Console) style(code, text string) string {
	if !c.coloured || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
