package split

import (
	"strconv"
	"strings"
)

// parsePages reads plain text in which a form feed ends each page. A page is a section with
// its number as the heading.
func parsePages(text string) *parsed {
	p := &parsed{text: text}
	at := skipMark(text)
	for page := 1; at < len(text); page++ {
		end := len(text)
		if i := strings.IndexByte(text[at:], '\f'); i >= 0 {
			end = at + i
		}
		p.open([]string{"Page " + strconv.Itoa(page)})
		p.paragraphs(at, end)
		at = end + 1
	}
	return p
}

// paragraphs adds the paragraphs between two offsets. Blank lines separate them.
func (p *parsed) paragraphs(at, end int) {
	text := p.text[:end]
	for start := at; start < end; {
		next := start
		for next < end && strings.TrimSpace(text[next:lineEnd(text, next)]) != "" {
			next = lineEnd(text, next)
		}
		if next > start {
			p.add(proseOrLines(text[start:next]), start, next)
			start = next
			continue
		}
		start = lineEnd(text, start)
	}
}
