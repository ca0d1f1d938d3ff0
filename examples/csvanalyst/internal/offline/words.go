package offline

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A word of a question. A quoted text is one word, and a mark such as "?" is a word, too.
type word struct {
	text   string
	lower  string
	stem   string
	quoted bool
	mark   bool // punctuation
	column int  // the number of the column that it names, from 1
	value  int  // the number of the value that it belongs to, from 1, in question.found
	used   bool // a rule has understood it
}

var pieces = regexp.MustCompile(`"([^"]*)"|“([^”]*)”|„([^“”]*)[“”]|(?:^|\s)'([^']+)'(?:[^\p{L}]|$)|[<>=!]+|[-+]?[$€£¥]?\d[\w.,:/-]*[%$€£¥]?|[^\s,;:!?()"“”„<>=]+|[,;!?]`)

// split cuts a question into words.
func split(text string) []word {
	var out []word
	for _, m := range pieces.FindAllStringSubmatch(text, -1) {
		if quoted := m[1] + m[2] + m[3] + m[4]; quoted != "" {
			out = append(out, word{text: quoted, lower: strings.ToLower(quoted), stem: stem(quoted), quoted: true})
			continue
		}
		whole := strings.TrimSpace(m[0])
		text := strings.TrimRight(whole, ".,:/-'’")
		for _, suffix := range []string{"'s", "’s"} {
			text = strings.TrimSuffix(text, suffix)
		}
		if text != "" && !strings.Contains(",;!?", text) {
			out = append(out, word{text: text, lower: strings.ToLower(text), stem: stem(text)})
		}
		if last := whole[len(whole)-1:]; strings.Contains(",;!?.", last) {
			out = append(out, word{text: last, lower: last, stem: last, mark: true, used: true})
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
	case strings.HasSuffix(s, "lves") && len(s) > 5:
		return s[:len(s)-3] + "f"
	case len(s) > 4 && slices.ContainsFunc([]string{"ches", "shes", "sses", "xes", "zes"}, func(end string) bool { return strings.HasSuffix(s, end) }):
		return s[:len(s)-2]
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && len(s) > 3:
		return s[:len(s)-1]
	}
	return s
}

// stems returns the stems of the words of a name, also of "unit_price" and "unitPrice".
func stems(name string) (out []string) {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(before) {
			b.WriteByte(' ')
		}
		if before = r; !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	for _, w := range strings.Fields(b.String()) {
		out = append(out, stem(w))
	}
	return out
}

// number reads a number of a question: 1,000 and 1k are a thousand. A number with a sign of a currency is money.
func number(text string) (plain string, money, ok bool) {
	bare := strings.Trim(text, "$€£¥")
	money = bare != text
	if !thousands.MatchString(bare) {
		return "", false, false
	}
	bare = strings.ReplaceAll(strings.ToLower(bare), ",", "")
	factor := 1.0
	if short, cut := strings.CutSuffix(bare, "k"); cut {
		bare, factor = short, 1000
	}
	f, err := strconv.ParseFloat(bare, 64)
	return strconv.FormatFloat(f*factor, 'f', -1, 64), money, err == nil
}

var thousands = regexp.MustCompile(`^[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?[kK]?$`)

// set returns the words of a text.
func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// phrase returns the number of words of a text, if it stands at i and no rule has understood it, or else 0.
func phrase(words []word, i int, text string) int {
	parts := strings.Fields(text)
	if i < 0 || i+len(parts) > len(words) {
		return 0
	}
	for j, p := range parts {
		if w := words[i+j]; w.quoted || w.used || w.column > 0 || w.value > 0 || w.lower != p {
			return 0
		}
	}
	return len(parts)
}

// find returns the longest of the phrases that stands at i, and its number of words.
func find[T any](words []word, i int, phrases map[string]T) (meaning T, n int) {
	for text, m := range phrases {
		if k := phrase(words, i, text); k > n {
			meaning, n = m, k
		}
	}
	return meaning, n
}

// use marks words as understood.
func use(words []word) {
	for i := range words {
		words[i].used = true
	}
}
