package terminal

import (
	"strings"
	"unicode/utf8"
)

// defaultWidth is the width of a line where the output is not a terminal.
const defaultWidth = 80

// A wrapper breaks lines between words. Text may come in pieces of any size. A line
// that is indented by four spaces or stands between ``` is code and is not broken.
type wrapper struct {
	console *console
	width   int
	style   string // of the text
	faint   bool   // the line is indented by two spaces: the source of an answer
	column  int    // where the next character is written
	word    strings.Builder
	spaces  int    // before the word
	indent  string // of the lines after a break
	inLine  bool   // the first word of the line was written
	code    bool
	fenced  bool
}

func (w *wrapper) write(piece string) {
	for _, r := range visible(piece) {
		switch r {
		case '\n':
			w.flush()
			w.put("\n")
			w.column, w.spaces, w.inLine, w.code, w.indent = 0, 0, false, w.fenced, ""
		case ' ':
			w.flush()
			w.spaces++
		default:
			w.word.WriteRune(r)
		}
	}
}

// flush writes the pending word.
func (w *wrapper) flush() {
	word := w.word.String()
	if word == "" {
		return
	}
	w.word.Reset()
	space := strings.Repeat(" ", w.spaces)
	switch {
	case !w.inLine:
		w.begin(word, space)
	case !w.code && w.column+w.spaces+utf8.RuneCountInString(word) > w.width:
		w.put("\n" + w.indent)
		w.column = len(w.indent)
		space = ""
	}
	w.put(w.styled(space + word))
	w.column += len(space) + utf8.RuneCountInString(word)
	w.spaces, w.inLine = 0, true
}

// begin decides by the first word of a line how the line is broken.
func (w *wrapper) begin(word, space string) {
	if strings.HasPrefix(word, "```") {
		w.fenced = !w.fenced
		w.code = true
	}
	w.code = w.code || len(space) >= 4
	w.faint = len(space) == 2
	w.indent = space
	if word == "-" || word == "*" {
		w.indent += "  "
	}
}

func (w *wrapper) styled(text string) string {
	switch {
	case w.style != "":
		return w.console.style(w.style, text)
	case w.faint:
		return w.console.style(faint, text)
	}
	return text
}

func (w *wrapper) put(text string) { w.console.say(text) }
