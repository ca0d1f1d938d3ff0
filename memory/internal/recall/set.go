package recall

import (
	"math/rand/v2"

	"github.com/weft-go/weft/memory/internal/rank"
)

// A Set is documents, and questions whose answers are known.
type Set struct {
	Name      string
	Documents []Document
	Questions []Question
}

// A Document is found or not. Those of a group whose positions differ by one are neighbours.
type Document struct {
	Text     string
	Group    string
	Position int64
}

// A Question has the documents that answer it, by their numbers.
type Question struct {
	Text    string
	Answers []int
}

// sample returns up to n elements, the same ones for the same list.
func sample[T any](list []T, n int) []T {
	list = append([]T(nil), list...)
	random := rand.New(rand.NewPCG(7, 11))
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

// without returns the words of a text that do not have a term of those given.
func without(text string, words ...string) string {
	gone := map[string]bool{}
	for _, w := range words {
		for _, t := range rank.Terms(w) {
			gone[t] = true
		}
	}
	var kept []byte
	start := -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		word := text[start:end]
		start = -1
		for _, t := range rank.Terms(word) {
			if gone[t] {
				return
			}
		}
		kept = append(append(kept, word...), ' ')
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == ' ' || c == '\n' || c == '\t':
			flush(i)
		case start < 0:
			start = i
		}
	}
	flush(len(text))
	return string(kept)
}
