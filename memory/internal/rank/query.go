package rank

import "strings"

// The limits of a question.
const (
	MaxText  = 8 << 10 // bytes that count
	MaxQuery = 64      // terms
)

// Clip returns what counts of a text that somebody asks with: valid UTF-8 of at most [MaxText] bytes. Of a longer one, its
// beginning and its end: people ask before what they paste, or after it.
func Clip(text string) string {
	if len(text) > MaxText {
		half := MaxText / 2
		text = strings.ToValidUTF8(text[:half], "") + "\n" + strings.ToValidUTF8(text[len(text)-half+1:], "")
	}
	return strings.ToValidUTF8(text, "")
}

// Query returns the terms that a question asks for, each once, at most [MaxQuery]. Of more, they are the first and the last
// of those that differ.
func Query(text string) []string { return ends64(Terms(text)) }

// Stopped returns the words of a text that [Terms] leaves out, as [Query] does. They find a text that has them in capitals, for a
// question that has no others: "The Who".
func Stopped(text string) []string {
	s := scanner{stopped: true}
	s.scan(text)
	return ends64(s.terms)
}

func ends64(terms []string) []string {
	distinct := Distinct(terms)
	if len(distinct) <= MaxQuery {
		return distinct
	}
	first := distinct[: MaxQuery/2 : MaxQuery/2]
	taken := make(map[string]bool, MaxQuery)
	for _, t := range first {
		taken[t] = true
	}
	for i := len(terms) - 1; len(first) < MaxQuery; i-- {
		if !taken[terms[i]] {
			taken[terms[i]] = true
			first = append(first, terms[i])
		}
	}
	return first
}
