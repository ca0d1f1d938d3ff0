package rank

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// stopped reports whether a word is a stop word, which occurs in nearly every English text.
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

// stem returns the stem that all forms of an English word share. A word with other letters than a to
// z is returned unchanged.
func stem(word string) string {
	if len(word) > MaxTerm || !simple(word) {
		return word
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}

func simple(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}
