package offline

import (
	"regexp"
	"strings"
	"unicode"
)

// A word is a word of a question, a quoted text, or a mark such as "?".
type word struct {
	text, lower, stem string
	quoted            bool
}

func newWord(text string) word {
	return word{text: text, lower: strings.ToLower(text), stem: stem(text)}
}

var pieces = regexp.MustCompile(`"([^"]*)"|“([^”]*)”|[-+]?[$€£¥]?\d[\w.,:/-]*[%$€£¥]?|[^\s,;:!?()"“”]+|[,;!?]`)

// split cuts a text into words.
func split(text string) []word {
	var out []word
	for _, m := range pieces.FindAllStringSubmatch(text, -1) {
		if quoted := m[1] + m[2]; quoted != "" {
			w := newWord(quoted)
			w.quoted = true
			out = append(out, w)
			continue
		}
		text := strings.TrimRight(m[0], ".,:/-'’")
		for _, suffix := range []string{"'s", "’s"} {
			text = strings.TrimSuffix(text, suffix)
		}
		if text != "" && !strings.Contains(",;!?", text) {
			out = append(out, newWord(text))
		}
		if last := m[0][len(m[0])-1:]; strings.Contains(",;!?.", last) {
			out = append(out, newWord(last))
		}
	}
	return out
}

// stem returns a word in lower case, without the s of a plural.
func stem(s string) string {
	s = strings.ToLower(s)
	if strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && len(s) > 3 {
		return s[:len(s)-1]
	}
	return s
}

// stems returns the stems of the words of a name, also of "unit_price" and "unitPrice".
func stems(name string) (out []string) {
	spaced := camel.ReplaceAllString(name, "$1 $2")
	for _, w := range strings.FieldsFunc(spaced, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		out = append(out, stem(w))
	}
	return out
}

var camel = regexp.MustCompile(`(\p{Ll})(\p{Lu})`)

var numeric = regexp.MustCompile(`^[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?$`)

// number reads a number such as 1,000, and the sign of a currency.
func number(text string) (plain, sign string, ok bool) {
	bare := strings.Trim(text, "$€£¥")
	return strings.ReplaceAll(bare, ",", ""), strings.Replace(text, bare, "", 1), numeric.MatchString(bare)
}

// set returns the set of the words of a text.
func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
