package split

import (
	"html"
	"slices"
	"strings"
)

// An htmlReader takes the text out of a page, as far as it is there to be read. It takes
// tags as they come, and closes what is not closed, as browsers do.
type htmlReader struct {
	rewriting
	parsed  *parsed
	outline outline
	at      int

	begin   int    // of the block in the making, in the text
	kind    kind   // its kind
	level   int    // of the heading that is open
	pre     int    // how many elements are open that keep space
	lists   int    // how many lists are open
	tables  int    // how many tables are open
	space   bool   // there was space, which shows if text follows
	hidden  string // the element that hides what is in it
	nested  int    // how many of its name are open
	heading int    // where its text begins
	broken  bool   // a tag has no end, so nothing behind it is one
}

func parseHTML(source string) *parsed {
	r := htmlReader{rewriting: rewriting{source: source}, parsed: &parsed{}, at: skipMark(source)}
	r.parsed.open(nil)
	for r.at < len(source) {
		if source[r.at] == '<' && r.markup() {
			continue
		}
		end := len(source)
		if i := strings.IndexByte(source[r.at+1:], '<'); i >= 0 {
			end = r.at + 1 + i
		}
		if r.hidden == "" {
			r.words(r.at, end)
		}
		r.at = end
	}
	r.closeHeading()
	r.endBlock()
	p := r.parsed
	p.text, p.trace = string(r.text), r.trace
	if p.trace == nil {
		p.trace = []run{}
	}
	return p.settle()
}

// settle makes the blocks of a rewritten text, whose ends are noted, ones that can be cut.
func (p *parsed) settle() *parsed {
	noted := p.blocks
	p.blocks = p.blocks[:0:0]
	sections := p.sections
	for _, b := range noted {
		p.sections = sections[:b.section+1]
		p.add(b.kind, b.start, b.end)
	}
	p.sections = sections
	return p
}

// words appends text that is not markup.
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

// blank reads one character of space.
func (r *htmlReader) blank(at, end int) {
	single := !r.space && r.source[at] == ' ' && at+1 < end && r.source[at+1] > ' ' && r.source[at+1] != '&'
	if r.pre > 0 || single && r.inLine() {
		r.keep(at, at+1)
	} else {
		r.space = true
	}
}

// inLine says that a space would show, if a word followed.
func (r *htmlReader) inLine() bool {
	n := len(r.text)
	return n > r.begin && r.text[n-1] != '\n' && r.text[n-1] != ' '
}

// glue appends the space before a word.
func (r *htmlReader) glue() {
	if r.space && r.inLine() {
		r.insert(" ")
	}
	r.space = false
}

// maxEntity is the length of the longest name, with & and ;.
const maxEntity = 33

func (r *htmlReader) entity(at, end int) int {
	limit := min(end, at+maxEntity)
	stop := at + 1
	for stop < limit && (r.source[stop] == '#' || classes[r.source[stop]] == letter || classes[r.source[stop]] == digit) {
		stop++
	}
	if stop < limit && r.source[stop] == ';' {
		stop++
	}
	text := html.UnescapeString(r.source[at:stop])
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
	rawElements = []string{"script", "style", "xmp", "iframe", "noembed", "noframes"}
	skipped     = []string{"template", "svg", "math", "canvas", "object", "nav", "select", "datalist"}
	void        = []string{
		"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr",
	}
	inlines = []string{
		"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
		"mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img", "input",
	}
)

// raw skips what is not read as markup up to the end tag of an element, and returns where
// that begins.
func (r *htmlReader) raw(name string) int {
	for at := r.at; ; at += 2 {
		i := strings.Index(r.source[at:], "</")
		if i < 0 {
			return len(r.source)
		}
		at += i
		if rest := r.source[at+2:]; len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) &&
			(len(rest) == len(name) || rest[len(name)] <= ' ' || rest[len(name)] == '>' || rest[len(name)] == '/') {
			return at
		}
	}
}

func (r *htmlReader) startTag(name string, hides bool) {
	switch {
	case slices.Contains(rawElements, name):
		r.at = r.raw(name)
		return
	case r.hidden == "p" && !slices.Contains(inlines, name): // which ends a paragraph
		r.hidden = ""
		r.startTag(name, hides)
		return
	case r.hidden != "":
		if name == r.hidden {
			r.nested++
		}
		return
	case name == "title" || name == "textarea":
		r.plainElement(name)
		return
	case (hides || slices.Contains(skipped, name)) && !slices.Contains(void, name):
		r.hidden, r.nested = name, 1
		return
	}
	if !slices.Contains(inlines, name) {
		r.startBlock(name)
	}
}

// plainElement reads an element whose text has no markup. A title is not part of the text.
func (r *htmlReader) plainElement(name string) {
	end := r.raw(name)
	if name == "title" {
		if r.parsed.title == "" {
			r.parsed.title = label(html.UnescapeString(clip(r.source[r.at:end], 4*maxHeading)))
		}
	} else {
		r.words(r.at, end)
	}
	r.at = end
}

// startBlock begins what stands on its own.
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

// startCell begins a part of a table or a list, and returns false for what is none.
func (r *htmlReader) startCell(name string) bool {
	switch name {
	case "td", "th":
		if r.tables > 0 && len(r.text) > r.begin && r.text[len(r.text)-1] != '\n' {
			r.insert(" | ")
		}
		r.space = false
		return r.tables > 0
	case "tr", "thead", "tbody", "tfoot", "caption":
		if r.tables > 0 {
			r.newLine()
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

// part begins a new line in what is kept together, and a new block elsewhere.
func (r *htmlReader) part() {
	switch {
	case r.level > 0:
		r.space = true
	case r.tables > 0:
		r.space = true
	case r.lists > 0 || r.pre > 0:
		if !strings.HasSuffix(string(r.text[max(r.begin, len(r.text)-2):]), "- ") {
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
	case !slices.Contains(inlines, name) && name != "br":
		r.part()
	}
}

// closeHeading ends a heading, which opens a section.
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

// next ends the block and begins one of a kind.
func (r *htmlReader) next(k kind) {
	if r.level > 0 { // not closed
		r.closeHeading()
	}
	r.endBlock()
	r.kind = k
}

func (r *htmlReader) endBlock() {
	if len(r.text) > r.begin {
		p := r.parsed
		p.blocks = append(p.blocks, block{r.begin, len(r.text), len(p.sections) - 1, r.kind})
		r.insert("\n\n")
	}
	r.begin, r.space = len(r.text), false
}
