package main

import (
	"bytes"
	"context"
	"strconv"
	"strings"
)

// A synset is a set of synonyms.
type synset struct {
	kind  string // part of speech and number of WordNet's file, such as n13 for food
	words []string
	gloss string
}

// readWordNet returns the synsets of nouns and verbs. It omits words that have other characters than lower-case letters.
func readWordNet(ctx context.Context, dir string) (sets []synset, err error) {
	files, err := wordnet.read(ctx, dir, "usr/share/wordnet/data.*")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"noun", "verb"} {
		for line := range bytes.Lines(files["usr/share/wordnet/data."+name]) {
			if s, ok := parseSynset(string(line)); ok {
				sets = append(sets, s)
			}
		}
	}
	return sets, nil
}

func parseSynset(line string) (s synset, ok bool) {
	data, gloss, ok := strings.Cut(line, " | ")
	fields := strings.Fields(data)
	if !ok || strings.HasPrefix(line, " ") || len(fields) < 5 {
		return s, false
	}
	n, err := strconv.ParseInt(fields[3], 16, 32)
	if err != nil || 4+2*int(n) > len(fields) {
		return s, false
	}
	s.kind = fields[2] + fields[1]
	s.gloss, _, _ = strings.Cut(gloss, "; \"")
	s.gloss = strings.TrimSpace(s.gloss)
	for i := range int(n) {
		if w := fields[4+2*i]; strings.ToLower(w) == w && !strings.ContainsAny(w, "_-.'0123456789") {
			s.words = append(s.words, w)
		}
	}
	return s, len(s.words) > 0
}

// senses counts the synsets of each word.
func senses(sets []synset) map[string]int {
	count := map[string]int{}
	for _, s := range sets {
		for _, w := range s.words {
			count[w]++
		}
	}
	return count
}
