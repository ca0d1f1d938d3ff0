package rank

import "unicode"

// A scanner collects the runes of a name, or of a run of ideographs, until it ends.
type scanner struct {
	terms []string

	name  []byte // the parts of the name, folded, with nothing between them
	parts []part
	joint rune // the rune after the last part that may join it to the next part, or 0
	last  rune // the last rune of the name, as it was written
	lone  int  // the offset of the last rune in name

	run []rune // characters of a script without spaces

	sequence sequence
	title    bool // the name follows a capitalised word and spaces
	stopped  bool // keep stop words
}

func (s *scanner) scan(text string) {
	for _, r := range fold(text) {
		s.next(r)
	}
	s.endName()
	s.endRun()
	s.endSequence()
}

// A part of a name ends at a joint, or before a capital within a word (a hump), such as the B of fooBar.
type part struct {
	start, end int
	joint      rune // the rune before the part: 0 for none, hump for a hump
	letters    int
	digits     int
	capitals   int
}

const hump = 'H'

func (s *scanner) next(r rune) {
	switch c := classOf(r); c {
	case ignored:
	case letter, digit:
		s.endRun()
		s.grow(r, c)
	case ideograph:
		s.endName()
		s.between(r)
		s.run = append(s.run, r)
	case emoji:
		s.endName()
		s.endRun()
		s.between(r)
		s.terms = append(s.terms, string(r))
	default:
		s.endRun()
		s.separate(plainJoint(r))
		if len(s.parts) == 0 {
			s.between(r)
		}
	}
}

// grow adds a rune to the name, in the current part or in a new one.
func (s *scanner) grow(r rune, c class) {
	upper := unicode.IsUpper(r)
	switch {
	case len(s.parts) == 0:
		s.begin(0)
	case s.joint != 0 && s.joins(c):
		s.begin(s.joint)
	case s.joint != 0:
		s.endName()
		s.begin(0)
	case upper && unicode.IsLower(s.last):
		s.begin(hump)
	case unicode.IsLower(r) && unicode.IsUpper(s.last):
		s.moveLast()
	}
	s.joint, s.last, s.lone = 0, r, len(s.name)
	s.name = appendPlain(s.name, r)
	p := &s.parts[len(s.parts)-1]
	p.end = len(s.name)
	switch {
	case c == digit:
		p.digits++
	default:
		p.letters++
		if upper {
			p.capitals++
		}
	}
}

func (s *scanner) begin(joint rune) {
	s.parts = append(s.parts, part{start: len(s.name), end: len(s.name), joint: joint})
}

// moveLast moves the last capital to a new part: HTTPServer is HTTP and Server.
func (s *scanner) moveLast() {
	p := &s.parts[len(s.parts)-1]
	if p.capitals < 2 || s.lone == p.start {
		return
	}
	p.end = s.lone
	p.letters--
	p.capitals--
	s.parts = append(s.parts, part{start: s.lone, end: len(s.name), joint: hump, letters: 1, capitals: 1})
}

// joins reports whether the joint can join the last rune to a rune of the next class.
func (s *scanner) joins(next class) bool {
	switch s.joint {
	case ',', ':':
		return next == digit && classOf(s.last) == digit
	case '+', '#':
		return false
	}
	return true
}

// separate handles a rune between words. The argument is 0 for a rune that cannot be within a name.
func (s *scanner) separate(r rune) {
	switch {
	case len(s.parts) == 0:
	case r == '_' && s.joint == '_':
	case r == '+' && s.joint == '+': // C++
		s.endWith("++")
	case r == 0 || s.joint != 0:
		s.endName()
	default:
		s.joint = r
	}
}

// endWith ends a name of one part, and adds the mark to it.
func (s *scanner) endWith(mark string) {
	if len(s.parts) == 1 && s.parts[0].letters > 0 && len(s.name) <= 8 {
		s.terms = append(s.terms, string(s.name)+mark)
		s.clear()
		return
	}
	s.joint = 0
	s.endName()
}

// clear resets the name.
func (s *scanner) clear() {
	s.name, s.parts, s.joint = s.name[:0], s.parts[:0], 0
}

// endRun adds the terms of a run of ideographs.
func (s *scanner) endRun() {
	if len(s.run) == 0 {
		return
	}
	chars := characters(s.run)
	for i, c := range chars {
		if len(chars) == 1 || unicode.Is(unicode.Han, []rune(c)[0]) {
			s.terms = append(s.terms, cut(c))
		}
		if i+1 < len(chars) {
			s.terms = append(s.terms, cut(c+chars[i+1]))
		}
	}
	s.run = s.run[:0]
}

// characters returns the runes, each with the marks that follow it.
func characters(run []rune) (chars []string) {
	start := 0
	for i := 1; i <= len(run); i++ {
		if i == len(run) || !unicode.Is(unicode.M, run[i]) {
			chars = append(chars, string(run[start:i]))
			start = i
		}
	}
	return chars
}
