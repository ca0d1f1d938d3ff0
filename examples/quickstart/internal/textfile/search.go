package textfile

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxFound is the most lines that a search returns.
const MaxFound = 20

// Found is the result of a search.
type Found struct {
	// Total is how many lines have every word of the query, Partly how many
	// have some of them only.
	Total  int `json:"total"`
	Partly int `json:"partly"`
	// Lines are the best of them, those with every word first.
	Lines []Line `json:"lines"`
	// Missing are the words that the file does not have.
	Missing []string `json:"missing,omitempty"`
	// Similar are words of the file that look like a missing one.
	Similar []string `json:"similar,omitempty"`
}

// term is a word of a query.
type term struct {
	word    string
	weight  float64 // a rare word says more than a frequent one
	matches func(word string) bool
}

// Search finds lines by words, in any order and without regard to case and
// plural. Lines that define what is asked for come first, then the others by
// how many of the words they and their neighbours have. Limit is at most
// MaxFound, and 0 means 5.
func (f *File) Search(query string, limit int) Found {
	query = strings.TrimSpace(query)
	if limit <= 0 {
		limit = 5
	}
	out := Found{Lines: []Line{}}
	var terms []term
	for _, word := range foldedWords(query) {
		if slices.ContainsFunc(terms, func(t term) bool { return t.word == word }) {
			continue
		}
		t := f.term(word)
		if t.matches == nil {
			out.Missing = append(out.Missing, word)
			out.Similar = append(out.Similar, f.similar(word)...)
		}
		terms = append(terms, t)
	}
	hits := f.hits(query, terms)
	for _, h := range hits {
		if h.all {
			out.Total++
		}
	}
	out.Partly = len(hits) - out.Total
	for _, h := range hits[:min(len(hits), limit, MaxFound)] {
		out.Lines = append(out.Lines, f.line(h.index))
	}
	return out
}

// hit is a line that has some of the words, or all of them.
type hit struct {
	index int
	score float64
	all   bool
}

// hits returns the lines that have some of the words, best first.
func (f *File) hits(query string, terms []term) []hit {
	var hits []hit
	var known []string
	for _, t := range terms {
		if t.matches != nil {
			known = append(known, t.word)
		}
	}
	phrase := strings.Join(known, " ")
	for i := range f.lines {
		score, have := f.cover(i, terms)
		if have == 0 {
			continue
		}
		score += f.bonus(i, phrase, len(terms))
		if query != strings.ToLower(query) && strings.Contains(f.lines[i], query) {
			score++ // a name, spelt as in the question
		}
		hits = append(hits, hit{i, score, have == len(terms)})
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		switch {
		case a.all == b.all:
			return cmp.Compare(b.score, a.score)
		case a.all:
			return -1
		}
		return 1
	})
	return hits
}

// term says what a word of the query stands for: itself; if the file does not
// have it, the words that begin with it, else those that hold it.
func (f *File) term(word string) term {
	tests := []func(string) bool{func(w string) bool { return w == word }}
	if utf8.RuneCountInString(word) >= 3 {
		tests = append(tests,
			func(w string) bool { return strings.HasPrefix(w, word) },
			func(w string) bool { return strings.Contains(w, word) })
	}
	for _, matches := range tests {
		n := 0
		for w, times := range f.count {
			if matches(w) {
				n += times
			}
		}
		if n > 0 {
			return term{word, math.Log(1 + float64(len(f.lines))/float64(n)), matches}
		}
	}
	return term{word: word}
}

// cover says how much of the query a line has, its neighbours counting a
// little, and how many of its words.
func (f *File) cover(i int, terms []term) (score float64, have int) {
	for _, t := range terms {
		switch {
		case t.matches == nil:
		case slices.ContainsFunc(f.words[i], t.matches):
			score += t.weight
			have++
		case i > 0 && slices.ContainsFunc(f.words[i-1], t.matches), i+1 < len(f.words) && slices.ContainsFunc(f.words[i+1], t.matches):
			score += t.weight / 2
		}
	}
	return score, have
}

// bonus prefers lines that have the words side by side, and those that look as
// if they say what something is.
func (f *File) bonus(i int, phrase string, terms int) float64 {
	if !strings.Contains(" "+strings.Join(f.words[i], " ")+" ", " "+phrase+" ") {
		return 0
	}
	score := 0.0
	if terms > 1 {
		score += 2
	}
	line := strings.TrimSpace(f.lines[i])
	text := strings.ToLower(strings.TrimLeft(line, "#*->/;`\"“(0123456789. \t"))
	lead := leads.FindString(text)
	words := foldedWords(text[len(lead):])
	if !strings.HasPrefix(strings.Join(words, " ")+" ", phrase+" ") {
		return score
	}
	rest := words[min(len(strings.Fields(phrase)), len(words)):]
	switch {
	case len(rest) > 0 && slices.Contains(verbs, rest[0]):
		return score + 3.5
	case len(rest) == 0 || glossary.MatchString(text[len(lead):]):
		return score + 3 // a heading, or an entry of a list
	case lead != "":
		return score + 2
	}
	return score + 0.5
}

var (
	leads = regexp.MustCompile(`^(an? |the |type |func |class |def |package |const |var )*`)
	// glossary is a term with what it means behind it, in one line.
	glossary = regexp.MustCompile("^[^ ,;]+( [^ ,;]+)?([*`\"”)/]*:| +[-–—=] |/? {2,}|\t)")
	verbs    = []string{"is", "are", "mean", "means", "refer", "hold", "keep", "say", "was", "were"}
)

// similar returns up to three words of the file that look like one it does not
// have.
func (f *File) similar(word string) []string {
	runes := []rune(word)
	limit := 2
	if len(runes) < 6 {
		limit = 1
	}
	if len(runes) < 3 {
		return nil
	}
	type candidate struct {
		word  string
		apart int
	}
	var found []candidate
	for w := range f.count {
		if d := distance(runes, []rune(w), limit); d <= limit {
			found = append(found, candidate{w, d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.apart, b.apart), cmp.Compare(f.count[b.word], f.count[a.word]), cmp.Compare(a.word, b.word))
	})
	var out []string
	for _, c := range found[:min(len(found), 3)] {
		out = append(out, c.word)
	}
	return out
}
