package rank

import "strings"

// numeric reports whether the name is a number, a time or a version of several parts, such as 1,000,
// 12:30, v1.2.3 and 1.5kg. It may begin and end with letters.
func (s *scanner) numeric() bool {
	last := len(s.parts) - 1
	for i, p := range s.parts {
		written := s.name[p.start:p.end]
		switch {
		case p.digits == 0, i > 0 && p.joint != '.' && p.joint != ',' && p.joint != ':':
			return false
		case p.letters == 0:
		case i > 0 && i < last, i == 0 && !isDigit(written[len(written)-1]), i == last && !isDigit(written[0]):
			return false
		case len(runs(written)) != 2:
			return false
		}
	}
	return last > 0
}

// number adds the terms of a number: one term that all notations of the number share, its beginnings, and its
// unit. For a list of numbers such as 3,4,5, it adds a term for each number.
func (s *scanner) number() {
	first, last := &s.parts[0], &s.parts[len(s.parts)-1]
	if first.letters > 0 {
		letters := runs(s.name[first.start:first.end])[0]
		if letters != "v" { // as in v1.2.3
			s.add(s.text(0, len(s.parts), true))
			s.affix(letters)
		}
		first.start += len(letters)
	}
	unit := ""
	if last.letters > 0 {
		unit = runs(s.name[last.start:last.end])[1]
		last.end -= len(unit)
	}
	if whole, ok := s.grouped(); ok {
		s.add(whole)
		if s.parts[1].joint == '.' && !strings.Contains(whole, ".") { // it could also be a version
			s.ungrouped()
		}
		if i := strings.IndexByte(whole, '.'); i > 0 {
			s.add(whole[:i])
		}
	} else {
		s.ungrouped()
	}
	s.affix(unit)
}

// affix adds the letters before or after a number, such as a unit. It leaves out the letters of ordinals
// and stop words.
func (s *scanner) affix(letters string) {
	switch letters {
	case "st", "nd", "rd", "th":
		return
	}
	if len(letters) > 1 && !stopped(letters) {
		s.add(stem(letters))
	}
}

// grouped returns a number whose digits are in groups of three, such as 1,299.99 or 1.299,99, as 1299.99.
func (s *scanner) grouped() (whole string, ok bool) {
	n := len(s.parts)
	end := n // the end of the groups
	separator := s.parts[1].joint
	if n > 2 && s.parts[n-1].joint != separator {
		end--
	}
	if separator == ':' || separator == '.' && n == 2 || s.length(0) > 3 {
		return "", false
	}
	for i := 1; i < end; i++ {
		if s.parts[i].joint != separator || s.length(i) != 3 {
			return "", false
		}
	}
	whole = string(s.name[s.parts[0].start:s.parts[end-1].end])
	if end < n {
		if s.parts[n-1].joint == ':' {
			return "", false
		}
		whole += "." + string(s.name[s.parts[n-1].start:s.parts[n-1].end])
	}
	return whole, true
}

func (s *scanner) length(i int) int { return s.parts[i].end - s.parts[i].start }

// prefixes is the maximum number of parts of a beginning, such as 1.2 and 1.2.3 for the number 1.2.3.4.
const prefixes = 5

// ungrouped adds a number as it is written, its beginnings if it has more than one dot, and its parts of at
// least four digits, such as years.
func (s *scanner) ungrouped() {
	listed, dotted := false, len(s.parts) > 2
	for _, p := range s.parts[1:] {
		listed = listed || p.joint == ','
		dotted = dotted && p.joint == '.'
	}
	if !listed {
		s.add(s.text(0, len(s.parts), true))
	}
	for i := 2; dotted && i < min(len(s.parts), prefixes+1); i++ {
		s.add(s.text(0, i, true))
	}
	for i, p := range s.parts {
		if listed || s.length(i) >= 4 {
			s.add(string(s.name[p.start:p.end]))
		}
	}
}

// mixed adds the terms of a word with letters and digits: the word, its letters and its digits, as for 50mg
// and BA2490. For a long hexadecimal number it adds the first six digits, because IDs of commits are often
// cut.
func (s *scanner) mixed(word string) {
	s.add(word)
	if hexadecimal(word) {
		s.add(word[:6])
		return
	}
	if len(word) > MaxTerm {
		return
	}
	pieces := runs([]byte(word))
	if n := len(pieces); n > 3 || n == 2 && len(pieces[1]) == 1 && isDigit(pieces[1][0]) { // int4 and mp3 are names
		return
	}
	for _, piece := range pieces {
		if isDigit(piece[0]) {
			s.add(piece)
		} else {
			s.affix(piece)
		}
	}
}

// hexadecimal reports whether a word has at least seven characters, all of them digits or letters from a to f. A
// shorter one may be a word and a number.
func hexadecimal(word string) bool {
	if len(word) < 7 {
		return false
	}
	for i := range len(word) {
		if c := word[i]; !isDigit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// runs divides a word into runs of digits and runs of other characters.
func runs(word []byte) (pieces []string) {
	start := 0
	for i := 1; i <= len(word); i++ {
		if i == len(word) || isDigit(word[i]) != isDigit(word[i-1]) {
			pieces = append(pieces, string(word[start:i]))
			start = i
		}
	}
	return pieces
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
