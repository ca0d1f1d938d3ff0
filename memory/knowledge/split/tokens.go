package split

import (
	"unicode"
	"unicode/utf8"
)

// A Counter counts tokens. A text is counted in parts and the counts are added, so the sum for
// two parts must not be less than the count of the whole. A Counter must be safe for
// concurrent use.
type Counter interface {
	Count(text string) int
}

// CounterFunc is a function that implements [Counter].
type CounterFunc func(text string) int

// Count calls f.
func (f CounterFunc) Count(text string) int { return f(text) }

// Estimate approximates the token counts of current models: one token for a common word,
// several for a long word, and one for each ideograph.
var Estimate Counter = CounterFunc(estimate)

const (
	lettersAToken = 7  // letters for each further token of a word
	blanksAToken  = 16 // blanks for each further token
	linesAToken   = 16
	digitsAToken  = 3
	marksAToken   = 4 // marks for each token of a repeated mark
)

func estimate(text string) (tokens int) {
	for i := 0; i < len(text); {
		c := text[i]
		switch class := classes[c]; class {
		case space, carriage:
			start := i
			for i < len(text) && classes[text[i]] == class {
				i++
			}
			tokens += (i - start + blanksAToken - 2) / blanksAToken
		case letter:
			n := 0
			i, n = word(text, i)
			tokens += 1 + (n-1)/lettersAToken
		case wide:
			r, size := utf8.DecodeRuneInString(text[i:])
			if !dense(r) && unicode.IsLetter(r) {
				n := 0
				i, n = word(text, i)
				tokens += 1 + (n-1)/lettersAToken
				continue
			}
			i += size
			tokens += weight(r)
		default:
			start := i
			for i < len(text) && classes[text[i]] == class && (class == digit || text[i] == c) {
				i++
			}
			per := marksAToken
			switch class {
			case digit:
				per = digitsAToken
			case line:
				per = linesAToken
			}
			tokens += (i - start + per - 1) / per
		}
	}
	return tokens
}

// word returns the end of a run of letters and its length. A letter outside of ASCII counts
// as three.
func word(text string, i int) (end, length int) {
	for i < len(text) {
		switch classes[text[i]] {
		case letter:
			i++
			length++
		case wide:
			r, size := utf8.DecodeRuneInString(text[i:])
			if dense(r) || !unicode.IsLetter(r) && !unicode.IsMark(r) {
				return i, length
			}
			i += size
			length += 3
		default:
			return i, length
		}
	}
	return i, length
}

// weight returns the tokens of a rune that is not part of a word.
func weight(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case dense(r), unicode.IsMark(r), unicode.IsPunct(r), r == utf8.RuneError:
		return 1
	}
	return 2
}

// dense reports whether a rune is of a script without spaces between words.
func dense(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r < 0x0f00, r >= 0x1000 && r < 0x1100, r >= 0x1780 && r < 0x1800: // Thai, Lao, Burmese, Khmer
		return true
	case r >= 0x2e80 && r < 0xa4d0, r >= 0xac00 && r < 0xd7b0: // ideographs, kana, Hangul
		return true
	}
	return r >= 0xf900 && r < 0xfb00 || r >= 0xff00 && r < 0xffe0 || r >= 0x20000 && r < 0x32000
}

type class uint8

const (
	mark class = iota
	space
	carriage // a carriage return. It ends a line, so a text may be cut between it and a space
	line
	letter
	digit
	wide
)

var classes = func() (table [256]class) {
	for c := range table {
		switch {
		case c >= utf8.RuneSelf:
			table[c] = wide
		case c == '\n':
			table[c] = line
		case c == ' ' || c == '\t' || c == '\v' || c == '\f': // only these, since words are cut at them
			table[c] = space
		case c == '\r':
			table[c] = carriage
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			table[c] = letter
		case c >= '0' && c <= '9':
			table[c] = digit
		}
	}
	return table
}()
