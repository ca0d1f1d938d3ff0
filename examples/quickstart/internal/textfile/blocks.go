package textfile

import (
	"regexp"
	"slices"
	"strings"
)

// A block is a paragraph, an entry of a list, a row of a table or a piece of code:
// the unit that Search ranks and returns.
type block struct {
	from, to int    // line indexes, both included
	raw      string // prose: one line with its Markdown marks; code: lines as they are
	code     bool
	entry    bool     // of a list or a table
	row      bool     // of a table
	headings []string // the headings above it, outermost first
	stems    []string // of raw; see stems
	above    []string // stems of the nearest heading
	outer    []string // stems of the other headings
	title    []string // stems of the title of the file, if that is no heading
	first    bool     // the first block under its heading, or the first after code
}

// maxBlock is the greatest number of lines of a block. Longer ones are divided.
const maxBlock = 14

var (
	entryMark = regexp.MustCompile(`^\s*(?:[-*+•]|\d+[.)]) +`)
	tableRule = regexp.MustCompile(`^[\s|:-]+$`)
	comment   = regexp.MustCompile(`^\s*(?://+!?|--|#|/?\*+/?)(?: |$)`)
	htmlMark  = regexp.MustCompile(`^\s*<!--.*-->\s*$`)
)

// proseFiles are the extensions of files whose paragraphs are text and not code.
var proseFiles = []string{"", ".md", ".markdown", ".txt", ".text", ".rst", ".adoc", ".org", ".log"}

// A divider collects the blocks of a file.
type divider struct {
	f        *File
	blocks   []block
	headings []string
	levels   []int
	header   []string // the cells of the table's first row
	start    int      // the first line of the open block, or -1
	fenced   bool
}

// divide returns the blocks of a file.
func (f *File) divide() []block {
	d := &divider{f: f, start: -1}
	for i := range f.lines {
		d.line(i)
	}
	d.end(len(f.lines))
	return withoutTitle(d.blocks)
}

// withoutTitle removes a title of one or two paragraphs from the blocks. Its words help to find the
// blocks below, but it answers nothing itself.
func withoutTitle(blocks []block) []block {
	n := slices.IndexFunc(blocks, func(b block) bool {
		return b.code || b.entry || b.to > b.from+1 || strings.ContainsAny(b.raw[len(b.raw)-1:], ".,;:!?")
	})
	if n < 1 || n > 2 {
		return blocks
	}
	for i := range blocks[n:] {
		for _, title := range blocks[:n] {
			blocks[n+i].title = append(blocks[n+i].title, title.stems...)
		}
	}
	blocks[n].first = true
	return blocks[n:]
}

func (d *divider) line(i int) {
	text := strings.TrimSpace(d.f.lines[i])
	if !strings.HasPrefix(text, "|") {
		d.header = nil
	}
	switch {
	case strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~"):
		d.end(i)
		d.fenced = !d.fenced
	case text == "":
		d.end(i)
	case d.fenced:
		d.text(i)
	case underline.MatchString(text) || htmlMark.MatchString(text):
		d.end(i)
	case d.f.heading(i):
		d.end(i)
		d.heading(i)
		if !d.f.prose { // a declaration is a heading and part of its code
			d.start = i
		}
	case d.f.prose && strings.HasPrefix(text, "|"):
		d.end(i)
		d.row(i)
	case d.f.prose && entryMark.MatchString(d.f.lines[i]):
		d.end(i)
		d.start = i
	default:
		d.text(i)
	}
}

// text adds a line to the open block, or begins one.
func (d *divider) text(i int) {
	if d.start >= 0 && i-d.start >= maxBlock {
		d.end(i)
	}
	if d.start < 0 {
		d.start = i
	}
}

// heading makes a line the nearest heading of the blocks that follow.
func (d *divider) heading(i int) {
	text := strings.TrimSpace(d.f.lines[i])
	level := len(text) - len(strings.TrimLeft(text, "#"))
	if level == 0 {
		level = min(i+1, 2) // the first line is the title
	}
	for len(d.levels) > 0 && d.levels[len(d.levels)-1] >= level {
		d.levels, d.headings = d.levels[:len(d.levels)-1], d.headings[:len(d.headings)-1]
	}
	d.levels = append(d.levels, level)
	d.headings = append(slices.Clip(d.headings), plain(strings.TrimSpace(strings.TrimLeft(text, "#"))))
}

// row adds a row of a table as a block of its own: "first cell: header cell; …".
func (d *divider) row(i int) {
	text := strings.TrimSpace(d.f.lines[i])
	if tableRule.MatchString(text) {
		return
	}
	cells := strings.Split(strings.Trim(text, "|"), "|")
	for j := range cells {
		cells[j] = strings.TrimSpace(cells[j])
	}
	if d.header == nil {
		d.header = cells
		if i+1 < len(d.f.lines) && tableRule.MatchString(d.f.lines[i+1]) {
			return
		}
	}
	var parts []string
	for j, cell := range cells[1:] {
		if cell != "" && len(cells) > 2 && j+1 < len(d.header) && d.header[j+1] != "" {
			cell = d.header[j+1] + ": " + cell
		}
		if cell != "" {
			parts = append(parts, cell)
		}
	}
	d.add(block{from: i, to: i, entry: true, row: true, outer: stems(strings.Join(d.header, " ")), raw: strings.TrimPrefix(cells[0]+": "+strings.Join(parts, "; "), ": ")})
}

// end adds the open block, which ends before line to.
func (d *divider) end(to int) {
	if d.start < 0 {
		return
	}
	lines := d.f.lines[d.start:to]
	b := block{from: d.start, to: to - 1}
	d.start = -1
	switch {
	case d.fenced:
		b.code = true
	case !d.f.prose:
		b.code = slices.ContainsFunc(lines, func(l string) bool { return !comment.MatchString(l) })
	default:
		b.entry = entryMark.MatchString(lines[0])
	}
	if b.code {
		b.raw = strings.Join(lines, "\n")
		d.add(b)
		return
	}
	parts := make([]string, len(lines))
	for i, l := range lines {
		if !d.f.prose {
			l = comment.ReplaceAllString(l, "")
		}
		parts[i] = strings.TrimSpace(l)
	}
	b.raw = entryMark.ReplaceAllString(strings.Join(parts, " "), "")
	d.add(b)
}

func (d *divider) add(b block) {
	if b.raw = strings.TrimSpace(b.raw); b.raw == "" {
		return
	}
	b.headings = d.headings
	b.stems = stems(b.raw)
	if n := len(d.headings); n > 0 {
		b.above = stems(d.headings[n-1])
		b.outer = append(b.outer, stems(strings.Join(d.headings[:n-1], " "))...)
		last := len(d.blocks) - 1
		b.first = last < 0 || !slices.Equal(d.blocks[last].headings, d.headings) || d.blocks[last].code && d.blocks[last].first
	}
	d.blocks = append(d.blocks, b)
}

var (
	link     = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	emphasis = regexp.MustCompile(`(^|[\s("“])(\*{1,3}|_{1,3})(\S(?:.*?\S)?)(\*{1,3}|_{1,3})([\s.,;:!?)"”]|$)`)
)

// plain removes the marks of Markdown that a reader does not need.
func plain(text string) string {
	text = link.ReplaceAllString(text, "$1")
	for range 2 { // neighbours share the space between them
		text = emphasis.ReplaceAllString(text, "$1$3$5")
	}
	return text
}
