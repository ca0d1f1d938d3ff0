package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/tools"
)

// A console is the input and output of the user.
type console struct {
	in  io.Reader
	out io.Writer
}

func (c console) say(text string) { fmt.Fprint(c.out, text) }

func (c console) sayf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// dim shows a line that is not part of an answer.
func (c console) dim(text string) {
	if c.terminal(c.out) && os.Getenv("NO_COLOR") == "" {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	c.say("\n" + text + "\n")
}

// wrapped returns a writer that breaks lines at the width of the terminal, and not
// later than at 100 columns, which are easier to read.
func (c console) wrapped() *wrapper {
	width := 0
	if f, ok := c.out.(*os.File); ok && c.terminal(f) {
		width = min(terminalWidth(f), 100)
	}
	if width < 20 {
		width = defaultWidth
	}
	return &wrapper{out: c.out, width: width}
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
func (c console) line(name, text string) { c.sayf("%-10s  %s\n", name, visible(text)) }

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

// head returns a console for the lines above a run. They are shown when the run has
// started, so that a run with an error shows only the error.
func (s *session) head() console {
	c := console{s.console.in, &s.intro}
	if !s.verbose {
		return c
	}
	messages := "a new conversation"
	if s.here != nil {
		messages = fmt.Sprintf("%d messages", agent.Messages.Len(s.here))
	}
	c.line("file", fmt.Sprintf("%s (%d lines)", short(s.path), s.desk.text.Len()))
	c.line("thread", fmt.Sprintf("%s in %s (%s)", s.options.thread, s.db, messages))
	c.line("model", s.model)
	return c
}

// approval shows a note that the user has to approve.
func (c console) approval(n note) {
	c.line("approval", "append this to "+tools.VisibleLine(short(n.File))+"?")
	for line := range strings.Lines(tools.Visible(n.Text)) {
		c.line("", "> "+strings.TrimRight(line, "\n"))
	}
}

// terminal reports whether an input or output is a terminal.
func (c console) terminal(end any) bool {
	switch f := end.(type) {
	case interface{ Terminal() bool }:
		return f.Terminal()
	case *os.File:
		info, err := f.Stat()
		if err != nil || info.Mode()&os.ModeCharDevice == 0 {
			return false
		}
		null, err := os.Stat(os.DevNull)
		return err != nil || !os.SameFile(info, null)
	}
	return false
}

// confirm asks until the user answers yes or no. Given is false at the end of input.
func (c console) confirm(ctx context.Context) (yes, given bool, err error) {
	answers := make(chan string)
	// A read from a terminal cannot be cancelled. When ctx ends, the program ends, and
	// this goroutine with it.
	go func() {
		defer close(answers)
		for lines := bufio.NewScanner(c.in); lines.Scan(); {
			select {
			case answers <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		c.say("yes or no?  ")
		select {
		case <-ctx.Done():
			c.say("\n")
			return false, false, &stoppedError{"stopped; the question stays open"}
		case answer, ok := <-answers:
			if !ok {
				c.say("\n")
				return false, false, nil
			}
			if yes, ok := yesOrNo(answer); ok {
				return yes, true, nil
			}
		}
	}
}

// clip returns the beginning of a text as one line.
func clip(text string, most int) string {
	text = visible(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
