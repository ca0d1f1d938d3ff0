package split

import (
	"slices"
	"strings"
	"unicode"
)

// A packer fills pieces with blocks.
type packer struct {
	Splitter
	*parsed
	pieces []Piece
	cur    open
}

// An open is the piece that is being filled. It is unused while end is 0.
type open struct {
	start, end int
	tokens     int
	section    int
	headings   []string
	body       bool  // it has more than headings
	under      int   // the section of the last block that is not a heading
	first      block // the block in which it starts
	block      block // the block in which it ends
}

// inTable reports whether the piece starts in a table after its header.
func (o *open) inTable() bool { return o.first.rows > 0 && o.start >= o.first.rows }

// An item is a block or a part of one. It is put into one piece.
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

// block puts a block into a piece, or into several if it is too large.
func (k *packer) block(b block) {
	i := item{b.start, b.end, k.Counter.Count(k.text[b.start:b.end]), b}
	room := k.Size
	if k.cur.end > 0 && !k.cur.body && k.cur.tokens <= k.Size/2 { // put a heading into the same piece as the text below it
		room -= k.cur.tokens
	}
	if i.tokens <= room {
		k.item(i)
		return
	}
	k.cut(i, levels[b.kind], room)
}

// cut puts an item into pieces part by part. A part with more tokens than room is cut by the
// next level.
func (k *packer) cut(whole item, levels []cutter, room int) {
	at := whole.start
	for at < whole.end {
		next := levels[0](k.text[:whole.end], at)
		if b := whole.block; at == b.start && whole.end == b.end && b.rows > at && b.rows < b.end {
			next = b.rows // keep the lines of a header together
		}
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

// item puts an item into the open piece if it fits, otherwise into the next piece.
func (k *packer) item(i item) {
	c := &k.cur
	if c.end > 0 && c.inTable() && c.first != i.block {
		k.flush() // the next block does not have the header of this table
	}
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
		*c = open{start: i.start, end: i.start, section: i.block.section, first: i.block}
	}
	k.extend(i)
}

// gap returns the tokens between the open piece and an item.
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
	if c.inTable() {
		p.Headings = append(slices.Clip(c.headings), c.first.columns)
	}
	p.Start, p.End = k.origin(c.start, end)
	if n := len(k.pieces); p.End <= p.Start || n > 0 && p.End <= k.pieces[n-1].End { // the piece has only inserted text
		return
	}
	if n := len(k.pieces); n > 0 && k.Overlap == 0 {
		p.Start = max(p.Start, k.pieces[n-1].End) // the text of one character reference was cut
	}
	p.Tokens = k.Counter.Count(content)
	k.pieces = append(k.pieces, p)
}

// source returns the offset in the source of an offset in the text.
func (k *packer) source(at int) int {
	start, _ := k.origin(at, len(k.text))
	return start
}

// windowBytes limits the bytes that are searched for each token of an overlap.
const windowBytes = 12

// repeat ends the open piece. It starts the next piece with the last text of the ended one: at
// most Overlap tokens, and no more than fit beside item i. The repeated text starts with a
// sentence or a line, or else with a word. Code and tables are repeated only if they are cut in two.
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
	for at := words(text, from); at < c.end; at = words(text, at) {
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
	if begin < c.end && k.source(begin) > k.source(c.start) { // more than an inserted mark is left out
		k.cur = c
		k.cur.start, k.cur.tokens, k.cur.first = begin, k.Counter.Count(text[begin:]), block{}
		if begin >= c.block.start {
			k.cur.first = c.block
		}
	}
}
