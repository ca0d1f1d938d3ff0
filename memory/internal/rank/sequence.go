package rank

// A sequence is a number in groups of digits, such as a telephone number.
type sequence struct {
	digits []byte
	groups int
	opened bool // it began with +, with ( or with 0, as telephone numbers do
	fours  bool // all its groups have four digits, as in card numbers
}

// The minimum and the maximum number of digits of a sequence.
const (
	leastDigits = 7
	mostDigits  = 19
)

// collect adds the current name to the sequence, or ends the sequence.
func (s *scanner) collect() {
	if !s.plain() {
		s.endSequence()
		return
	}
	q := &s.sequence
	fours := len(s.parts) == 1 && len(s.name) == 4
	if q.groups > 0 && !q.opened && (!q.fours || !fours) {
		s.endSequence()
	}
	if q.groups == 0 {
		q.fours = fours
		q.opened = len(s.name) > 1 && (q.opened || s.name[0] == '0')
	}
	q.groups += len(s.parts)
	if len(q.digits) <= mostDigits {
		q.digits = append(q.digits, s.name...)
	}
	if s.joint != 0 && s.joint != '-' {
		s.endSequence()
	}
}

// plain reports whether the name has only digits, perhaps with hyphens between them.
func (s *scanner) plain() bool {
	for _, p := range s.parts {
		if p.letters > 0 || p.digits == 0 || p.joint != 0 && p.joint != '-' {
			return false
		}
	}
	return true
}

// endSequence adds the number without the separators of its groups.
func (s *scanner) endSequence() {
	q := &s.sequence
	if n := len(q.digits); (q.groups > 2 || q.groups == 2 && (q.opened || !q.fours)) && leastDigits <= n && n <= mostDigits {
		s.add(string(q.digits))
	}
	*q = sequence{digits: q.digits[:0]}
}

// between records the rune between two names.
func (s *scanner) between(r rune) {
	s.title = s.title && r == ' '
	switch r {
	case ' ', '\u00a0', '\u202f', ')', '-', '/':
	case '(':
		if s.sequence.groups == 0 {
			s.sequence.opened = true
		}
	case '+':
		s.endSequence()
		s.sequence.opened = true
	default:
		s.endSequence()
	}
}
