package textfile

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// MaxFound is the greatest number of passages or lines that a search returns.
const MaxFound = 20

// Found is the result of a search for passages.
type Found struct {
	File string `json:"file"`
	// Total counts the passages that have every word of the query: in two sentences that
	// follow each other, or in the headings above them. Partly counts the other passages
	// with a word of the query.
	Total  int `json:"total"`
	Partly int `json:"partly"`
	// Passages has the best passages. Passages with every word come first.
	Passages []Passage `json:"passages"`
	// Missing are the words that the file does not have.
	Missing []string `json:"missing,omitempty"`
}

// A Passage is a paragraph, an entry of a list, a row of a table or a piece of code.
type Passage struct {
	From    int    `json:"from"` // the first line
	To      int    `json:"to"`   // the last line
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
	// Best has up to three sentences of a long text. It begins with the sentences that have most of
	// the words.
	Best string `json:"best,omitempty"`
	Code bool   `json:"code,omitempty"`
}

// A term is a word of a query.
type term struct {
	word   string
	stem   string
	weight float64 // a rare word has more weight than a frequent one
	inside bool    // no word of the file begins like it: look inside words
	absent bool
	itself bool // related words do not count
}

// match returns how well a word of the file fits the term, from 0 to 1.
func (t term) match(stem string) float64 {
	switch {
	case t.absent:
		return 0
	case stem == t.stem:
		return 1
	case t.itself:
		return 0
	case t.inside:
		if strings.Contains(stem, t.stem) {
			return 0.5
		}
		return 0
	case related(stem, t.stem):
		return 0.6
	}
	return 0
}

// best returns the best match among words.
func (t term) best(words []string) float64 {
	best := 0.0
	for _, w := range words {
		if best = max(best, t.match(w)); best == 1 {
			return 1
		}
	}
	return best
}

// Search finds passages by words, without regard to case, plural and ending. Passages
// with every word come first, except code in a document. Within each group, a passage
// ranks higher if, for example, it defines the words or is the first under a heading of
// these words. Limit is at most MaxFound, and 0 means 5.
func (f *File) Search(query string, limit int) Found {
	if limit <= 0 {
		limit = 5
	}
	out := Found{File: f.path, Passages: []Passage{}}
	var terms []term
	terms, out.Missing = f.terms(query)
	hits := f.rank(terms)
	for _, h := range hits {
		if h.all {
			out.Total++
		}
	}
	out.Partly = len(hits) - out.Total
	for _, h := range hits[:min(len(hits), limit, MaxFound)] {
		out.Passages = append(out.Passages, f.passage(h))
	}
	return out
}

// minInside is the least length, in bytes, of a word that may match inside other words. A shorter
// word would match by chance: "eat" in "create". In scripts without spaces, words match only inside
// others, and two characters are enough.
const minInside = 5

// terms returns the words of a query, and the words that the file does not have.
func (f *File) terms(query string) (terms []term, missing []string) {
	for _, word := range foldedWords(query) {
		s := stem(word)
		if slices.ContainsFunc(terms, func(t term) bool { return t.stem == s }) {
			continue
		}
		t := term{word: word, stem: s}
		n := f.having(t)
		if n == 0 && len(s) >= minInside {
			t.inside = true
			n = f.having(t)
		}
		if n == 0 {
			t.absent = true
			missing = append(missing, word)
		}
		t.weight = math.Log(1 + float64(len(f.blocks))/(float64(n)+0.5))
		terms = append(terms, t)
	}
	return terms, missing
}

// having counts the blocks that have a term in their text or nearest heading. If there are none, it
// counts those with the term in an outer heading, in the head of their table or in the title of the
// file.
func (f *File) having(t term) int {
	n, outer := 0, 0
	for i := range f.blocks {
		switch b := &f.blocks[i]; {
		case t.best(b.stems) > 0 || t.best(b.above) > 0:
			n++
		case t.best(b.outer) > 0 || t.best(b.title) > 0:
			outer++
		}
	}
	return cmp.Or(n, outer)
}

// A hit is a block that has some of the terms.
type hit struct {
	index int
	score float64
	all   bool // the block has all of them, close together; see together
	// start is the offset of the sentence that defines the terms.
	start int
	// best is the offset of the sentences with most of the terms.
	best int
	// titled says that the block is found by its heading, not by its text.
	titled bool
}

// The parts of a score. The coverage of a block is from 0 to 1.
const (
	inHeading   = 0.7 // a term in the nearest heading, not in the text
	inOuter     = 0.3 // a term in another heading above
	inSentence  = 0.4 // coverage of the best sentence
	titledFirst = 1.2 // the block is the first under a heading that has no other words than the terms
	earliest    = 0.1
	isCode      = -0.8
)

// rank returns the blocks that have some of the terms, best first.
func (f *File) rank(terms []term) []hit {
	var hits []hit
	whole := 0.0
	var known []term
	for _, t := range terms {
		whole += t.weight
		if !t.absent {
			known = append(known, t)
		}
	}
	if len(known) == 0 {
		return nil
	}
	defines := definition(known)
	first := true
	for i := range f.blocks {
		b := &f.blocks[i]
		score, have, inText := b.cover(terms)
		if inText == 0 && (have == 0 || !b.first) {
			continue
		}
		h := hit{index: i, all: have == len(terms) && b.together(terms), titled: inText == 0}
		var share float64
		h.best, share = b.closest(known)
		h.score = score/whole + inSentence*share/whole + b.bonus(known, whole)
		if len(known) == len(terms) {
			bonus, start := defines.in(b)
			h.score += bonus
			h.start = start
		}
		if first && inText == len(terms) {
			h.score += earliest
			first = false
		}
		hits = append(hits, h)
	}
	f.sort(hits)
	return hits
}

// sort puts the blocks with every term first, each group by score. In a document, code
// that happens to have every term does not come first.
func (f *File) sort(hits []hit) {
	leads := func(h hit) int {
		if h.all && !(f.prose && f.blocks[h.index].code) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(leads(b)-leads(a), cmp.Compare(b.score, a.score))
	})
}

// cover sums the weights of the terms that a block has. The result have is the number of terms in the block or its
// headings, and inText the number of terms in its text.
func (b *block) cover(terms []term) (score float64, have, inText int) {
	for _, t := range terms {
		text := t.best(b.stems)
		if text > 0 {
			inText++
		}
		fit := max(text, inHeading*t.best(b.above), inOuter*t.best(b.outer), inOuter*t.best(b.title))
		if text > 0 && t.best(b.above) == 1 {
			fit += 0.2
		}
		if fit > 0 {
			have++
		}
		score += fit * t.weight
	}
	return score, have, inText
}

// together reports whether two adjacent sentences have all terms that the headings of the block do
// not have. The title of the file is above every block, and does not count. A long paragraph may
// have the words of a question in unrelated sentences.
func (b *block) together(terms []term) bool {
	var before []string
	for _, s := range sentences(b.raw) {
		words := stems(b.raw[s.from:s.to])
		near := slices.Concat(before, words, b.above, b.outer)
		if !slices.ContainsFunc(terms, func(t term) bool { return t.best(near) == 0 }) {
			return true
		}
		before = words
	}
	return false
}

// closest returns the offset of the one or two adjacent sentences with the greatest weight of terms,
// and the greatest weight of a single sentence.
func (b *block) closest(terms []term) (start int, one float64) {
	most := 0.0
	all := sentences(b.raw)
	for n := range 2 {
		for i := range all[n:] {
			words, sum := stems(b.raw[all[i].from:all[i+n].to]), 0.0
			for _, t := range terms {
				sum += t.weight * t.best(words)
			}
			if sum > most {
				start, most = all[i].from, sum
			}
		}
		if n == 0 {
			one = most
		}
	}
	return start, one
}

// bonus returns the score for the place of a block: code, or the first block under a heading.
func (b *block) bonus(known []term, whole float64) float64 {
	switch {
	case b.code:
		return isCode
	case b.first:
		return titledFirst * b.titled(known) / whole
	}
	return 0
}

// titled returns the weight of the terms in the nearest heading, or 0 if the heading has other
// words that are not small.
func (b *block) titled(terms []term) float64 {
	sum := 0.0
	for _, word := range b.above {
		fit := 0.0
		for _, t := range terms {
			fit = max(fit, t.weight*t.match(word))
		}
		if fit == 0 && !slices.Contains(small, word) {
			return 0
		}
		sum += fit
	}
	return sum
}

// small are words of a heading that say nothing about its subject.
var small = strings.Fields("a an and are for how in is it of on one or that the to what when who")

// maxBest is the length in bytes of a text that needs no best sentences.
const maxBest = 320

// maxPassage is the greatest number of characters of a paragraph that are shown.
const maxPassage = 700

// passage returns the block of a hit as text. If the block introduces a list or code, the text
// includes the list or the code.
func (f *File) passage(h hit) Passage {
	b := f.blocks[h.index]
	p := Passage{From: b.from + 1, To: b.to + 1, Code: b.code}
	if n := len(b.headings); n > 0 && f.prose {
		p.Heading = b.headings[n-1]
	}
	if b.code {
		p.Text = shownLines(b.raw)
		return p
	}
	text := b.raw
	if h.start > 0 {
		text = text[h.start:]
	}
	p.Text = shown(plain(text), maxPassage)
	if rest := sentences(b.raw[h.best:]); len(b.raw) > maxBest {
		p.Best = shown(plain(b.raw[h.best:][:rest[min(2, len(rest)-1)].to]), maxPassage)
	}
	switch {
	case b.entry && b.first && h.titled: // a list that the heading introduces
		p.Text = "- " + p.Text
		f.extend(&p, h.index)
	case strings.HasSuffix(p.Text, ":"):
		f.extend(&p, h.index)
	}
	return p
}

// extend adds the list or the code that follows a block to its passage.
func (f *File) extend(p *Passage, index int) {
	b := f.blocks[index]
	last := b
	for _, next := range f.blocks[index+1:] {
		listed := next.entry && (next.row == last.row || last.from == b.from)
		gap := 3
		if next.row && !last.row {
			gap = 4 // the head of a table is not a block
		}
		near := next.from-last.to <= gap && next.to-b.from <= maxBlock+4
		if !listed && !next.code || !near || !slices.Equal(next.headings, b.headings) {
			return
		}
		last = next
		p.To = next.to + 1
		if next.code {
			p.Text += "\n" + indent(shownLines(next.raw))
			return
		}
		p.Text += "\n- " + shown(plain(next.raw), maxPassage)
	}
}

func shownLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = shown(lines[i], maxText)
	}
	return strings.Join(lines, "\n")
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }
