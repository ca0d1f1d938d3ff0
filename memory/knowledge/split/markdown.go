package split

import (
	"strings"
)

// A markdown reads the blocks of Markdown, line by line.
type markdown struct {
	*parsed
	outline outline
	at      int
}

func parseMarkdown(text string) *parsed {
	m := markdown{parsed: &parsed{text: text}, at: skipMark(text)}
	m.open(nil)
	m.frontMatter()
	for m.at < len(text) {
		m.block()
	}
	return m.parsed
}

func (m *markdown) block() {
	start := m.at
	line := m.line(start)
	body := strings.TrimLeft(line, " \t")
	indent := width(line[:len(line)-len(body)])
	switch {
	case body == "":
		m.at = m.next()
	case indent >= 4:
		m.indented()
	case fence(body) > 0:
		m.fenced(body)
	case headingLevel(body) > 0:
		m.at = m.next()
		m.head(&m.outline, headingLevel(body), inline(strings.Trim(body, "# \t")), start, m.at)
	case m.tableAt(start):
		m.table()
	case listMarker(body) > 0:
		m.list()
	default:
		m.paragraph()
	}
}

// line returns the line at a place, without its end.
func (m *markdown) line(at int) string {
	return strings.TrimRight(m.text[at:lineEnd(m.text, at)], "\r\n")
}

func (m *markdown) next() int { return lineEnd(m.text, m.at) }

// frontMatter reads what stands between two lines of --- or +++ at the very beginning.
func (m *markdown) frontMatter() {
	mark := m.line(m.at)
	if mark = strings.TrimRight(mark, " \t"); mark != "---" && mark != "+++" {
		return
	}
	title := ""
	for at := lineEnd(m.text, m.at); at < len(m.text); at = lineEnd(m.text, at) {
		line := strings.TrimRight(m.line(at), " \t")
		if line == mark {
			start := m.at
			m.at = lineEnd(m.text, at)
			m.title = title
			m.add(lines, start, m.at)
			return
		}
		if name, value, ok := strings.Cut(line, string(":="[strings.IndexByte("-+", mark[0])])); ok && strings.TrimSpace(name) == "title" {
			title = label(strings.Trim(strings.TrimSpace(value), `"'`))
		}
	}
}

// fenced reads code up to the fence that closes it, or the end.
func (m *markdown) fenced(body string) {
	start, open := m.at, fence(body)
	m.at = m.next()
	for m.at < len(m.text) {
		line := strings.TrimSpace(m.line(m.at))
		m.at = m.next()
		if n := fence(line); n >= open && line[0] == body[0] && n == len(line) {
			break
		}
	}
	m.add(lines, start, m.at)
}

// indented reads code that is indented, with the blank lines in it.
func (m *markdown) indented() {
	start, end := m.at, m.at
	for m.at < len(m.text) {
		line := m.line(m.at)
		body := strings.TrimLeft(line, " \t")
		if body != "" && width(line[:len(line)-len(body)]) < 4 {
			break
		}
		m.at = m.next()
		if body != "" {
			end = m.at
		}
	}
	m.add(lines, start, end)
}

// tableAt says that a table begins: a line with bars, and one of dashes below it.
func (m *markdown) tableAt(at int) bool {
	next := lineEnd(m.text, at)
	if next >= len(m.text) || !strings.Contains(m.line(at), "|") {
		return false
	}
	rule := strings.TrimSpace(m.line(next))
	return strings.Contains(rule, "-") && strings.Contains(rule, "|") && strings.Trim(rule, "|-: \t") == ""
}

func (m *markdown) table() {
	start := m.at
	for m.at < len(m.text) && strings.Contains(m.line(m.at), "|") {
		m.at = m.next()
	}
	m.add(lines, start, m.at)
}

// list reads a list with all that is indented below its items.
func (m *markdown) list() {
	start, blank, code := m.at, false, ""
	for m.at < len(m.text) {
		line := m.line(m.at)
		body := strings.TrimLeft(line, " \t")
		inside := len(body) < len(line) || listMarker(body) > 0
		switch n := fence(body); {
		case code != "":
			if n >= len(code) && strings.HasPrefix(body, code) && strings.TrimSpace(body[n:]) == "" {
				code = ""
			}
		case body == "":
			blank = true
		case !inside && (blank || n > 0 || headingLevel(body) > 0):
			m.add(list, start, m.at)
			return
		default:
			blank = false
			code = body[:n]
		}
		m.at = m.next()
	}
	m.add(list, start, m.at)
}

// paragraph reads up to a blank line or another block. Underlined, it is a heading.
func (m *markdown) paragraph() {
	start := m.at
	m.at = m.next()
	for m.at < len(m.text) {
		if level := underline(m.text, m.at); level > 0 {
			text := inline(m.text[start:m.at])
			m.at = m.next()
			m.head(&m.outline, level, text, start, m.at)
			return
		}
		body := strings.TrimLeft(m.line(m.at), " \t")
		if body == "" || fence(body) > 0 || headingLevel(body) > 0 || m.tableAt(m.at) || listMarker(body) > 0 {
			break
		}
		m.at = m.next()
	}
	m.add(paragraph, start, m.at)
}

// fence returns the length of the fence that a line begins with, or 0.
func fence(body string) int {
	for _, mark := range []string{"`", "~"} {
		n := len(body) - len(strings.TrimLeft(body, mark))
		if n >= 3 && (mark == "~" || !strings.Contains(body[n:], "`")) {
			return n
		}
	}
	return 0
}

// headingLevel returns that of a line that begins with #, or 0.
func headingLevel(body string) int {
	n := len(body) - len(strings.TrimLeft(body, "#"))
	if n > 6 || n < len(body) && body[n] != ' ' && body[n] != '\t' {
		return 0
	}
	return n
}

// listMarker returns the length of the mark of a list's item that a line begins with,
// or 0.
func listMarker(body string) int {
	n := 0
	for n < len(body) && n < 9 && body[n] >= '0' && body[n] <= '9' {
		n++
	}
	marks := "-*+"
	if n > 0 {
		marks = ".)"
	}
	if n >= len(body) || strings.IndexByte(marks, body[n]) < 0 {
		return 0
	}
	if n++; n < len(body) && body[n] != ' ' && body[n] != '\t' {
		return 0
	}
	return n
}

// width is that of an indentation.
func width(indent string) int { return len(indent) + 3*strings.Count(indent, "\t") }

// inline returns a heading without its marks: the text of links, and no asterisks and
// backquotes.
func inline(text string) string {
	if len(text) > 4*maxHeading {
		text = clip(text, 4*maxHeading)
	}
	if !strings.ContainsAny(text, "*`[]{") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch c := text[i]; {
		case c == '*' || c == '`' || c == '[' || strings.HasPrefix(rest, "!["):
		case strings.HasPrefix(rest, "]("):
			i += max(0, strings.IndexByte(rest, ')'))
		case strings.HasPrefix(rest, "{#"): // an anchor
			i += max(0, strings.IndexByte(rest, '}'))
		case c != ']':
			b.WriteByte(c)
		}
	}
	return b.String()
}
