package textfile

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foldedWords returns the words of a text in lower case and without a plural s. A word
// is a sequence of letters, digits, underscores and apostrophes.
//
// A compound such as graph.Once is divided into its parts.
func foldedWords(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_' && r != '\''
	})
	words := fields[:0]
	for _, w := range fields {
		if w = fold(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}

// fold removes the plural and possessive endings of a word, so that its forms compare equal.
func fold(word string) string {
	word = strings.Trim(word, "'_")
	word = strings.TrimSuffix(word, "'s")
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case len(word) > 4 && (strings.HasSuffix(word, "ches") || strings.HasSuffix(word, "shes") || strings.HasSuffix(word, "xes") || strings.HasSuffix(word, "sses")):
		return word[:len(word)-2]
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us") && !strings.HasSuffix(word, "is"):
		return word[:len(word)-1]
	}
	return word
}

// functional has words that another word equals except for its last e, such as car for care. stem keeps this e.
var functional = []string{"not", "for", "her", "car"}

// stem returns the beginning that the forms of a folded word share: "resum" for resume, resumed and
// resuming. An irregular form has the stem of its base form.
func stem(word string) string {
	word = cmp.Or(irregular[word], word)
	for _, ending := range []string{"ing", "ed", "ure", "e"} {
		root, ok := strings.CutSuffix(word, ending)
		if !ok || utf8.RuneCountInString(root) < 3 || !strings.ContainsAny(root, "aeiouy") {
			continue
		}
		if ending == "e" && slices.Contains(functional, root) {
			continue // "note" is not a form of "not"
		}
		if n := len(root); ending != "e" && ending != "ure" && n > 3 && root[n-1] == root[n-2] && !strings.ContainsRune("lsz", rune(root[n-1])) {
			root = root[:n-1] // running: run
		}
		return root
	}
	return word
}

var camelCase = regexp.MustCompile(`([\p{Ll}\d])(\p{Lu})`)

// stems returns the stems of the words of a text. A name such as MaxSteps also adds the stems of
// its parts.
func stems(text string) []string {
	words := foldedWords(text)
	if camelCase.MatchString(text) {
		words = append(words, foldedWords(camelCase.ReplaceAllString(text, "$1 $2"))...)
	}
	for i, w := range words {
		words[i] = stem(w)
	}
	return words
}

// related reports whether one stem is the beginning of the other, and not much shorter: fail and
// failur(e). As an exception, "with" is not related to "without".
func related(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != "with" && len(a) >= 4 && len(b) <= len(a)+4 && strings.HasPrefix(b, a)
}
