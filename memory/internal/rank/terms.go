package rank

// MaxTerm is how many bytes a term has at most. What is longer is cut.
const MaxTerm = 64

// Terms returns what a text can be found by, in order and with repetition. There are never more terms than
// the text has bytes, and the same text has the same terms always.
//
//   - A word is in lower case, without diacritics, and an English one is cut back to what its forms share:
//     "Cafés" is "cafe", and "studied" is "study". Words that are in nearly every English text are
//     left out, unless they are in capitals: "IT" is a term and "it" is none.
//   - A name of several parts is a term, and its parts are too: of "foo_bar", "fooBar", "foo.bar" and
//     "ann@example.com". One of two parts with a hyphen is joined: "e-mail" is also "email".
//   - Numbers are whole: 1.5, 10:30, v1.2.3, 2026-11-21; 1,000 is 1000.
//   - Scripts without spaces between words give each two characters that follow each other, and of
//     Chinese also each one.
//
// A term is letters, digits and marks, perhaps with . _ - @ : + # among them, or it is one emoji. It never
// has a space.
func Terms(text string) []string {
	s := scanner{terms: make([]string, 0, len(text)/6+1)}
	s.scan(text)
	return s.terms
}

// Distinct returns the different terms, each where it is first, in a slice of its own.
func Distinct(terms []string) []string {
	seen := make(map[string]bool, len(terms))
	distinct := make([]string, 0, len(terms))
	for _, t := range terms {
		if !seen[t] {
			seen[t] = true
			distinct = append(distinct, t)
		}
	}
	return distinct
}
