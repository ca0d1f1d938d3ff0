package rank

import "strings"

// The limits of a question.
const (
	MaxText  = 8 << 10 // the bytes of the text that are used
	MaxQuery = 64      // terms
)

// Clip returns the part of a question's text that is searched: valid UTF-8 of at most [MaxText] bytes.
// It keeps the beginning and the end of a longer text, because the question is usually before or after a
// pasted text.
func Clip(text string) string {
	if len(text) > MaxText {
		half := MaxText / 2
		text = strings.ToValidUTF8(text[:half], "") + "\n" + strings.ToValidUTF8(text[len(text)-half+1:], "")
	}
	return strings.ToValidUTF8(text, "")
}

// Query returns the distinct terms of a question, at most [MaxQuery]. If there are more, it returns the
// first and the last terms.
func Query(text string) []string { return ends64(Terms(text)) }

// Stopped returns the stop words of a text, which [Terms] leaves out. If a question has only stop words,
// they find texts with the same words in capitals: "The Who".
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
