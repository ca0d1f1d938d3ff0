package split

import (
	"bytes"
	stdhtml "html"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// An htmlReader extracts the visible text of a page. It reads one tag at a time and builds no
// tree, so deep nesting needs no memory. It closes unclosed elements as browsers do.
type htmlReader struct {
	rewriting
	parsed  *parsed
	outline outline

	begin   int    // offset of the open block in the text
	kind    kind   // kind of the open block
	level   int    // level of the open heading
	heading int    // offset of the open heading in the text
	pre     int    // number of open elements that preserve space
	lists   int    // number of open lists
	tables  int    // number of open tables
	table   table  // the outermost open table
	space   bool   // space was read, which is written if text follows
	title   bool   // the title element is open
	hidden  string // the name of the open element that hides its content
	nested  int    // number of open elements of that name
}

// A table is the part of a table that was read. The first row is a header if it has only th
// cells.
type table struct {
	row     int  // offset of the open row in the text
	headers int  // number of th cells in the open row
	cells   int  // number of td cells in the open row
	done    bool // the first row was read
	rows    int  // offset of the row after the header; 0 without a header
	columns string
}

func parseHTML(source string) *parsed {
	r := htmlReader{rewriting: rewriting{source: source}, parsed: &parsed{}}
	r.parsed.open(nil)
	r.read(skipMark(source))
	r.closeHeading()
	r.endBlock()
	p := r.parsed
	p.text, p.trace = string(r.text), r.trace
	if p.trace == nil {
		p.trace = []run{}
	}
	return p.settle()
}

// read reads the page from an offset on. The raw tokens cover the whole source in order, so
// the sum of their lengths is the current offset.
func (r *htmlReader) read(at int) {
	z := html.NewTokenizer(strings.NewReader(r.source[at:]))
	z.AllowCDATA(true)
	for {
		token, start := z.Next(), at
		at += len(z.Raw())
		switch token {
		case html.ErrorToken: // the end of the source; the rest is an unclosed tag
			r.characters(start, len(r.source))
			return
		case html.TextToken:
			r.characters(start, at)
		case html.StartTagToken, html.SelfClosingTagToken:
			name, hides := tag(z)
			if name == "noscript" {
				z.NextIsNotRawText()
			}
			r.startTag(name, hides)
		case html.EndTagToken:
			name, _ := z.TagName()
			r.endTag(string(name))
		}
	}
}

// tag returns the name of a start tag, and whether its attributes hide the element.
func tag(z *html.Tokenizer) (name string, hides bool) {
	data, more := z.TagName()
	name = string(data)
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		hides = hides || string(key) == "hidden" || string(key) == "style" && invisible(string(value))
	}
	return name, hides
}

// invisible reports whether a style hides an element.
func invisible(style string) bool {
	style = strings.ToLower(strings.Join(strings.Fields(clip(style, 1000)), ""))
	return strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

// characters reads a part of the source that is text.
func (r *htmlReader) characters(start, end int) {
	switch {
	case r.hidden != "":
	case r.title:
		if r.parsed.title == "" {
			r.parsed.title = label(stdhtml.UnescapeString(clip(r.source[start:end], 4*maxHeading)))
		}
	default:
		const open, closing = "<![CDATA[", "]]>"
		if strings.HasPrefix(r.source[start:end], open) {
			start += len(open)
			end = start + len(strings.TrimSuffix(r.source[start:end], closing))
		}
		r.words(start, end)
	}
}

// settle trims the blocks and drops empty ones. The readers of HTML and JSON call it when
// p.text is complete.
func (p *parsed) settle() *parsed {
	noted := p.blocks
	p.blocks = p.blocks[:0:0]
	sections := p.sections
	for _, b := range noted {
		p.sections = sections[:b.section+1]
		p.addTable(b.kind, b.start, b.end, b.rows, b.columns)
	}
	p.sections = sections
	return p
}

// words appends a part of the source that is text.
func (r *htmlReader) words(at, end int) {
	for at < end {
		start := at
		switch c := r.source[at]; c {
		case '&':
			at = r.entity(at, end)
		case ' ', '\n', '\t', '\r', '\f':
			at++
			r.blank(start, end)
		case 0:
			at++
			r.glue()
			r.put("\ufffd", start, at)
		default:
			for at++; at < end && r.source[at] > ' ' && r.source[at] != '&'; at++ {
			}
			r.glue()
			r.keep(start, at)
		}
	}
}

// blank reads a space character.
func (r *htmlReader) blank(at, end int) {
	single := !r.space && r.source[at] == ' ' && at+1 < end && r.source[at+1] > ' ' && r.source[at+1] != '&'
	if r.pre > 0 || single && r.inLine() {
		r.keep(at, at+1)
	} else {
		r.space = true
	}
}

// inLine reports whether a space before the next word is visible.
func (r *htmlReader) inLine() bool {
	n := len(r.text)
	return n > r.begin && r.text[n-1] != '\n' && r.text[n-1] != ' '
}

// glue appends a pending space before a word.
func (r *htmlReader) glue() {
	if r.space && r.inLine() {
		r.insert(" ")
	}
	r.space = false
}

// maxEntity is the length of the longest entity with & and ;.
const maxEntity = 33

// entity reads a character reference, or a & that is text, and returns its end.
func (r *htmlReader) entity(at, end int) int {
	limit := min(end, at+maxEntity)
	stop := at + 1
	for stop < limit && (r.source[stop] == '#' || classes[r.source[stop]] == letter || classes[r.source[stop]] == digit) {
		stop++
	}
	if stop < limit && r.source[stop] == ';' {
		stop++
	}
	text := stdhtml.UnescapeString(r.source[at:stop])
	_, first := utf8.DecodeRuneInString(text)
	for len(text) > first && text[len(text)-1] == r.source[stop-1] { // leave out the text after a reference without ;
		stop--
		text = text[:len(text)-1]
	}
	r.glue()
	switch {
	case text == r.source[at:stop]:
		r.keep(at, stop)
	case text == "\u00a0":
		r.put(" ", at, stop)
	default:
		r.put(strings.ReplaceAll(text, "\x00", "\ufffd"), at, stop)
	}
	return stop
}

var (
	// unseen elements are not shown, or are controls around the text of a page.
	unseen = set("script", "style", "xmp", "iframe", "noembed", "noframes", "template", "svg", "math", "canvas", "object", "nav", "select", "datalist")
	// empty elements have no content and no end tag.
	empty = set("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
	// inlines do not end a block.
	inlines = set(
		"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
		"mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "textarea", "time", "tt", "u", "var",
		"wbr", "img", "input",
	)
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

func (r *htmlReader) startTag(name string, hides bool) {
	if r.hidden == "p" && !inlines[name] { // the tag ends the paragraph
		r.hidden = ""
	}
	switch {
	case r.hidden != "":
		if name == r.hidden {
			r.nested++
		}
	case name == "title":
		r.title = true
	case (hides || unseen[name]) && !empty[name]:
		r.hidden, r.nested = name, 1
	case !inlines[name]:
		r.startBlock(name)
	}
}

// startBlock starts an element that is not inline.
func (r *htmlReader) startBlock(name string) {
	if r.startCell(name) {
		return
	}
	switch name {
	case "br":
		r.newLine()
		return
	case "ul", "ol", "menu", "dl":
		if r.lists++; r.lists > 1 || r.tables > 0 {
			r.newLine()
			return
		}
		r.next(list)
		return
	case "table":
		if r.tables++; r.tables > 1 {
			r.newLine()
			return
		}
		r.next(lines)
		return
	case "pre", "listing":
		if r.pre++; r.tables == 0 && r.lists == 0 {
			r.next(lines)
			return
		}
	}
	if n := tagLevel(name); n > 0 {
		r.closeHeading()
		r.next(heading)
		r.level, r.heading = n, len(r.text)
		return
	}
	r.part()
}

// startCell starts a part of a table or a list. It returns false for other elements, and outside of
// tables and lists.
func (r *htmlReader) startCell(name string) bool {
	switch name {
	case "td", "th":
		if r.tables > 0 && len(r.text) > r.begin && r.text[len(r.text)-1] != '\n' {
			r.insert(" | ")
		}
		if r.tables == 1 && name == "th" {
			r.table.headers++
		} else {
			r.table.cells++
		}
		r.space = false
		return r.tables > 0
	case "tr", "thead", "tbody", "tfoot", "caption":
		if r.tables > 0 {
			r.newLine()
		}
		if r.tables == 1 {
			r.startRow()
		}
		return r.tables > 0
	case "li":
		if r.lists > 0 {
			r.newLine()
			r.insert("- ")
		}
		return r.lists > 0
	}
	return false
}

// startRow ends a row of the outermost table, which may be its header, and starts the next.
func (r *htmlReader) startRow() {
	t := &r.table
	if !t.done && t.headers+t.cells > 0 {
		t.done = true
		if t.cells == 0 && t.row < len(r.text) {
			t.rows, t.columns = len(r.text), string(r.text[t.row:])
		}
	}
	t.row, t.headers, t.cells = len(r.text), 0, 0
}

// part starts a new line in a list or preformatted text, a space in a table or heading, and a
// new block elsewhere.
func (r *htmlReader) part() {
	switch {
	case r.level > 0:
		r.space = true
	case r.tables > 0:
		r.space = true
	case r.lists > 0 || r.pre > 0:
		if !bytes.HasSuffix(r.text[r.begin:], []byte("- ")) {
			r.newLine()
		}
	default:
		r.next(paragraph)
	}
}

func (r *htmlReader) newLine() {
	r.space = false
	if n := len(r.text); n > r.begin && r.text[n-1] != '\n' {
		r.insert("\n")
	}
}

func tagLevel(name string) int {
	if len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6' {
		return int(name[1] - '0')
	}
	return 0
}

func (r *htmlReader) endTag(name string) {
	if r.hidden != "" {
		if name == r.hidden {
			if r.nested--; r.nested == 0 {
				r.hidden = ""
			}
		}
		return
	}
	switch name {
	case "title":
		r.title = false
		return
	case "ul", "ol", "menu", "dl":
		if r.lists = max(0, r.lists-1); r.lists == 0 && r.tables == 0 {
			r.next(paragraph)
			return
		}
	case "table":
		if r.tables = max(0, r.tables-1); r.tables == 0 {
			r.next(paragraph)
			return
		}
	case "pre", "listing":
		r.pre = max(0, r.pre-1)
	case "td", "th":
		return
	}
	switch {
	case tagLevel(name) > 0:
		r.closeHeading()
	case !inlines[name] && name != "br":
		r.part()
	}
}

// closeHeading ends the open heading and opens its section.
func (r *htmlReader) closeHeading() {
	if r.level == 0 {
		return
	}
	level, text := r.level, strings.TrimSpace(string(r.text[r.heading:]))
	r.level = 0
	if text != "" {
		r.parsed.open(r.outline.push(level, text))
		if r.parsed.title == "" {
			r.parsed.title = label(text)
		}
	}
	r.next(paragraph)
}

// next ends the open block and starts one of a kind.
func (r *htmlReader) next(k kind) {
	if r.level > 0 { // its end tag is missing
		r.closeHeading()
	}
	r.endBlock()
	r.kind = k
}

func (r *htmlReader) endBlock() {
	if len(r.text) > r.begin {
		p := r.parsed
		p.blocks = append(p.blocks, block{
			start: r.begin, end: len(r.text), section: len(p.sections) - 1, kind: r.kind, rows: r.table.rows, columns: r.table.columns,
		})
		r.insert("\n\n")
	}
	r.begin, r.space = len(r.text), false
	r.table = table{row: r.begin}
}
