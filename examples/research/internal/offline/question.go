package offline

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/research/internal/document"
)

// A question is what the rules see in the text of a user: its words, and the form of an answer.
type question struct {
	terms []term
	kind  *kind
}

// A term is a word of a question. Rare words have more weight.
type term struct {
	word, stem string
	weight     float64
	known      bool // some passage has it
	// asks says that it names the kind of answer: a sentence of the kind has no need of it.
	asks bool
}

func newQuestion(text string, all []sentence) question {
	q := question{kind: kindOf(text)}
	var asking []string // the words that show the kind: "Which e-mail"
	if q.kind != nil {
		asking = strings.Fields(q.kind.question.FindString(text))
	}
	for field := range strings.FieldsSeq(text) {
		for _, stem := range document.Words(field) {
			if slices.ContainsFunc(q.terms, func(t term) bool { return t.stem == stem }) {
				continue
			}
			having := 0.5
			for _, s := range all {
				if s.around[stem] {
					having++
				}
			}
			known := having > 0.5
			asks := slices.Contains(asking, field) || q.kind != nil && q.kind.question.MatchString(field)
			q.terms = append(q.terms, term{strings.Trim(field, `.,;:!?"'()`), stem, math.Log(1 + float64(1+len(all))/having), known, asks})
		}
	}
	return q
}

// Parts of a score. A sentence that has every word has 1.
const (
	inPassage = 0.4 // of a word that the passage or its heading has, not the sentence
	ofKind    = 0.3 // the sentence has the form that is asked for
	alike     = 0.8 // of the best score, from which other sentences are quoted, too
	least     = 0.2 // of the weight of the words
	most      = 3   // sentences
)

// A rating says how well a sentence fits a question.
type rating struct {
	score   float64
	own     float64  // the weight of the words that the sentence has itself
	share   float64  // of the weight of the words that the sentence or its passage has
	missing []string // the other words
}

func (q question) rate(s sentence) (r rating) {
	own := set(document.Words(s.text))
	fits := q.kind != nil && q.kind.form.MatchString(s.text)
	whole, known := 0.0, 0.0
	for _, t := range q.terms {
		whole += t.weight
		if t.known {
			known += t.weight
		}
		switch {
		case own[t.stem]:
			r.score += t.weight
			r.own += t.weight
		case t.asks && fits:
			r.score += t.weight
		case s.around[t.stem]:
			r.score += inPassage * t.weight
		default:
			r.missing = append(r.missing, fmt.Sprintf("%q", t.word))
			continue
		}
		r.share += t.weight
	}
	if whole > 0 {
		r.share /= whole
	}
	if known > 0 {
		r.score /= known
	}
	if fits {
		r.score += ofKind
	}
	return r
}

// answer quotes the sentences that fit best, in the order of the document. It names the words that their
// passages do not have.
func (q question) answer(all []sentence) string {
	var best rating
	ratings := make([]rating, len(all))
	for i, s := range all {
		if ratings[i] = q.rate(s); ratings[i].share >= least && ratings[i].score > best.score {
			best = ratings[i]
		}
	}
	if best.score == 0 {
		return q.refusal()
	}
	var found []int
	for i, r := range ratings {
		if r.share >= least && r.score >= alike*best.score && r.own >= alike*best.own {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(ratings[b].score, ratings[a].score) })
	found = found[:min(len(found), most)]
	found = q.rest(all, found)
	slices.Sort(found)
	var quoted []sentence
	missing := best.missing
	for _, i := range found {
		quoted = append(quoted, all[i])
		missing = slices.DeleteFunc(slices.Clone(missing), func(w string) bool { return !slices.Contains(ratings[i].missing, w) })
	}
	switch {
	case len(best.missing) == 0:
		return quote(quoted)
	case len(missing) == 0: // each of them has some
		return "I found no passage with all of your words. The closest:\n" + quote(quoted)
	}
	return "I found no passage with all of your words. The closest lacks " + strings.Join(missing, ", ") + ":\n" + quote(quoted)
}

// rest adds sentences for the words that no found sentence has. For each such word it adds the first sentence with it
// from the passages of the found sentences. "How long does it run, and can it be extended?" may have two answers.
func (q question) rest(all []sentence, found []int) []int {
	has := func(i int, t term) bool { return slices.Contains(document.Words(all[i].text), t.stem) }
	for _, t := range q.terms {
		if t.asks || slices.ContainsFunc(found, func(i int) bool { return has(i, t) }) {
			continue
		}
		for i := range all {
			same := slices.ContainsFunc(found, func(j int) bool { return all[j].passage == all[i].passage })
			if same && has(i, t) {
				found = append(found, i)
				break
			}
		}
	}
	return found
}

func (q question) refusal() string {
	if len(q.terms) == 0 {
		return "Ask about something that the document may say, in words that it may have."
	}
	words := make([]string, len(q.terms))
	for i, t := range q.terms {
		words[i] = fmt.Sprintf("%q", t.word)
	}
	return "I found no passage with most of these words: " + strings.Join(words, ", ") + "."
}
