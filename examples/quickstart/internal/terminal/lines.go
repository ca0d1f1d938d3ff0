package terminal

import (
	"bufio"
	"context"
	"io"
	"strings"
)

// input reads lines in the background, since a read from a terminal cannot be cancelled.
// When the program ends, its goroutine ends with it.
type input struct {
	lines chan string
	next  *string // a line that more has read
}

func newInput(ctx context.Context, r io.Reader) *input {
	in := &input{lines: make(chan string)}
	go func() {
		defer close(in.lines)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			select {
			case in.lines <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return in
}

// line returns the next line. Given is false at the end of the input. When ctx ends, it
// returns the error of ctx.
func (in *input) line(ctx context.Context) (text string, given bool, err error) {
	if in.next != nil {
		text, in.next = *in.next, nil
		return text, true, nil
	}
	select {
	case <-ctx.Done():
		return "", false, ctx.Err()
	case text, given = <-in.lines:
		return text, given, nil
	}
}

// more reports whether there is another line that is not blank, and keeps the line for the next call of line.
func (in *input) more(ctx context.Context) bool {
	for {
		text, given, err := in.line(ctx)
		if !given || err != nil {
			return false
		}
		if strings.TrimSpace(text) != "" {
			in.next = &text
			return true
		}
	}
}
