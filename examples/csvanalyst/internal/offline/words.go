package offline

import (
	"regexp"
	"slices"
	"strconv"
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

var pieces = regexp.MustCompile(`"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|(?:^|\s)'([^']+)'(?:[^\p{L}]|$)|[<>=!]+|[-+]?[$€£¥]?\d[\w.,:/-]*[%$€£¥]?|[^\s,;:!?()"“”„<>=]+|[,;!?]`)

// split cuts a text into words.
func split(text string) []word {
	var out []word
	for _, m := range pieces.FindAllStringSubmatch(text, -1) {
		if quoted := m[1] + m[2] + m[3] + m[4]; quoted != "" {
			w := newWord(quoted)
			w.quoted = true
			out = append(out, w)
			continue
		}
		whole := strings.TrimSpace(m[0])
		text := strings.TrimRight(whole, ".,:/-'’")
		for _, suffix := range []string{"'s", "’s"} {
			text = strings.TrimSuffix(text, suffix)
		}
		if text != "" && !strings.Contains(",;!?", text) {
			out = append(out, newWord(text))
		}
		if last := whole[len(whole)-1:]; strings.Contains(",;!?.", last) {
			out = append(out, newWord(last))
		}
	}
	return out
}

// stem makes one word of singular and plural.
func stem(s string) string {
	s = strings.ToLower(s)
	switch {
	case s == "qty":
		return "quantity"
	case strings.HasSuffix(s, "ies") && len(s) > 4:
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "ie") && len(s) > 4: // so that movie and movies are one word
		return s[:len(s)-2] + "y"
	case len(s) > 4 && slices.ContainsFunc([]string{"ches", "shes", "sses", "xes", "zes"}, func(end string) bool { return strings.HasSuffix(s, end) }):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && len(s) > 3:
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

var numeric = regexp.MustCompile(`^[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?[kK]?$`)

// number reads a number: 1,000 and 1k are a thousand. A number with a sign of a currency is money.
func number(text string) (plain string, money, ok bool) {
	bare := strings.Trim(text, "$€£¥")
	if !numeric.MatchString(bare) {
		return "", false, false
	}
	digits, factor := strings.ReplaceAll(strings.ToLower(bare), ",", ""), 1.0
	if short, cut := strings.CutSuffix(digits, "k"); cut {
		digits, factor = short, 1000
	}
	f, err := strconv.ParseFloat(digits, 64)
	return strconv.FormatFloat(f*factor, 'f', -1, 64), bare != text, err == nil
}

// set returns the words of a text.
func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
