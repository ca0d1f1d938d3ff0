package main

import (
	"context"
	"hash/fnv"
)

// trigrams is an embedder that knows the spelling of words only, as fastText does without training. It hashes
// the runs of three to five letters of each word, and each word itself, into a vector of the given
// dimension.
type trigrams int

// Model implements memory.Embedder.
func (t trigrams) Model() string { return "trigrams" }

// Dimension implements memory.Embedder.
func (t trigrams) Dimension() int { return int(t) }

// Embed implements memory.Embedder.
func (t trigrams) Embed(_ context.Context, texts []string) ([][]float32, error) {
	list := make([][]float32, len(texts))
	for i, text := range texts {
		list[i] = t.vector(text)
	}
	return list, nil
}

// vector returns a vector of length 1.
func (t trigrams) vector(text string) []float32 {
	v, word := make([]float32, t), make([]float32, t)
	for _, w := range terms(text) {
		clear(word)
		letters := []rune("<" + w + ">")
		t.hash(word, string(letters))
		for n := 3; n <= 5; n++ {
			for i := 0; i+n <= len(letters); i++ {
				t.hash(word, string(letters[i:i+n]))
			}
		}
		normalize(word)
		add(v, 1, word)
	}
	if !normalize(v) {
		v[0] = 1
	}
	return v
}

// hash adds 1 or -1 to one number of a vector.
func (t trigrams) hash(v []float32, gram string) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(gram)) // It never fails.
	sum := h.Sum64()
	sign := float32(1)
	if sum>>63 == 1 {
		sign = -1
	}
	v[sum>>8%uint64(t)] += sign
}
