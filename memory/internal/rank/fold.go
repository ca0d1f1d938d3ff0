package rank

import "unicode"

// A class says what a rune is to a name.
type class int

const (
	other class = iota
	letter
	digit
	ideograph // of a script without spaces between its words
	emoji
	ignored // as if it were not there
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

// spaceless are the scripts that do not show where a word ends, or add endings to words
// without end.
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

// dropped reports whether a rune changes how a word looks, and not which one it is: hyphens that are not seen,
// accents, the vowels of Hebrew and Arabic.
func dropped(r rune) bool {
	switch {
	case r == 0xAD || r >= 0x200B && r <= 0x200F || r == 0x2060 || r == 0xFEFF,
		r >= 0x300 && r <= 0x36F || r >= 0x591 && r <= 0x5C7,
		r == 0x640 || r >= 0x64B && r <= 0x65F || r == 0x670,
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
	case '’', 'ʼ', '＇':
		return '\''
	case '‐', '‑', '－':
		return '-'
	case '．':
		return '.'
	case '＿':
		return '_'
	case '＠':
		return '@'
	}
	return 0
}

// appendFolded adds a letter or digit in the form that all its forms share.
func appendFolded(b []byte, r rune) []byte {
	if r < 0x80 {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return append(b, byte(r))
	}
	if r >= '！' && r <= '～' { // full width
		return appendFolded(b, r-'！'+'!')
	}
	if d, ok := digitOf(r); ok {
		return append(b, d)
	}
	r = unicode.ToLower(r)
	if plain, ok := plainer[r]; ok {
		return append(b, plain...)
	}
	return append(b, string(r)...)
}

// digitOf returns a decimal digit of any script as one of ASCII. They come in tens.
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

// plainer has what letters are without their diacritics, and without what their script allows to leave out.
var plainer = map[rune]string{}

func init() {
	for plain, letters := range map[string]string{
		"a": "ª", "d": "đð", "h": "ħ", "i": "ı", "l": "ŀł", "o": "ºø", "s": "ſ", "t": "ŧ", "ae": "æ", "oe": "œ", "ss": "ßẞ", "th": "þ",
		"ij": "ĳ", "lj": "ǉ", "nj": "ǌ", "dz": "ǆǳ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ", "ffi": "ﬃ", "ffl": "ﬄ", "st": "ﬅﬆ",
		"σ": "ς", "ا": "ٱ", "ه": "ة", "ي": "ىی", "ك": "ک",
		"0": "⁰₀", "1": "¹₁", "2": "²₂", "3": "³₃", "4": "⁴₄", "5": "⁵₅", "6": "⁶₆", "7": "⁷₇", "8": "⁸₈", "9": "⁹₉",
	} {
		for _, r := range letters {
			plainer[r] = plain
		}
	}
	for c := range bases {
		base := c
		for bases[base] != 0 {
			base = bases[base]
		}
		plainer[c] = string(base)
		if plain, ok := plainer[base]; ok {
			plainer[c] = plain
		}
	}
}

// halfWidth are the kana of half width, from U+FF66 on, in full width.
var halfWidth = []rune("ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u3099\u309A")

// wide returns a kana of half width in full width, and other runes as they are.
func wide(r rune) rune {
	if i := r - 0xFF66; i >= 0 && int(i) < len(halfWidth) {
		return halfWidth[i]
	}
	return r
}
