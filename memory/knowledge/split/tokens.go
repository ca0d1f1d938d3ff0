package split

import (
	"unicode"
	"unicode/utf8"
)

// A Counter counts tokens. Texts are counted in parts, and the counts added up, so it may
// not say less for two parts than for the whole. It is safe for use by any number of
// goroutines.
type Counter interface {
	Count(text string) int
}

// CounterFunc is a function that is a [Counter].
type CounterFunc func(text string) int

// Count calls f.
func (f CounterFunc) Count(text string) int { return f(text) }

// Estimate counts about as many tokens as current models make of a text: one for a
// common word, several for a long one, one for each ideograph.
var Estimate Counter = CounterFunc(estimate)

const (
	lettersAToken = 7  // of a word, after the first token
	blanksAToken  = 16 // after the first
	linesAToken   = 16
	digitsAToken  = 3
	marksAToken   = 4 // the same mark, again and again
)

func estimate(text string) (tokens int) {
	for i := 0; i < len(text); {
		c := text[i]
		switch class := classes[c]; class {
		case space:
			start := i
			for i < len(text) && classes[text[i]] == space {
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

// word returns the end of a run of letters, and its length, in which letters outside of
// ASCII count more.
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

// weight is how many tokens a rune makes that is in no word.
func weight(r rune) int {
	switch {
	case unicode.IsSpace(r):
		return 0
	case dense(r), unicode.IsMark(r), unicode.IsPunct(r), r == utf8.RuneError:
		return 1
	}
	return 2
}

// dense says that a rune is of a script that does not part words by spaces.
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
		case c <= ' ' || c == 0x7f:
			table[c] = space
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			table[c] = letter
		case c >= '0' && c <= '9':
			table[c] = digit
		}
	}
	return table
}()
