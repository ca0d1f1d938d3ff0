// Package display makes invisible characters of a text visible.
package display

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns text with every invisible character replaced by its escape sequence,
// such as \u202e. It escapes control characters except line feeds and tabs, characters
// that change the direction of text, tag characters, zero-width and other format
// characters, variation selectors, blank letters, private and unassigned characters, and
// bytes that are not UTF-8. Spaces and backslashes stay as they are.
func Escape(text string) string {
	if !strings.ContainsFunc(text, hidden) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// EscapeLine is [Escape] for a text that is shown on one line. It escapes line feeds and
// tabs too.
func EscapeLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(Escape(text))
}

// blank has the characters without a visible glyph that [unicode.IsGraphic] accepts: the
// combining grapheme joiner, the Hangul fillers, the Khmer inherent vowels, the Mongolian
// free variation selectors and the Braille blank.
const blank = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"

// hidden reports whether a character cannot be seen, or changes how others are seen.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == utf8.RuneError:
		return false
	case strings.ContainsRune(blank, r):
		return true
	case unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	}
	return !unicode.IsGraphic(r)
}
