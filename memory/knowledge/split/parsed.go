package split

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A parsed is a document as a sequence of blocks. The text between blocks is blank.
type parsed struct {
	title    string
	text     string
	sections [][]string // the headings of each section
	blocks   []block
	trace    []run // the origin of the text; nil if the text is the source
}

// A block is a part of a document that is kept in one piece if possible.
type block struct {
	start, end int
	section    int
	kind       kind
	// Of a table with a header, rows is the offset of the row after the header, and columns
	// the text of the header. Zero for other blocks.
	rows    int
	columns string
}

type kind uint8

const (
	paragraph kind = iota
	heading
	lines // code, tables and JSON values, which are cut between lines
	list
)

// add adds a block without the space around it. An empty block is not added.
func (p *parsed) add(kind kind, start, end int) {
	if kind == lines { // keep the indentation of the first line
		for start < end && (p.text[start] == '\n' || p.text[start] == '\r') {
			start++
		}
	} else {
		start = end - len(strings.TrimLeftFunc(p.text[start:end], unicode.IsSpace))
	}
	end = start + len(strings.TrimRightFunc(p.text[start:end], unicode.IsSpace))
	if start < end {
		p.blocks = append(p.blocks, block{start: start, end: end, section: len(p.sections) - 1, kind: kind})
	}
}

// addTable adds a block which, if rows is not zero, is a table with a header.
func (p *parsed) addTable(kind kind, start, end, rows int, columns string) {
	n := len(p.blocks)
	p.add(kind, start, end)
	if columns = label(columns); rows > 0 && len(p.blocks) > n && columns != "" {
		p.blocks[n].rows, p.blocks[n].columns = rows, columns
	}
}

const (
	maxHeading = 200 // bytes
	maxDepth   = 16
)

// open starts a section under the headings.
func (p *parsed) open(headings []string) {
	headings = headings[max(0, len(headings)-maxDepth):]
	p.sections = append(p.sections, headings)
}

// An outline holds the open headings and their levels.
type outline struct {
	levels   []int
	headings []string
}

// push opens a heading and returns all open headings. It does not modify slices that it has
// returned.
func (o *outline) push(level int, text string) []string {
	n := len(o.levels)
	for n > 0 && o.levels[n-1] >= level {
		n--
	}
	o.levels = append(o.levels[:n], level)
	o.headings = append(o.headings[:n:n], label(text))
	return o.headings
}

// label returns a heading on one line of limited length.
func label(text string) string {
	if len(text) > 4*maxHeading {
		text = clip(text, 4*maxHeading)
	}
	return strings.TrimSpace(clip(strings.Join(strings.Fields(strings.ReplaceAll(text, "\x00", "\ufffd")), " "), maxHeading))
}

// clip returns at most n bytes and does not cut a rune.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// A run is a part of a text with its origin in the source.
type run struct {
	at, length int // in the text
	start, end int // in the source
	copied     bool
}

// A rewriting makes a text from a source and records the origin of each part.
type rewriting struct {
	source string
	text   []byte
	trace  []run
}

// keep appends a part of the source unchanged.
func (w *rewriting) keep(start, end int) {
	if start >= end {
		return
	}
	if n := len(w.trace); n > 0 {
		last := &w.trace[n-1]
		if last.copied && last.end == start && last.at+last.length == len(w.text) {
			last.end, last.length = end, last.length+end-start
			w.text = append(w.text, w.source[start:end]...)
			return
		}
	}
	w.trace = append(w.trace, run{len(w.text), end - start, start, end, true})
	w.text = append(w.text, w.source[start:end]...)
}

// put appends a text that replaces a part of the source.
func (w *rewriting) put(s string, start, end int) {
	if s == "" {
		return
	}
	w.trace = append(w.trace, run{len(w.text), len(s), start, end, false})
	w.text = append(w.text, s...)
}

// insert appends a text that is not in the source.
func (w *rewriting) insert(s string) { w.text = append(w.text, s...) }

// origin returns the offsets in the source of a part of the text.
func (p *parsed) origin(start, end int) (from, to int) {
	if p.trace == nil {
		return start, end
	}
	i := sort.Search(len(p.trace), func(i int) bool { return p.trace[i].at+p.trace[i].length > start })
	j := sort.Search(len(p.trace), func(i int) bool { return p.trace[i].at >= end }) - 1
	if i > j { // inserted text
		switch {
		case i < len(p.trace):
			return p.trace[i].start, p.trace[i].start
		case j >= 0:
			return p.trace[j].end, p.trace[j].end
		}
		return 0, 0
	}
	first, last := p.trace[i], p.trace[j]
	from, to = first.start, last.end
	if first.copied {
		from += max(0, start-first.at)
	}
	if last.copied {
		to -= max(0, last.at+last.length-end)
	}
	return from, to
}
