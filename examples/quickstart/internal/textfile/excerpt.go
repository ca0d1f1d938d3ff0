package textfile

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxRead is the greatest number of lines that Read returns.
const MaxRead = 60

// An Excerpt is a range of lines.
type Excerpt struct {
	// Of is the number of lines of the file.
	Of    int    `json:"of"`
	Lines []Line `json:"lines"`
	// Left counts the lines of the range that were left out.
	Left int `json:"left,omitempty"`
}

// Read returns the lines from one number to another, both included. A range that begins
// after the end of the file is an error; a range that ends after it is cut. If to is 0,
// Read returns one line. A negative from counts from the end: -5 is the last five lines.
func (f *File) Read(from, to int) (Excerpt, error) {
	from, to, err := f.span(from, to)
	if err != nil {
		return Excerpt{}, err
	}
	p := Excerpt{Of: len(f.lines), Left: max(0, to-from+1-MaxRead)}
	for i := from - 1; i < to-p.Left; i++ {
		p.Lines = append(p.Lines, f.line(i))
	}
	return p, nil
}

func (f *File) span(from, to int) (int, int, error) {
	n := len(f.lines)
	switch {
	case from < 0:
		from, to = max(n+from+1, 1), n
	case to == 0:
		to = from
	}
	if from == 0 || from > n {
		return 0, 0, fmt.Errorf("there is no line %d: %s has %d", from, f.name, n)
	}
	if to < from {
		return 0, 0, fmt.Errorf("lines %d to %d are no range: it ends before it begins", from, to)
	}
	return from, min(to, n), nil
}

// A Count is the size of a range of lines.
type Count struct {
	From       int `json:"from"`
	To         int `json:"to"`
	Lines      int `json:"lines"`
	Words      int `json:"words"` // separated by white space, as wc counts them
	Characters int `json:"characters"`
	// Occurrences counts Word, if it was given, and OnLines are the first lines that
	// have it.
	Word        string `json:"word,omitempty"`
	Occurrences int    `json:"occurrences,omitempty"`
	OnLines     []int  `json:"on_lines,omitempty"`
}

// Count counts from one line to another; 0 and 0 mean the whole file. Word may be several
// words. It is counted without regard to case, and not inside other words.
func (f *File) Count(from, to int, word string) (Count, error) {
	if from == 0 && to == 0 {
		from, to = 1, len(f.lines)
	}
	from, to, err := f.span(from, to)
	if err != nil {
		return Count{}, err
	}
	c := Count{From: from, To: to, Word: word, Lines: to - from + 1}
	for i := from - 1; i < to; i++ {
		c.Words += len(strings.Fields(f.lines[i]))
		c.Characters += utf8.RuneCountInString(f.lines[i]) + 1
		if n := occurrences(f.lines[i], word); n > 0 {
			c.Occurrences += n
			if len(c.OnLines) < 10 {
				c.OnLines = append(c.OnLines, i+1)
			}
		}
	}
	return c, nil
}

// occurrences counts a word that has no letter or digit beside it. In scripts without
// spaces it counts the word everywhere.
func occurrences(text, word string) int {
	text, word = strings.ToLower(text), strings.ToLower(strings.TrimSpace(word))
	if word == "" {
		return 0
	}
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	n := 0
	for start := 0; ; {
		i := strings.Index(text[start:], word)
		if i < 0 {
			return n
		}
		begin, end := start+i, start+i+len(word)
		left, _ := utf8.DecodeLastRuneInString(text[:begin])
		right, _ := utf8.DecodeRuneInString(text[end:])
		if !joined(left, first) && !joined(last, right) {
			n++
			start = end
			continue
		}
		_, size := utf8.DecodeRuneInString(text[begin:])
		start = begin + size
	}
}

// joined reports whether two adjacent characters are within one word.
func joined(a, b rune) bool { return inWord(a) && inWord(b) }

func inWord(r rune) bool {
	if r == utf8.RuneError || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer) {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}
