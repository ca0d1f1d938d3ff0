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

// stem returns what the forms of an English word share. A word that has other letters than a to z is
// returned as it is, and so is a short one.
func stem(word string) string {
	if base, ok := irregular[word]; ok {
		return base
	}
	if len(word) < 4 || len(word) > 24 || !simple(word) {
		return word
	}
	for range 4 {
		next := finish(inflected(singular(word)))
		if next == word || stopped(next) {
			break
		}
		word = next
	}
	return word
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
	if n < 4 || w[n-1] != 's' {
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
	switch {
	case n < 5:
	case w[n-1] == 'e' && !vowel(w, n-2) && !closed(w[:n-1]):
		return w[:n-1]
	case strings.HasSuffix(w, "ll") && vowels(w) > 1:
		return w[:n-1]
	}
	return w
}

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

// irregular has the forms that no rule leads to.
var irregular = map[string]string{}

func init() {
	for forms := range strings.SplitSeq(`child children;man men;woman women;person people persons;foot feet;tooth teeth;mouse mice;goose geese
		life lives;wife wives;knife knives;leaf leaves;shelf shelves;half halves;wolf wolves;news
		become became;begin began begun;break broke broken;bring brought;build built;buy bought;catch caught;choose chose chosen
		come came;draw drew drawn;drink drank drunk;drive drove driven;eat ate eaten;fall fell fallen;fight fought;fly flew flown
		forget forgot forgotten;give gave given;go went gone;grow grew grown;hear heard;hold held;keep kept;know knew known
		lose lost;make made;meet met;pay paid;run ran;ride rode ridden;say said;sell sold;send sent;sing sang sung;sleep slept
		speak spoke spoken;spend spent;stand stood;steal stole stolen;swim swam swum;take took taken;teach taught;tell told
		think thought;throw threw thrown;understand understood;wake woke woken;wear wore worn;win won;write wrote written`, "\n") {
		for set := range strings.SplitSeq(forms, ";") {
			words := strings.Fields(set)
			if len(words) == 0 {
				continue
			}
			base := finish(words[0])
			for _, w := range words {
				irregular[w] = base
			}
		}
	}
}
