package split

import "strings"

// parsePlain reads paragraphs, which blank lines separate, and underlined headings.
func parsePlain(text string) *parsed {
	p := &parsed{text: text}
	p.open(nil)
	var o outline
	start := -1 // offset of the open paragraph
	end := func(at int) {
		if start >= 0 {
			p.add(proseOrLines(text[start:at]), start, at)
		}
		start = -1
	}
	for at := skipMark(text); at < len(text); {
		next := lineEnd(text, at)
		line := strings.TrimSpace(text[at:next])
		switch level := underline(text, next); {
		case line == "":
			end(at)
		case start < 0 && level > 0:
			next = lineEnd(text, next)
			p.head(&o, level, line, at, next)
		case start < 0:
			start = at
		}
		at = next
	}
	end(len(text))
	return p
}

// head opens a section and adds its heading.
func (p *parsed) head(o *outline, level int, text string, start, end int) {
	p.open(o.push(level, text))
	p.add(heading, start, end)
	if p.title == "" {
		p.title = label(text)
	}
}

// proseOrLines returns lines for code, tables and verse, where most lines are indented, and
// paragraph for other text.
func proseOrLines(text string) kind {
	total, indented := 0, 0
	for at := 0; at < len(text); at = lineEnd(text, at) {
		total++
		if text[at] == ' ' || text[at] == '\t' {
			indented++
		}
	}
	if 2*indented > total {
		return lines
	}
	return paragraph
}

// skipMark returns the length of a byte order mark.
func skipMark(text string) int {
	return len(text) - len(strings.TrimPrefix(text, "\ufeff"))
}

// lineEnd returns the offset of the next line. Lines end with \n, \r\n or \r, as in CommonMark.
func lineEnd(text string, at int) int {
	i := strings.IndexAny(text[at:], "\r\n")
	switch {
	case i < 0:
		return len(text)
	case strings.HasPrefix(text[at+i:], "\r\n"):
		return at + i + 2
	}
	return at + i + 1
}

// underline returns the level of the heading that the line at an offset underlines: 1 for
// ===, 2 for ---, and 0 for other lines.
func underline(text string, at int) int {
	if at >= len(text) || text[at] != '=' && text[at] != '-' {
		return 0
	}
	line := strings.TrimRight(text[at:lineEnd(text, at)], " \t\r\n")
	switch {
	case len(line) < 2:
		return 0
	case strings.Trim(line, "=") == "":
		return 1
	case strings.Trim(line, "-") == "":
		return 2
	}
	return 0
}
