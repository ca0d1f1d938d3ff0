package rank

import "time"

// MaxTerm is the maximum number of bytes of a term. Longer terms are cut.
const MaxTerm = 64

// Terms returns the terms that find a text, in order and with repetitions. A text has at most as many terms
// as bytes.
//
//   - A word is in lower case and without accents. The English Snowball stemmer (Porter2) reduces a
//     word of the letters a to z to its stem: "studies" becomes "studi". It is applied to all languages
//     that use these letters.
//   - English stop words are left out, unless they are in capitals or after a capitalised word: "IT" is a
//     term, "it" is not, and the last word of "The Who" is.
//   - A name of several parts is a term, and so are its parts: "foo_bar", "fooBar", "foo.bar",
//     "ann@example.com". Two parts with a hyphen are also joined: "e-mail" is also "email".
//   - A number is one term: 1.5, 10:30, 2026-11-21. v1.2.3 is 1.2.3, and also its beginning 1.2;
//     1,299.99 is 1299.99 and 1299. Digits in groups are also one number: +44 7700 900123. Letters and
//     digits are also separate terms: 50mg is also 50 and mg. A hexadecimal number also has its first
//     six digits.
//   - In scripts without spaces between words, each pair of adjacent characters is a term. In Chinese, each
//     single character is also a term.
//
// A term has letters, digits and marks, and may contain . _ - @ : + #. A single emoji or other symbol is
// also a term. A term has no spaces.
func Terms(text string) []string {
	s := scanner{terms: make([]string, 0, len(text)/6+1)}
	s.scan(text)
	return s.terms
}

// DateTerms returns the terms that find a message by its date: the day, the month and the year in English,
// and the date in digits, in UTC. The zero time has no terms.
func DateTerms(at time.Time) []string {
	if at.IsZero() {
		return nil
	}
	return Terms(at.UTC().Format("2 January 2006, 2006-01-02"))
}

// Distinct returns the distinct terms in the order of their first occurrence, in a new slice.
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
