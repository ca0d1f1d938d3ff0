package wire

import "strings"

const (
	thinkBegin = "<think>"
	thinkEnd   = "</think>"
	space      = " \t\r\n"
)

// thinkTags finds the reasoning in a text that begins with <think>. Servers without a field
// for reasoning use these tags. Tags at any other place are text.
type thinkTags struct {
	off    bool // the rest is text
	inside bool
	closed bool   // the tag has ended, and the answer has not begun
	held   string // text that can be a part of a tag, or space around one
	all    strings.Builder
}

// add reads the next piece of the text, and returns the reasoning and the text that it
// completes. A tag can be divided between two pieces.
func (t *thinkTags) add(more string) (reasoning, text string) {
	more = t.held + more
	t.held = ""
	if !t.off && !t.inside && !t.closed {
		more = t.begin(more)
	}
	if t.inside {
		reasoning, more = t.reason(more)
	}
	if t.closed {
		more = strings.TrimLeft(more, space)
		t.off, t.closed = more != "", more == ""
	}
	if t.off {
		text = more
	}
	return reasoning, text
}

// begin looks for the opening tag, and returns the text after it. Without a tag, it returns
// the text unchanged, or "" if the text can be a part of the tag.
func (t *thinkTags) begin(text string) string {
	trimmed := strings.TrimLeft(text, space)
	rest, found := strings.CutPrefix(trimmed, thinkBegin)
	switch {
	case found:
		t.inside = true
		return rest
	case strings.HasPrefix(thinkBegin, trimmed):
		t.held = text
		return ""
	}
	t.off = true
	return text
}

// reason returns the reasoning in a text, and the text after the closing tag.
func (t *thinkTags) reason(text string) (reasoning, rest string) {
	if t.all.Len() == 0 {
		text = strings.TrimLeft(text, space)
	}
	reasoning, rest, found := strings.Cut(text, thinkEnd)
	if found {
		t.inside, t.closed = false, true
	} else {
		held := partOfTag(text)
		reasoning, t.held = text[:len(text)-held], text[len(text)-held:]
	}
	t.all.WriteString(reasoning)
	return reasoning, rest
}

// partOfTag returns the length of the longest suffix of a text that can be the beginning of the
// closing tag.
func partOfTag(text string) int {
	for n := min(len(text), len(thinkEnd)-1); n > 0; n-- {
		if strings.HasSuffix(text, thinkEnd[:n]) {
			return n
		}
	}
	return 0
}

// end returns the held text. If the closing tag is missing in a reply that is complete, the
// reply was an answer and not reasoning, and end returns all of it as text.
func (t *thinkTags) end(isAnswer bool) (reasoning, text string) {
	switch {
	case t.inside && isAnswer:
		return t.held, thinkBegin + t.all.String() + t.held
	case t.inside:
		return t.held, ""
	}
	return "", t.held
}
