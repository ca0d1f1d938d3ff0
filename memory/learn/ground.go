package learn

import (
	"strings"

	"github.com/weft-go/weft/memory/internal/rank"
)

const (
	// grounded is the part of the words of an evidence that have to be the user's, as
	// models do not quote exactly.
	grounded = 0.5
	// shared is the part of the words of a fact that have to be in its evidence, as facts
	// are not said in the user's words.
	shared = 0.25
)

// Grounded reports whether what somebody said holds the evidence for a fact: most of the
// words of the evidence are theirs, the fact has some of these words, and its numbers, addresses and
// links are theirs as well. It is no proof: it keeps what somebody else said, in a document or through a
// tool, from being passed off as theirs.
func Grounded(fact, evidence, said string) bool { return wordsOf(said).ground(fact, evidence) }

type wordSet map[string]bool

func wordsOf(text string) wordSet {
	set := wordSet{}
	for _, term := range rank.Terms(text) {
		set[term] = true
	}
	return set
}

func (w wordSet) ground(fact, evidence string) bool {
	quoted := rank.Distinct(rank.Terms(evidence))
	if n := w.count(quoted); n == 0 || float64(n) < grounded*float64(len(quoted)) {
		return false
	}
	var own []string
	for _, term := range rank.Distinct(rank.Terms(fact)) {
		if strings.ContainsAny(term, "0123456789@/:") && !w[term] {
			return false
		}
		if !framing[term] {
			own = append(own, term)
		}
	}
	n := wordsOf(evidence).count(own)
	return n > 0 && float64(n) >= shared*float64(len(own))
}

func (w wordSet) count(terms []string) (n int) {
	for _, term := range terms {
		if w[term] {
			n++
		}
	}
	return n
}

// framing are words with which models say whose a fact is.
var framing = wordsOf("the user users person customer client they she he prefers likes wants has is name called")
