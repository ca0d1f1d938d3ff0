package rank

import "time"

// MaxTerm is how many bytes a term has at most. What is longer is cut.
const MaxTerm = 64

// Terms returns what a text can be found by, in order and with repetition. There are never more terms than
// the text has bytes, and the same text has the same terms always.
//
//   - A word is in lower case and without diacritics. An English one is cut back to what its forms share, and the words that
//     are made of it, in one spelling: "studied" and "student" are "study", "colours" is "color". One that may be a form of
//     two is both: "lives" is "live" and "life". Words of other languages are not cut back, unless they look English.
//   - Words that are in nearly every English text are left out, unless they are in capitals or follow a capitalised word: "IT" is a
//     term and "it" is none, and the last word of "The Who" is one.
//   - A name of several parts is a term, and its parts are too: of "foo_bar", "fooBar", "foo.bar" and
//     "ann@example.com". One of two parts with a hyphen is joined: "e-mail" is also "email".
//   - Numbers are whole: 1.5, 10:30, 2026-11-21; v1.2.3 is 1.2.3, and also 1.2, with which it begins; 1,299.99 is 1299.99 and 1299.
//     Digits in groups are also one number: +44 7700 900123. Letters and digits are also divided: 50mg is also 50 and mg; and
//     hexadecimal digits have their first six.
//   - Scripts without spaces between words give each two characters that follow each other, and of
//     Chinese also each one.
//
// A term is letters, digits and marks, perhaps with . _ - @ : + # among them, or it is one emoji or another symbol. It never
// has a space.
func Terms(text string) []string {
	s := scanner{terms: make([]string, 0, len(text)/6+1)}
	s.scan(text)
	return s.terms
}

// DateTerms returns the terms by which what was said at a time is found: the day, the month and the year in English, and
// the date in digits, of the time in UTC. There are none for the zero time.
func DateTerms(at time.Time) []string {
	if at.IsZero() {
		return nil
	}
	return Terms(at.UTC().Format("2 January 2006, 2006-01-02"))
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
