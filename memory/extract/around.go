package extract

import "slices"

// around says whether what stands around the words of a fact makes it say something else.
func (s *speech) around(fact statement, region span) *Doubt {
	_, rest := values(region.of(s.text))
	said := tokens(rest) // places are those within the region
	if d := reports(fact, said); d != nil {
		return d
	}
	not := 0
	var lost []string
	for i, t := range said {
		if s.turns(t) {
			not++
		}
		if turning[t.text] && !s.glue[t.text] && !s.mild(said, i) && s.match(t, fact.words) < 0 {
			lost = append(lost, t.text)
		}
	}
	if len(lost) > 0 {
		return &Doubt{Reason: Turned, Words: lost}
	}
	if not != fact.not {
		return &Doubt{Reason: Turned, Words: negated(s, said)}
	}
	return s.torn(fact, said, region)
}

func negated(s *speech, said []token) (words []string) {
	for _, t := range said {
		if s.turns(t) {
			words = append(words, t.text)
		}
	}
	return words
}

// mild reports whether a turning word turns nothing: I would like, you should know.
func (s *speech) mild(said []token, i int) bool {
	if i+1 == len(said) {
		return false
	}
	next := said[i+1].text
	switch said[i].text {
	case "would":
		return wishing[next] || next == "love"
	case "should", "might", "may":
		return next == "know"
	case "used":
		return next != "to"
	case "if":
		return next == "possible"
	case "hope", "wish":
		return next == "that"
	}
	return false
}

// reports says whether somebody else is reported.
func reports(fact statement, said []token) *Doubt {
	paper := slices.ContainsFunc(said, func(t token) bool { return papers[t.text] })
	for i, t := range said {
		if !reporting[t.text] {
			continue
		}
		if i > 0 && (said[i-1].text == "i" || said[i-1].text == "we" || said[i-1].text == "ive") {
			continue
		}
		if paper || t.text == "according" || !slices.ContainsFunc(fact.words, func(f token) bool { return reporting[f.text] }) {
			return &Doubt{Reason: Foreign}
		}
	}
	return nil
}

// torn says whether a fact is torn out of what is around it: another's, or with something left out
// that comes before it.
func (s *speech) torn(fact statement, said []token, region span) *Doubt {
	first, last, ordered := s.used(fact, said)
	if first < 0 { // values alone
		return nil
	}
	before, between, kept := s.omitted(fact, said, first, last)
	clausal := len(clauses(s.text, region, clauseEnds)) > 1
	switch {
	case len(before) == 1 && s.wished(said) && slices.ContainsFunc(fact.words, func(t token) bool { return wishing[t.text] }): // use, give, make
	case len(before) > 0:
		return &Doubt{Reason: Turned, Words: before}
	case 3*len(between) > kept || clausal && len(between) > 0:
		return &Doubt{Reason: Turned, Words: between}
	case s.english && !ordered && !copula(said) && !copula(fact.words), s.anothers(fact, said):
		return &Doubt{Reason: Turned}
	}
	return nil
}

// omitted returns the words that a fact leaves out before its first and its last one, and how many it keeps.
func (s *speech) omitted(fact statement, said []token, first, last int) (before, between []string, kept int) {
	for i, t := range said[:last+1] {
		switch {
		case s.match(t, fact.own) >= 0:
			kept++
		case !s.means(t):
		case i < first && !fillers[t.text]:
			before = append(before, t.text)
		case i > first && (!fillers[t.text] || t.capital):
			between = append(between, t.text)
			if t.capital {
				kept -= 3 // names are not left out
			}
		}
	}
	return before, between, kept
}

// used returns where the words of a fact begin and end in what was said, and whether the first two are in order.
func (s *speech) used(fact statement, said []token) (first, last int, ordered bool) {
	first, last, ordered = -1, -1, true
	var places []int
	for _, t := range fact.own {
		at := s.match(t, said)
		if at < 0 {
			continue
		}
		places = append(places, at)
		last = max(last, at)
		if first < 0 || at < first {
			first = at
		}
	}
	if len(places) > 1 {
		ordered = places[0] <= places[1]
	}
	return first, last, ordered
}

// means reports whether a word says something.
func (s *speech) means(t token) bool {
	return !framing[t.text] && !s.names[t.text] && !s.glue[t.text] && !selves[t.text] && !negations[t.text] && !turning[t.text] && !reporting[t.text] && termOf(t.text) != ""
}

var copulas = setOf(`is are am was were be im called named name names heiße heißt heisst ist bin est suis es soy è sono é sou`)

func copula(words []token) bool {
	return slices.ContainsFunc(words, func(t token) bool { return copulas[t.text] })
}

var (
	speaking = setOf(`i im ive id ill we were weve well me us`)
	having   = setOf(`has have had owns s`)
	standing = setOf(`user she he they person customer client`)
)

// anothers reports whether a sentence is about somebody else, and the fact about the user.
func (s *speech) anothers(fact statement, said []token) bool {
	if !s.english {
		return len(said) > 0 && others[said[0].text]
	}
	speaks := slices.ContainsFunc(said, func(t token) bool { return speaking[t.text] || s.names[t.text] })
	for _, t := range said {
		if fillers[t.text] {
			continue
		}
		if others[t.text] && !speaks {
			return true
		}
		break
	}
	return !speaks && !s.wished(said) && s.subject(fact) && !slices.ContainsFunc(said, func(t token) bool { return t.text == "name" })
}

// subject reports whether a fact is about what the user is, and not about what the user has.
func (s *speech) subject(fact statement) bool {
	for i, t := range fact.words {
		switch {
		case t.text == "the":
			continue
		case (standing[t.text] || s.names[t.text]) && i+1 < len(fact.words):
			return !having[fact.words[i+1].text]
		}
		return t.text == "is" || t.text == "was"
	}
	return false
}
