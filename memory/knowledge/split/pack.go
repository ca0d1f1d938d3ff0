package split

import (
	"strings"
	"unicode"
)

// A packer fills pieces with what fits.
type packer struct {
	Splitter
	*parsed
	pieces []Piece
	cur    open
}

// An open is the piece that is being filled.
type open struct {
	start, end int
	tokens     int
	section    int
	headings   []string
	body       bool // there is more than headings in it
	under      int  // the section of the last that is no heading
	block      block
}

// An item is what is put into a piece whole.
type item struct {
	start, end int
	tokens     int
	block      block
}

func (k *packer) pack() {
	for _, b := range k.blocks {
		k.block(b)
	}
	k.flush()
}

// block puts a block into a piece, or into several where it is too large.
func (k *packer) block(b block) {
	i := item{b.start, b.end, k.Counter.Count(k.text[b.start:b.end]), b}
	room := k.Size
	if k.cur.end > 0 && !k.cur.body && k.cur.tokens <= k.Size/2 { // a heading, which does not stay alone
		room -= k.cur.tokens
	}
	if i.tokens <= room {
		k.item(i)
		return
	}
	k.cut(i, levels[b.kind], room)
}

// cut puts the parts of an item, none of which has more tokens than there is room.
func (k *packer) cut(whole item, levels []cutter, room int) {
	at := whole.start
	for at < whole.end {
		next := levels[0](k.text[:whole.end], at)
		part := whole
		part.start, part.end = at, next
		part.tokens = k.Counter.Count(k.text[at:next])
		if part.tokens > room && len(levels) > 1 {
			k.cut(part, levels[1:], room)
		} else {
			k.item(part)
		}
		at = next
	}
}

// item puts an item into the open piece, if it fits, or else into the next.
func (k *packer) item(i item) {
	c := &k.cur
	if c.end > 0 {
		section := i.block.section
		switch fits := c.tokens+k.gap(i)+i.tokens <= k.Size; {
		case section != c.section && (!fits || c.body && c.tokens >= k.Small):
			k.flush()
		case !fits:
			k.repeat(i)
		}
	}
	if c.end == 0 {
		*c = open{start: i.start, end: i.start, section: i.block.section}
	}
	k.extend(i)
}

// gap is how many tokens there are between the open piece and an item.
func (k *packer) gap(i item) int { return k.Counter.Count(k.text[k.cur.end:i.start]) }

func (k *packer) extend(i item) {
	c := &k.cur
	headings := k.sections[i.block.section]
	switch {
	case !c.body:
		c.headings = headings
	case i.block.kind != heading && i.block.section != c.under:
		c.headings = common(c.headings, headings)
	}
	if i.block.kind != heading {
		c.under = i.block.section
	}
	c.tokens += k.gap(i) + i.tokens
	c.end, c.section, c.block = i.end, i.block.section, i.block
	c.body = c.body || i.block.kind != heading
}

func common(a, b []string) []string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n:n]
}

// flush ends the open piece.
func (k *packer) flush() {
	c := k.cur
	k.cur = open{}
	text := k.text[c.start:c.end]
	content := strings.TrimRightFunc(text, unicode.IsSpace)
	end := c.start + len(content)
	if strings.TrimSpace(content) == "" {
		return
	}
	p := Piece{Content: content, Headings: c.headings}
	p.Start, p.End = k.origin(c.start, end)
	if n := len(k.pieces); p.End <= p.Start || n > 0 && p.End <= k.pieces[n-1].End { // a mark that was put in
		return
	}
	p.Tokens = k.Counter.Count(content)
	k.pieces = append(k.pieces, p)
}

// windowBytes is how far to look back for each token of an overlap.
const windowBytes = 12

// repeat ends the open piece and begins the next with the end of it, as far as there is
// room beside an item: from the beginning of a sentence or line if there is one, or else of
// a word. Of code and tables nothing is repeated but what is cut within them.
func (k *packer) repeat(i item) {
	c := k.cur
	tokens := min(k.Overlap, k.Size-i.tokens-k.gap(i))
	k.flush()
	if tokens <= 0 || !c.body || c.block.kind == lines && c.block != i.block {
		return
	}
	from := max(c.start+1, c.end-tokens*windowBytes)
	if c.block.kind == lines {
		from = max(from, c.block.start)
	}
	text := k.text[:c.end]
	var starts []int
	for at := words(text, from); at < c.end; at = words(text, at) { // of what begins before, nothing
		starts = append(starts, at)
	}
	begin, sum, sentence := c.end, 0, 0
	for n := len(starts) - 1; n >= 0; n-- {
		sum += k.Counter.Count(text[starts[n]:begin])
		if sum > tokens {
			break
		}
		begin = starts[n]
		if startsSentence(text, begin) {
			sentence = begin
		}
	}
	if sentence > 0 {
		begin = sentence
	}
	if begin < c.end {
		k.cur = c
		k.cur.start, k.cur.tokens = begin, k.Counter.Count(text[begin:])
	}
}
