package main

import (
	"math/rand/v2"
	"strings"
	"unicode"
)

// plainWords returns the words of a text in lower case: runs of letters and digits.
func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// terms returns the words of a text without their endings and without stop words.
func terms(text string) (list []string) {
	for _, w := range plainWords(text) {
		if !stopWords[w] {
			list = append(list, cutEnding(w))
		}
	}
	return list
}

var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a an and any are as at be been but by can could did do does for from had has have he her
		his how i if in into is it its me my no not of on or our s she should so some such t than that the their them then
		there these they this those to was we were what when where which who whom whose why will with would you your`) {
		set[w] = true
	}
	return set
}()

// cutEnding removes one inflection, so that most forms of an English word have one term.
func cutEnding(word string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if stem, ok := strings.CutSuffix(word, end); ok && len(stem) >= 3 {
			word = stem
			break
		}
	}
	if len(word) > 3 {
		word = strings.TrimRight(word, "eiy")
	}
	return word
}

// akin reports whether two words in lower case are forms of one word: they have the same term or
// nearly the same beginning.
func akin(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n >= max(4, min(len(a), len(b))-2) || cutEnding(a) == cutEnding(b)
}

// without returns the words of a text that are not akin to the given words.
func without(text string, words ...string) string {
	var kept []string
next:
	for _, field := range strings.Fields(text) {
		for _, part := range plainWords(field) {
			for _, w := range words {
				if akin(part, strings.ToLower(w)) {
					continue next
				}
			}
		}
		kept = append(kept, field)
	}
	return strings.Join(kept, " ")
}

// sample returns up to n random elements. The same list gives the same elements.
func sample[T any](list []T, n int) []T {
	list = append([]T(nil), list...)
	random := rand.New(rand.NewPCG(7, 11))
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}
