package rank

import "strings"

// stopped reports whether a word is in nearly every English text and says nothing of it.
func stopped(word string) bool { return len(word) <= 6 && stopWords[word] }

var stopWords = wordSet(`a about an and are as at be been but by did do does for from had has have he her him his how i if in
	into is it its me my of on or our she so than that the their them then there these they this those to
	was we were what when where which who whom whose why with you your`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// appendStems adds what an English word is found by: what its forms share, of each word that it may be a form of. A word that has
// other letters than a to z is itself, and so is a short one.
func appendStems(terms []string, word string) []string {
	if bases, ok := irregular[word]; ok {
		return append(terms, bases...)
	}
	return append(terms, cut(stem(word)))
}

// stem returns the first of what a word is found by.
func stem(word string) string {
	if bases, ok := irregular[word]; ok {
		return bases[0]
	}
	if len(word) > 24 || !simple(word) {
		return word
	}
	return regular(word)
}

// regular takes the endings of a word away, of what it is a form of and what it is made of, and returns what is left in one
// spelling.
func regular(word string) string {
	if len(word) < 4 {
		return respell(word)
	}
	short := singular(word)
	for range 4 {
		next := made(compared(short))
		if next == short || stopped(next) {
			break
		}
		short = next
	}
	if short = finish(short); short != word && (strings.HasSuffix(short, "is") && vowels(short) > 1 || strings.HasSuffix(short, "ys")) {
		short = short[:len(short)-1] + "z" // organise, analyse
	}
	return respell(short)
}

// made returns the verb that a word is a form of, and what a word is made of.
func made(word string) string {
	verb := inflected(word)
	if r := root(verb); r != "" {
		return r
	}
	if verb != word { // the e that went with the ending
		if r := root(verb + "e"); r != "" {
			return r
		}
	}
	return verb
}

// compared takes -ier and -iest away: earlier is early.
func compared(w string) string {
	n := len(w)
	switch {
	case n > 5 && strings.HasSuffix(w, "iest") && vowels(w[:n-4]) > 0:
		return w[:n-4] + "y"
	case n > 5 && strings.HasSuffix(w, "ier") && vowels(w[:n-3]) > 0 && !simpleWords[w]:
		return w[:n-3] + "y"
	}
	return w
}

func simple(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}

// singular takes the plural away.
func singular(w string) string {
	n := len(w)
	if n < 4 || w[n-1] != 's' || w == "news" {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies"):
		if n == 4 || ie[w[:n-1]] {
			return w[:n-1]
		}
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:n-2]
	case n > 5 && strings.HasSuffix(w, "oes"), n > 5 && strings.HasSuffix(w, "uses") && !vowel(w, n-5):
		return w[:n-2]
	}
	return w[:n-1]
}

var ie = wordSet("movie cookie calorie zombie selfie brownie smoothie hoodie rookie genie prairie pixie sortie goalie budgie foodie veggie birdie eerie")

// inflected takes -ed and -ing away.
func inflected(w string) string {
	n := len(w)
	switch {
	case strings.HasSuffix(w, "eed"):
		if n > 5 && vowels(w[:n-3]) > 0 {
			return w[:n-1]
		}
		return w
	case strings.HasSuffix(w, "ied"):
		if n == 4 {
			return w[:3]
		}
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "ed"):
		return restore(w, w[:n-2])
	case strings.HasSuffix(w, "ing"):
		return restore(w, w[:n-3])
	}
	return w
}

// restore returns the verb that is left when an ending goes, or the word where none is.
func restore(word, rest string) string {
	n := len(rest)
	switch {
	case n < 2 || vowels(rest) == 0:
		return word
	case n == 2:
		if vowel(rest, 0) && !vowel(rest, 1) {
			return rest + "e"
		}
		return word
	case n > 3 && rest[n-1] == rest[n-2] && !vowel(rest, n-1) && !strings.ContainsRune("lsz", rune(rest[n-1])):
		return rest[:n-1]
	case closed(rest):
		return rest + "e"
	}
	return rest
}

// finish makes the ends equal that differ between the forms of a word.
func finish(w string) string {
	n := len(w)
	if n < 5 {
		return w
	}
	if w[n-1] == 'e' && !vowel(w, n-2) && !closed(w[:n-1]) {
		w = w[:n-1]
	} else if n > 6 {
		w = verbal(w)
	}
	if n = len(w); n > 5 && strings.HasSuffix(w, "at") && vowels(w[:n-2]) > 1 && !ate[w] {
		w = w[:n-2] // celebrate, and invitation beside invite
	}
	if strings.HasSuffix(w, "ll") && vowels(w) > 1 {
		w = w[:len(w)-1]
	}
	return w
}

// verbal takes away what makes a noun of a verb and leaves its letters: of connection and of analysis.
func verbal(w string) string {
	n := len(w)
	switch {
	case (strings.HasSuffix(w, "tion") || strings.HasSuffix(w, "ssion")) && vowels(w[:n-3]) > 1 && !simpleWords[w]:
		return w[:n-3]
	case strings.HasSuffix(w, "sis") && vowel(w, n-4):
		return w[:n-2]
	}
	return w
}

// ate has words that end as celebrate does without its e, and are no such verb.
var ate = wordSet("habitat publicat temperat reformat caveat defeat repeat retreat throat")

// closed reports whether a word is one syllable that ends in a consonant, a vowel and a consonant.
func closed(w string) bool {
	n := len(w)
	return n > 2 && vowels(w) == 1 && !vowel(w, n-1) && vowel(w, n-2) && !vowel(w, n-3) && !strings.ContainsRune("wxy", rune(w[n-1]))
}

// vowels counts the groups of vowels.
func vowels(w string) (n int) {
	for i := range len(w) {
		if vowel(w, i) && (i == 0 || !vowel(w, i-1)) {
			n++
		}
	}
	return n
}

func vowel(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !vowel(w, i-1)
	}
	return false
}
