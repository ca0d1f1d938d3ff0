package offline

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// NoPassage is the answer if no passage of the documents fits.
const NoPassage = "I found no passage about this."

const (
	maxQuote  = 500 // characters of a quotation
	maxQuotes = 3   // sentences with all words of the question
)

// A passage is a sentence of the documents, or a row of a table. The words of its heading are less than its own.
type passage struct {
	text, where string
	lacks       []string // the words of the question that it and its heading do not have
	words       int      // how many it has, twice if it has them itself
	score       float64
}

// quote answers with the sentence of the passages that has the most words of the question, and says where it stands and
// which words it lacks. If several have all words, it quotes them all, up to a limit.
func quote(question, passages string) string {
	var best passage
	var all []passage
	for _, p := range rated(question, passages) {
		all = append(all, p)
		if p.score > best.score {
			best = p
		}
	}
	switch {
	case best.text == "":
		return NoPassage
	case len(best.lacks) > 0:
		return fmt.Sprintf("I found nothing with all of your words. The closest lacks %s:\n\n%s", strings.Join(best.lacks, ", "), best)
	}
	all = slices.DeleteFunc(all, func(p passage) bool { return p.words != best.words || len(p.lacks) > 0 })
	if len(all) == 1 {
		return best.String()
	}
	text := ""
	for _, p := range all[:min(len(all), maxQuotes)] {
		text += "- " + p.String() + "\n"
	}
	if more := len(all) - maxQuotes; more > 0 {
		text += fmt.Sprintf("\nI left out %d more that have your words.", more)
	}
	return strings.TrimSpace(text)
}

func (p passage) String() string {
	if runes := []rune(p.text); len(runes) > maxQuote {
		p.text = string(runes[:maxQuote]) + "…"
	}
	return p.text + " (" + entities.Replace(p.where) + ")"
}

// rated are the sentences that have enough words of a question.
func rated(question, passages string) (all []passage) {
	asked := concepts(question)
	least := min(2, len(asked)) // of several words one alone is chance
	if isOfUser(question) {
		least = 2 // and so it is if the user is meant: "What do I need?"
	}
	for _, p := range reference.FindAllStringSubmatch(passages, -1) {
		list, where := sentences(p[3]), p[1]
		if strings.HasSuffix(strings.ToLower(p[1]), ".csv") {
			list = records(p[3])
		}
		if p[2] != "" {
			where += ", " + p[2]
		}
		for _, sentence := range list {
			heading := p[2]
			if strings.HasPrefix(sentence, "|") { // the first row of a table names the columns
				heading += " " + list[slices.IndexFunc(list, func(s string) bool { return strings.HasPrefix(s, "|") })]
			}
			lacks := lacking(asked, sentence+" "+heading)
			n, own := len(asked)-len(lacks), len(asked)-len(lacking(asked, sentence))
			score := float64(n+own) / (1 + float64(len(sentence))/maxQuote) // a long one has to have more
			for _, has := range []int{n, own} {
				if has == len(asked) {
					score += 2 * float64(has)
				}
			}
			if n >= least && n > 0 {
				all = append(all, passage{sentence, where, lacks, n + own, score})
			}
		}
	}
	return all
}

// A concept is what a question asks for. One of its words is enough.
type concept struct {
	name  string
	words []string
}

// measures are what "how much" and "how long" ask for, as wordSet writes it.
var measures = []struct {
	form *regexp.Regexp
	concept
}{
	{regexp.MustCompile(`(?i)\bhow much\b|\bwhat does .* cost\b`), concept{"an amount of money", []string{"price", "cost", "fee", "eur", "euro", "usd"}}},
	{regexp.MustCompile(`(?i)\bhow long\b`), concept{"a length of time", []string{"day", "hour", "minute", "week", "month", "year"}}},
}

// concepts are what a question is about: its words, and what it measures.
func concepts(question string) (list []concept) {
	for _, m := range measures {
		if m.form.MatchString(question) {
			list = append(list, m.concept)
		}
	}
	for _, word := range slices.Sorted(maps.Keys(wordsOf(question))) {
		if word != "cost" {
			list = append(list, concept{fmt.Sprintf("%q", word), []string{word}})
		}
	}
	return list
}

// lacking returns the names of the concepts that a text has no word of.
func lacking(asked []concept, text string) (names []string) {
	has := slices.Collect(maps.Keys(wordSet(text)))
	for _, c := range asked {
		if !slices.ContainsFunc(c.words, func(word string) bool { return found(word, has, akin) }) {
			names = append(names, c.name)
		}
	}
	return names
}
