package llmtest

import (
	"context"
	"hash/fnv"
	"strings"
	"unicode"
)

// An Embedder makes vectors of texts for tests and examples, as a memory.Embedder. Its zero value is ready to use.
//
// The vector of a text depends only on its words: the more words two texts have in common, the greater is their
// similarity. Upper and lower case are the same. An Embedder knows no language: "tea" and "thirsty" have nothing in
// common, unless Meanings says so. So its results do not show how well a search works with a real embedder. It is safe for
// concurrent use.
type Embedder struct {
	// Name is the name of the model. Empty means "llmtest".
	Name string
	// Size is the length of the vectors. Zero or less means 256. In shorter vectors, more words share a position and so
	// count as the same word.
	Size int
	// Meanings replaces words, in lower case, by others: with {"tea": "drink", "thirsty": "drink"}, the three words
	// are the same.
	Meanings map[string]string
}

// Model returns the name of the model.
func (e Embedder) Model() string {
	if e.Name == "" {
		return "llmtest"
	}
	return e.Name
}

// Dimension returns the length of the vectors.
func (e Embedder) Dimension() int {
	if e.Size <= 0 {
		return 256
	}
	return e.Size
}

// Embed returns a vector for each text. It fails only if the context has ended.
func (e Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = e.vector(text)
	}
	return vectors, nil
}

// vector counts the words of a text. The hash of a word selects its position in the vector.
func (e Embedder) vector(text string) []float32 {
	v := make([]float32, e.Dimension())
	v[0] = 0.01 // avoid a zero vector, which has no direction
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	}) {
		if other, ok := e.Meanings[word]; ok {
			word = other
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		v[h.Sum32()%uint32(len(v))]++
	}
	return v
}
