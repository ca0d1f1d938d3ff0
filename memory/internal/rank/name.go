package rank

import "unicode/utf8"

// endName adds the terms of the name that was collected.
func (s *scanner) endName() {
	if len(s.parts) == 0 {
		return
	}
	if s.joint == '#' && len(s.name) <= 2 && s.parts[0].letters > 0 { // C#
		s.endWith("#")
		return
	}
	s.elide()
	s.unhump()
	switch {
	case len(s.parts) == 1:
		s.word(s.parts[0])
	case s.spelled():
		s.add(s.text(0, len(s.parts), false))
	case s.numeric():
		s.number()
	default:
		s.compound()
	}
	s.collect()
	s.title = s.joint == 0 && len(s.parts) == 1 && s.parts[0].capitals > 0
	s.clear()
}

// elide removes English endings after an apostrophe, and joins a t to its word: don't becomes dont.
func (s *scanner) elide() {
	kept := s.parts[:1]
	for _, p := range s.parts[1:] {
		if p.joint == '\'' {
			switch string(s.name[p.start:p.end]) {
			case "s", "re", "ve", "ll", "d", "m":
				continue
			case "t":
				kept[len(kept)-1].end = p.end
				kept[len(kept)-1].letters++
				continue
			}
		}
		kept = append(kept, p)
	}
	s.parts = kept
}

// unhump joins a plural s to the capitals before it: APIs is one part.
func (s *scanner) unhump() {
	kept := s.parts[:1]
	for i, p := range s.parts[1:] {
		before := &kept[len(kept)-1]
		last := i+2 == len(s.parts) || s.parts[i+2].joint != hump
		if p.joint == hump && last && p.letters == 2 && p.capitals == 1 && p.digits == 0 && before.capitals == before.letters && s.name[p.end-1] == 's' {
			before.end = p.end - 1
			before.letters++
			before.capitals++
			continue
		}
		kept = append(kept, p)
	}
	s.parts = kept
}

// spelled reports whether the name is single letters with dots, such as U.S.A.
func (s *scanner) spelled() bool {
	for i, p := range s.parts {
		if p.letters != 1 || p.digits != 0 || i > 0 && p.joint != '.' {
			return false
		}
	}
	return true
}

// compound adds the terms of the parts of a name, and of the whole name.
func (s *scanner) compound() {
	pieces, from := 0, 0
	for i := 1; i <= len(s.parts); i++ {
		if i < len(s.parts) && s.parts[i].joint == hump {
			continue
		}
		s.piece(from, i)
		pieces++
		from = i
	}
	first, second := s.parts[0], s.parts[len(s.parts)-1]
	switch letters, one := s.joints(); {
	case pieces == 1 || one == '\'' || one == '-' && pieces > 2 && letters:
	case one == '-' && pieces == 2 && (first.letters > 0 || second.letters > 0):
		s.add(stem(s.text(0, len(s.parts), false)))
	default:
		s.add(s.text(0, len(s.parts), true))
	}
}

// joints reports whether the name has only letters, and returns its joint: 0 for no joint, and -1 for
// different joints.
func (s *scanner) joints() (letters bool, one rune) {
	letters = true
	for _, p := range s.parts {
		letters = letters && p.digits == 0
		switch {
		case p.joint == '\'':
			return letters, p.joint
		case p.joint == 0 || p.joint == hump:
		case one == 0:
			one = p.joint
		case one != p.joint:
			one = -1
		}
	}
	return letters, one
}

// piece adds the terms of the parts from one index to another.
func (s *scanner) piece(from, to int) {
	if to-from == 1 {
		s.word(s.parts[from])
		return
	}
	for _, p := range s.parts[from:to] {
		if p.end-p.start > 1 {
			s.word(p)
		}
	}
	s.add(stem(s.text(from, to, false)))
}

// word adds the term of a word, unless the word is a stop word. A stop word in capitals, or after a
// capitalised word, is part of a name and is added.
func (s *scanner) word(p part) {
	word := string(s.name[p.start:p.end])
	switch {
	case stopped(word) && !s.stopped && (p.capitals < 2 || p.capitals < p.letters) && (p.capitals == 0 || !s.title || word == "i"):
	case p.digits == 0:
		s.add(stem(word))
	case p.letters == 0:
		s.add(word)
	default:
		s.mixed(word)
	}
}

// text returns the name from one part to another, with or without its joints.
func (s *scanner) text(from, to int, joints bool) string {
	text := make([]byte, 0, min(s.parts[to-1].end-s.parts[from].start+to-from, 2*MaxTerm))
	for i, p := range s.parts[from:to] {
		if len(text) > MaxTerm {
			break
		}
		if joints && i > 0 && p.joint != hump && p.joint != ',' {
			text = append(text, byte(p.joint))
		}
		text = append(text, s.name[p.start:min(p.end, p.start+2*MaxTerm)]...)
	}
	return string(text)
}

func (s *scanner) add(term string) {
	if term != "" {
		s.terms = append(s.terms, cut(term))
	}
}

// cut returns at most [MaxTerm] bytes of a term.
func cut(term string) string {
	if len(term) <= MaxTerm {
		return term
	}
	end := MaxTerm
	for end > 0 && !utf8.RuneStart(term[end]) {
		end--
	}
	return term[:end]
}
