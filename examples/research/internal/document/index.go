package document

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// An Index finds passages of a text. It is immutable.
type Index struct {
	passages []Passage
	words    []map[string]int // of each passage how often it has a word
	have     map[string]int   // how many passages have a word
}

// NewIndex divides a text into passages and counts their words.
func NewIndex(text string) *Index {
	x := &Index{passages: passages(text), have: map[string]int{}}
	for _, p := range x.passages {
		count := map[string]int{}
		for _, w := range Words(p.Heading + " " + p.Text) {
			count[w]++
		}
		for w := range count {
			x.have[w]++
		}
		x.words = append(x.words, count)
	}
	return x
}

// Len is how many passages there are.
func (x *Index) Len() int { return len(x.passages) }

// First returns the first passages.
func (x *Index) First(n int) []Passage { return slices.Clone(x.passages[:min(n, len(x.passages))]) }

// Find returns the passages that have most of the words of a query, rare words
// counting more than frequent ones, in the order of the text. One that matches the
// pattern, which may be nil, counts as if it had two more of them.
func (x *Index) Find(query string, pattern *regexp.Regexp, limit int) []Passage {
	type hit struct {
		at    int
		score float64
	}
	terms := Words(query)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	var hits []hit
	for i, count := range x.words {
		score := 0.0
		for _, t := range terms {
			if n := count[t]; n > 0 {
				score += math.Log(1+float64(len(x.passages))/float64(x.have[t])) * float64(n) / (float64(n) + 1)
			}
		}
		if pattern != nil && pattern.MatchString(x.passages[i].Text) {
			score += math.Log(1+float64(len(x.passages))) * 0.6
		}
		if score > 0 {
			hits = append(hits, hit{i, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	hits = hits[:min(len(hits), limit)]
	slices.SortFunc(hits, func(a, b hit) int { return a.at - b.at })
	out := make([]Passage, len(hits))
	for i, h := range hits {
		out[i] = x.passages[h.at]
	}
	return out
}

// Words returns the words of a text that tell it from others, in lower case and
// without a plural.
func Words(text string) []string {
	fields := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	out := fields[:0]
	for _, w := range fields {
		if common[w] {
			continue
		}
		switch {
		case len(w) > 4 && strings.HasSuffix(w, "ies"):
			w = w[:len(w)-3] + "y"
		case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
			w = w[:len(w)-1]
		}
		out = append(out, w)
	}
	return out
}

// common words tell no passages apart.
var common = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`a about after all also an and any are as at be been before but by can could did do does
	each for from had has have he her his how i if in into is it its like may more most much my no not of on one
	only or our out over shall she should so some such than that the their them then there these they this those
	to under up us was we were what when where which who whom why will with would you your`) {
		set[w] = true
	}
	return set
}()
