package offline

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	ends = regexp.MustCompile(`[.!]+\s+`)
	// abbreviated matches a word whose full stop ends no sentence: "Dr", "J" or the end of "e.g".
	abbreviated = regexp.MustCompile(`\b(?:Dr|Mr|Mrs|Ms|St|Prof|\pL)$`)
)

// sentences splits a text after the full stops and exclamation marks that end a sentence.
func sentences(text string) (list []string) {
	begin := 0
	for _, at := range ends.FindAllStringIndex(text, -1) {
		if !abbreviated.MatchString(text[begin:at[0]]) {
			list = append(list, strings.TrimSpace(text[begin:at[1]]))
			begin = at[1]
		}
	}
	if rest := strings.TrimSpace(text[begin:]); rest != "" {
		list = append(list, rest)
	}
	return list
}

// common are words that need not be in an answer.
var common = wordSet("a an the am is are was were be do does did have has had i me my we our us you your who what when where which how many and of in on at to for s")

// keywords returns the words of a question that its answer must have.
func keywords(question string) []string {
	set := wordSet(question)
	maps.DeleteFunc(set, func(word string, _ bool) bool { return common[word] })
	return slices.Sorted(maps.Keys(set))
}

// hasAll reports whether a set has all the words.
func hasAll(set map[string]bool, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !set[word] })
}

// endings matches a long word whose ending wordSet removes, so that "returned" finds "return", and
// "allergic" finds "allergy".
var endings = regexp.MustCompile(`^(\pL{5,})(?:y|ie|ic|ed|ing)$`)

// wordSet returns the words of a text in lower case and without endings.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 3 && !strings.HasSuffix(w, "ss") { // a plural
			w = strings.TrimSuffix(w, "s")
		}
		set[endings.ReplaceAllString(w, "$1")] = true
	}
	return set
}
