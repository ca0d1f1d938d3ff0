package input

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// FactKey returns a hash that is equal for facts that may have the same text: they differ only in case,
// white space, kinds of quotes and dashes, marks at the ends of words, and Unicode composition. It narrows
// a search; [SameText] decides.
func FactKey(content string) [16]byte {
	words := strings.Fields(norm.NFC.String(strings.Map(plain, content)))
	kept := words[:0]
	for _, word := range words {
		word = strings.TrimLeft(strings.TrimRight(word, `.,;:!?"')]`), `"'([`)
		if word != "" {
			kept = append(kept, word)
		}
	}
	text := strings.Join(kept, " ")
	if len(kept) == 0 { // the text has only marks, so keep them
		text = strings.TrimSpace(content)
	}
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16])
}

// SameText reports whether two contents look the same to a reader. They may differ in Unicode composition
// (NFC), in the amount of white space, in the form of quotation marks, apostrophes and dashes, in invisible
// characters, and in one full stop at the end. Differences in letter case and all other marks are
// significant.
func SameText(a, b string) bool { return a == b || visible(a) == visible(b) }

func visible(content string) string {
	text := strings.Join(strings.Fields(norm.NFC.String(strings.Map(alikeOf, content))), " ")
	if before, ok := strings.CutSuffix(text, "."); ok && before != "" && !strings.HasSuffix(before, ".") {
		return before
	}
	return text
}

// alike maps characters with several forms to one of them. A negative number removes the character.
var alike = map[rune]rune{
	'“': '"', '”': '"', '„': '"', '«': '"', '»': '"',
	'‘': '\'', '’': '\'', '‚': '\'',
	'‐': '-', '‑': '-', '‒': '-', '–': '-', '—': '-', '―': '-', '−': '-',
	'。':      '.',
	'\u00ad': -1, '\u200b': -1, '\u2060': -1, '\ufeff': -1,
}

func alikeOf(r rune) rune {
	if other, ok := alike[r]; ok {
		return other
	}
	return r
}

// plain returns the rune that represents a rune in a key, or a negative number to remove it.
func plain(r rune) rune {
	switch r {
	case '´', '`':
		return '\''
	case '…':
		return '.'
	case '、':
		return ','
	case '\u200c', '\u200d':
		return -1
	}
	if r = alikeOf(r); r >= '！' && r <= '～' { // full width
		r -= '！' - '!'
	}
	return unicode.ToLower(r)
}

// Blank reports whether a text has only white space and invisible characters.
func Blank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) == ""
}

var idPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// ValidID reports whether an ID is a UUID in lower case.
func ValidID(id string) bool { return idPattern.MatchString(id) }
