package textfile

import (
	"cmp"
	"slices"
)

// FoundLines is the result of a search for lines.
type FoundLines struct {
	// Total counts the lines that have every word of the query. Partly counts the
	// lines that have only some of the words.
	Total  int `json:"total"`
	Partly int `json:"partly"`
	// Lines has the lines with every word, or if there are none, the lines with
	// most of the words, in the order of the file.
	Lines   []Line   `json:"lines"`
	Missing []string `json:"missing,omitempty"`
}

// FindLines finds the lines that mention words, without regard to case, plural and
// ending. Limit is at most MaxFound, and 0 means 10.
func (f *File) FindLines(query string, limit int) FoundLines {
	if limit <= 0 {
		limit = 10
	}
	out := FoundLines{Lines: []Line{}}
	var terms []term
	terms, out.Missing = f.terms(query)
	f.only(terms)
	type match struct {
		index, have int
	}
	var found []match
	for i, words := range f.words {
		m := match{index: i}
		for _, t := range terms {
			if slices.ContainsFunc(words, func(w string) bool { return t.match(stem(w)) > 0 }) {
				m.have++
			}
		}
		switch {
		case m.have == 0:
			continue
		case m.have == len(terms):
			out.Total++
		default:
			out.Partly++
		}
		found = append(found, m)
	}
	slices.SortStableFunc(found, func(a, b match) int { return b.have - a.have })
	if out.Total > 0 {
		found = found[:out.Total]
	}
	found = found[:min(len(found), limit, MaxFound)]
	slices.SortFunc(found, func(a, b match) int { return cmp.Compare(a.index, b.index) })
	for _, m := range found {
		out.Lines = append(out.Lines, f.line(m.index))
	}
	return out
}

// only sets itself on each term that some line has, so that related words do not match: "shows"
// does not mention a shower.
func (f *File) only(terms []term) {
	for i := range terms {
		for _, words := range f.words {
			if slices.ContainsFunc(words, func(w string) bool { return stem(w) == terms[i].stem }) {
				terms[i].itself = true
				break
			}
		}
	}
}
