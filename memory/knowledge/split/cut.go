package split

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A cutter returns the end of the unit of text that starts at an offset, such as a sentence,
// with the space after it.
type cutter func(text string, at int) (next int)

// levels has the cutters for each kind of block, the preferred cutter first.
var levels = [...][]cutter{
	paragraph: {sentences, textLines, words, scraps},
	heading:   {words, scraps},
	lines:     {textLines, words, scraps},
	list:      {listItems, textLines, sentences, words, scraps},
}

// textLines cuts before the next line that is not blank.
func textLines(text string, at int) int {
	next := lineEnd(text, at)
	for next < len(text) && (text[next] == '\n' || text[next] == '\r') {
		next++
	}
	return next
}

// listItems cuts before the next item of the same list.
func listItems(text string, at int) int {
	begin := at
	for begin > 0 && (text[begin-1] == ' ' || text[begin-1] == '\t') {
		begin--
	}
	indent := at - begin
	for next := textLines(text, at); ; next = textLines(text, next) {
		if next >= len(text) {
			return len(text)
		}
		line := text[next:]
		if n := len(line) - len(strings.TrimLeft(line, " \t")); n <= indent && listMarker(line[n:]) > 0 {
			return next
		}
	}
}

// words cuts before the next word.
func words(text string, at int) int {
	i := strings.IndexFunc(text[at:], unicode.IsSpace)
	if i < 0 {
		return len(text)
	}
	return at + i + leadingSpace(text[at+i:])
}

func leadingSpace(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
}

const (
	enders  = ".!?…"
	closers = "\"')]}»”’*_"
	// whole marks end a sentence even without a space after them.
	whole = "。！？｡"
)

// sentences cuts before the next sentence.
func sentences(text string, at int) int {
	for i := at; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case strings.ContainsRune(whole, r):
			i += len(text[i:]) - len(strings.TrimLeft(text[i:], whole+"」』）\"”’"))
			return i + leadingSpace(text[i:])
		case !strings.ContainsRune(enders, r):
			continue
		}
		i += len(text[i:]) - len(strings.TrimLeft(text[i:], enders+closers))
		gap := leadingSpace(text[i:])
		if gap == 0 {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(text[i+gap:]); unicode.IsLower(next) { // as in "e.g. this"
			continue
		}
		return i + gap
	}
	return len(text)
}

// startsSentence reports whether a sentence or a line starts at an offset.
func startsSentence(text string, at int) bool {
	const lookBack = 32
	before := text[max(0, at-lookBack):at]
	trimmed := strings.TrimRightFunc(before, unicode.IsSpace)
	if strings.ContainsAny(before[len(trimmed):], "\r\n") {
		return true
	}
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(trimmed, closers))
	return strings.ContainsRune(enders+whole, last)
}

const (
	// scrapBytes is less than [MinSize], because a byte can be one token, and the last
	// character several.
	scrapBytes = 12
	// maxCharacter limits the bytes of a character that is not cut.
	maxCharacter = 64
)

// scraps cuts after some characters and the space after them.
func scraps(text string, at int) int {
	end := charactersEnd(text, at)
	return end + leadingSpace(text[end:])
}

func charactersEnd(text string, at int) int {
	end := min(at+scrapBytes, len(text))
	for next := end; next < min(at+maxCharacter, len(text)); next++ {
		if characterStarts(text, at, next) {
			return next
		}
	}
	if end = min(at+maxCharacter, len(text)); end < len(text) {
		for end > at+1 && !utf8.RuneStart(text[end]) {
			end--
		}
	}
	return end
}

const (
	joiner         = '\u200d'
	nonJoiner      = '\u200c'
	firstModifier  = '\U0001f3fb' // of the skin colour
	lastModifier   = '\U0001f3ff'
	firstIndicator = '\U0001f1e6' // of a region; two of them are a flag
	lastIndicator  = '\U0001f1ff'
)

// characterStarts reports whether a character, as a reader sees it, starts at i. It does not
// read the text before from.
func characterStarts(text string, from, i int) bool {
	if !utf8.RuneStart(text[i]) {
		return i-from >= utf8.UTFMax && stray(text[i-utf8.UTFMax+1:i])
	}
	next, _ := utf8.DecodeRuneInString(text[i:])
	prev, _ := utf8.DecodeLastRuneInString(text[from:i])
	switch {
	case unicode.IsMark(next), next == joiner, next == nonJoiner, prev == joiner,
		next >= firstModifier && next <= lastModifier,
		next >= 0x1160 && next < 0x1200, // the second and third part of a Hangul syllable
		prev == '\r' && next == '\n':
		return false
	case indicator(next) && indicator(prev):
		n := 0
		for end := i; end > from; {
			r, size := utf8.DecodeLastRuneInString(text[from:end])
			if !indicator(r) {
				break
			}
			end -= size
			n++
		}
		return n%2 == 0
	}
	return true
}

// stray reports whether no byte starts a rune. If it returns true for bytes longer than a rune,
// they are not valid UTF-8.
func stray(bytes string) bool {
	for i := range len(bytes) {
		if utf8.RuneStart(bytes[i]) {
			return false
		}
	}
	return true
}

func indicator(r rune) bool { return r >= firstIndicator && r <= lastIndicator }
