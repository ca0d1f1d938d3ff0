package document

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// An Index finds passages of a text. It is immutable.
type Index struct {
	passages []Passage
	words    []map[string]int // for each passage, how often it has a word
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

// Len returns the number of passages.
func (x *Index) Len() int { return len(x.passages) }

// First returns the first passages.
func (x *Index) First(n int) []Passage { return slices.Clone(x.passages[:min(n, len(x.passages))]) }

// Find returns the passages with the highest scores, in the order of the text. Rare words of the query score more
// than frequent ones. Words of others that query does not have score half. A match of the pattern, which may be nil,
// adds to the score.
func (x *Index) Find(query, others string, pattern *regexp.Regexp, limit int) []Passage {
	type hit struct {
		at    int
		score float64
	}
	weights := map[string]float64{}
	for _, w := range Words(others) {
		weights[w] = 0.5
	}
	for _, w := range Words(query) {
		weights[w] = 1
	}
	terms := slices.Sorted(maps.Keys(weights)) // sums of floats depend on the order
	var hits []hit
	for i, count := range x.words {
		score := 0.0
		for _, t := range terms {
			if n := count[t]; n > 0 {
				score += weights[t] * math.Log(1+float64(len(x.passages))/float64(x.have[t])) * float64(n) / (float64(n) + 1)
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

// Words returns the stems of the words of a text, without common words and addresses.
func Words(text string) []string {
	text = address.ReplaceAllString(strings.ToLower(strings.ReplaceAll(text, "’", "'")), " ")
	fields := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\''
	})
	out := fields[:0]
	for _, w := range fields {
		w = strings.Trim(w, "'")
		w, _, _ = strings.Cut(w, "'") // "what's"
		if w == "" || common[w] {
			continue
		}
		env := snowballstem.NewEnv(w)
		english.Stem(env)
		out = append(out, env.Current())
	}
	return out
}

// address matches an address of the web or of e-mail.
var address = regexp.MustCompile(`\S+@\S+\.\S+|https?://\S+`)

// common words do not distinguish passages.
var common = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(`a about after all also am an and any are as at be been before but by can could did do does
	don each either else for from get give had has have he her hers his how i if in into is isn it its just let like long
	many may me more most much must my need needs no not of often ok okay on one only or our out over please shall she should so
	some still such take tell than that the their them then there these they this those to under up us want was we were
	what when where which who whom whose why will with would yet you your`) {
		set[w] = true
	}
	return set
}()
