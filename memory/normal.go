package memory

import (
	"crypto/sha256"
	"regexp"
	"strings"
	"unicode"

	"github.com/weft-go/weft/memory/internal/rank"
)

// keyOf returns what is equal for texts that differ in case, spaces, kinds of quotes
// and dashes, the marks at the end of a word, and in how a letter with an accent is put together (NFC and NFD), but in nothing that may matter: "C" and
// "C++" are different, and so are 1.5 and 15.
func keyOf(content string) [16]byte {
	sum := sha256.Sum256([]byte(normal(content)))
	return [16]byte(sum[:16])
}

func normal(content string) string {
	words := strings.Fields(rank.Compose(strings.Map(plain, content)))
	kept := words[:0]
	for _, word := range words {
		word = strings.TrimLeft(strings.TrimRight(word, `.,;:!?"')]`), `"'([`)
		if word != "" {
			kept = append(kept, word)
		}
	}
	if len(kept) == 0 { // nothing but marks: they are what it says
		return strings.TrimSpace(content)
	}
	return strings.Join(kept, " ")
}

// alike are marks that are written in several ways, and the one that stands for them.
var alike = map[rune]rune{
	'“': '"', '”': '"', '„': '"', '«': '"', '»': '"',
	'‘': '\'', '’': '\'', '‚': '\'', '´': '\'', '`': '\'',
	'‐': '-', '‑': '-', '‒': '-', '–': '-', '—': '-', '―': '-', '−': '-',
	'…': '.', '。': '.', '、': ',',
	'\u00ad': -1, '\u200b': -1, '\u200c': -1, '\u200d': -1, '\u2060': -1, '\ufeff': -1, // not to be seen
}

// plain returns what stands for a rune, and a negative number for nothing.
func plain(r rune) rune {
	if other, ok := alike[r]; ok {
		return other
	}
	if r >= '！' && r <= '～' { // full width
		r -= '！' - '!'
	}
	return unicode.ToLower(r)
}

func blank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) == ""
}

var idPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func validID(id string) bool { return idPattern.MatchString(id) }
