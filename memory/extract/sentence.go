package extract

import (
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"
)

// A statement is a sentence of a fact, or the part of what was said that may say it.
type statement struct {
	text   string
	words  []token // all of them
	own    []token // those that mean something, without values
	values []value
	not    int // negations
}

func (s *statement) empty() bool { return len(s.own) == 0 && len(s.values) == 0 }

// read returns what a sentence of a fact says.
func (s *speech) read(text string) statement {
	out := statement{text: text, words: tokens(text)}
	var rest string
	out.values, rest = values(text)
	for _, t := range tokens(rest) {
		switch {
		case s.turns(t):
			out.not++
		case framing[t.text], s.names[t.text], selves[t.text], s.glue[t.text], termOf(t.text) == "":
		default:
			out.own = append(out.own, t)
		}
	}
	return out
}

// turns reports whether a word is a negation in the language that is spoken.
func (s *speech) turns(t token) bool { return negations[t.text] && (s.english || !s.glue[t.text]) }

var (
	clauseEnds = regexp.MustCompile(`(?i)[;()。，]|(?:[,，]\s*|\s)(?:but|however|although|though|whereas|aber|sondern|mais|pero|maar|αλλά|но)\s|,\s+(?:and|so|und|et|y)\s|\s[-–—]\s|—`)
	asideEnds  = regexp.MustCompile(`(?i)[,;:，。]|\s[-–—]\s|—|\s(?:so|and|but)\s`)
	addresses  = regexp.MustCompile(`\S*(?:@|://|[\pL_]\.[\pL_]|_)\S*`)
)

// clauses returns the parts of a sentence from a place on.
func clauses(text string, sentence span, ends *regexp.Regexp) (list []span) {
	from := sentence.from
	for _, at := range ends.FindAllStringIndex(sentence.of(text), -1) {
		if end := sentence.from + at[0]; end > from {
			list = append(list, span{from, end})
		}
		from = sentence.from + at[1]
	}
	if from < sentence.to {
		list = append(list, span{from, sentence.to})
	}
	return list
}

// holds says why a sentence does not say what a sentence of a fact says. Evidence is what of it counts.
func (s *speech) holds(c Claim, fact statement, sentence, evidence span) *Doubt {
	polite := false
	if m := asksFor.FindStringSubmatchIndex(sentence.of(s.text)); m != nil {
		polite = m[2] >= 0
		sentence.from += m[1]
	}
	if !sentence.meets(evidence) {
		return &Doubt{Reason: Beyond}
	}
	if s.question(sentence, evidence, polite) {
		return &Doubt{Reason: Asked}
	}
	counted := span{max(sentence.from, evidence.from), min(sentence.to, evidence.to)}
	if words := s.missing(c, fact, counted); len(words) > 0 {
		return &Doubt{Reason: Beyond, Words: words}
	}
	return s.around(fact, s.region(fact, sentence, counted))
}

// question reports whether the evidence is in the part of a sentence that asks.
func (s *speech) question(sentence, evidence span, polite bool) bool {
	all := s.in(sentence)
	if !asks(sentence.of(s.text)) || polite {
		return s.begins(all)
	}
	parts := clauses(s.text, sentence, asideEnds)
	last := parts[len(parts)-1]
	return evidence.to > last.from || !s.begins(s.in(last)) || s.begins(all)
}

// begins reports whether words begin a question.
func (s *speech) begins(words []token) bool {
	for len(words) > 1 && (words[0].text == "and" || words[0].text == "so" || words[0].text == "but" || words[0].text == "or" || fillers[words[0].text] && !auxiliaries[words[0].text]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	first := words[0].text
	if asking[first] || first == "whether" || !s.english && askingElsewhere[first] {
		return true
	}
	return auxiliaries[first] && len(words) > 1 && pronouns[words[1].text]
}

func (s *speech) in(at span) []token {
	from := sort.Search(len(s.words), func(i int) bool { return s.words[i].start >= at.from })
	to := sort.Search(len(s.words), func(i int) bool { return s.words[i].end > at.to })
	return s.words[from:max(from, to)]
}

// missing returns what a fact says and a part of the speech does not.
func (s *speech) missing(c Claim, fact statement, at span) (words []string) {
	text := at.of(s.text)
	have, rest := values(text)
	for _, v := range fact.values {
		if !v.in(have, text, c.At) {
			words = append(words, v.String())
		}
	}
	said := tokens(rest)
	wished := s.wished(said)
	for i, t := range fact.own {
		if wished && wishing[t.text] {
			continue
		}
		n := s.match(t, said)
		if n < 0 || ideograph(t.text) && i > 0 && fact.own[i-1].end == t.start && !adjacent(fact.own[i-1].text, t.text, said) {
			words = append(words, t.text)
		}
	}
	for _, address := range addresses.FindAllString(fact.text, -1) {
		if address = strings.Trim(address, `.,;:!?"'()<>`); !strings.Contains(strings.ToLower(text), strings.ToLower(address)) {
			words = append(words, address)
		}
	}
	return words
}

// wished reports whether words ask for something to be done, so that it is what the user wants.
func (s *speech) wished(words []token) bool {
	for _, t := range words {
		if finite[t.text] || others[t.text] {
			return false
		}
	}
	return s.english
}

// match returns where words have a form of a word, or -1.
func (s *speech) match(t token, words []token) int {
	term := termOf(t.text)
	for i, w := range words {
		if w.text == t.text || termOf(w.text) == term || s.kin(w.text, t.text) {
			return i
		}
	}
	return -1
}

// kin reports whether two words are forms of one, as far as their beginnings tell.
func (s *speech) kin(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	for _, ending := range []string{"less", "los", "frei", "free"} {
		if strings.HasSuffix(a, ending) != strings.HasSuffix(b, ending) {
			return false
		}
	}
	same, longest := utf8.RuneCountInString(a[:n]), max(utf8.RuneCountInString(a), utf8.RuneCountInString(b))
	if !s.english { // which has more endings
		return same >= 3 && 5*same >= 3*longest
	}
	return same >= 4 && 3*same >= 2*longest
}

func ideograph(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && size > 2 && r != utf8.RuneError
}

// adjacent reports whether two characters follow each other.
func adjacent(a, b string, words []token) bool {
	for i := 1; i < len(words); i++ {
		if words[i-1].text == a && words[i].text == b && words[i-1].end == words[i].start {
			return true
		}
	}
	return false
}

// region returns the clause of a sentence that says all that a fact does, or those that the evidence is in.
func (s *speech) region(fact statement, sentence, evidence span) span {
	var all span
	for _, clause := range clauses(s.text, sentence, clauseEnds) {
		if !clause.meets(evidence) {
			continue
		}
		words := s.in(span{max(clause.from, evidence.from), min(clause.to, evidence.to)})
		whole := len(fact.own) > 0 && len(fact.values) == 0
		for _, t := range fact.own {
			whole = whole && (wishing[t.text] || s.match(t, words) >= 0)
		}
		if whole {
			return clause
		}
		if all.to == 0 {
			all.from = clause.from
		}
		all.to = clause.to
	}
	return all
}
