package rank

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

// A class is the kind of a rune within a name.
type class int

const (
	other class = iota
	letter
	digit
	ideograph // of a script without spaces between its words
	emoji
	ignored // skipped
)

func classOf(r rune) class {
	switch {
	case r < 0x80:
		return ascii[r]
	case dropped(r):
		return ignored
	case unicode.IsDigit(r):
		return digit
	case r >= 0xE00 && unicode.In(r, spaceless...) && !unicode.Is(unicode.P, r):
		return ideograph
	case unicode.In(r, unicode.L, unicode.M, unicode.N):
		return letter
	case r >= 0x2190 && unicode.Is(unicode.So, r): // also arrows, stars, hearts and the letters of flags
		return emoji
	}
	return other
}

// spaceless are the scripts without spaces between words, or with an unlimited number of word endings.
var spaceless = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

var ascii [0x80]class

func init() {
	for r := range ascii {
		switch {
		case 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z':
			ascii[r] = letter
		case '0' <= r && r <= '9':
			ascii[r] = digit
		}
	}
}

// fold normalizes a text: full-width letters become ASCII, half-width kana become full-width, and a
// letter and its accent become one rune (Unicode NFC).
func fold(text string) string { return norm.NFC.String(width.Fold.String(text)) }

// dropped reports whether a rune is removed from a word: invisible hyphens and joiners, accents, the
// vowels of Hebrew and Arabic, and a mark of kana without its kana.
func dropped(r rune) bool {
	switch {
	case r == 0xAD || r >= 0x200B && r <= 0x200F || r == 0x2060 || r == 0xFEFF,
		r >= 0x300 && r <= 0x36F || r >= 0x591 && r <= 0x5C7,
		r == 0x640 || r >= 0x64B && r <= 0x65F || r == 0x670,
		r == 0x3099 || r == 0x309A,
		r >= 0xFE00 && r <= 0xFE0F:
		return true
	}
	return false
}

// plainJoint returns the joint that a rune is or looks like, or 0.
func plainJoint(r rune) rune {
	switch r {
	case '.', '_', '-', '@', ':', ',', '+', '#', '\'':
		return r
	case '’', 'ʼ':
		return '\''
	case '‐', '‑':
		return '-'
	}
	return 0
}

// appendPlain appends a letter or a digit in lower case and without its accents.
func appendPlain(b []byte, r rune) []byte {
	if r < 0x80 {
		return append(b, byte(unicode.ToLower(r)))
	}
	if d, ok := digitOf(r); ok {
		return append(b, d)
	}
	r = unicode.ToLower(r)
	parts := norm.NFKD.PropertiesString(string(r)).Decomposition()
	if parts == nil {
		return appendBase(b, r)
	}
	for _, part := range string(parts) {
		if !dropped(part) && unicode.In(part, unicode.L, unicode.M, unicode.N) {
			b = appendBase(b, unicode.ToLower(part))
		}
	}
	return b
}

// appendBase appends a letter, or its replacement in plainer.
func appendBase(b []byte, r rune) []byte {
	if plain, ok := plainer[r]; ok {
		return append(b, plain...)
	}
	return utf8.AppendRune(b, r)
}

// plainer maps letters that Unicode does not decompose to simpler letters.
var plainer = map[rune]string{
	'æ': "ae", 'đ': "d", 'ð': "d", 'ħ': "h", 'ı': "i", 'ł': "l", 'ø': "o", 'œ': "oe", 'ß': "ss", 'ŧ': "t", 'þ': "th",
	'ς': "σ", 'ٱ': "ا", 'ة': "ه", 'ى': "ي", 'ی': "ي", 'ک': "ك",
}

// digitOf returns the ASCII digit for a decimal digit of any script. In Unicode, the digits of a script are a group of
// ten.
func digitOf(r rune) (byte, bool) {
	if !unicode.IsDigit(r) {
		return 0, false
	}
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + byte((r-rune(t.Lo))%10), true
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return '0' + byte((r-rune(t.Lo))%10), true
		}
	}
	return 0, false
}
