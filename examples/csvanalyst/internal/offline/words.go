package offline

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// A word of a question. Of a quoted text, all of it is one word.
type word struct {
	text   string
	stem   string
	quoted bool
	column int  // the column that it names, from 1
	used   bool // something else has made sense of it
}

var pieces = regexp.MustCompile(`"([^"]*)"|“([^”]*)”|'([^']+)'(?:\W|$)|[<>=!]+|[-+]?\d[\w.,:/-]*|[^\s,;:!?()"“”<>=]+`)

// split cuts a question into words.
func split(question string) []word {
	var out []word
	for _, m := range pieces.FindAllStringSubmatch(question, -1) {
		if quoted := m[1] + m[2] + m[3]; quoted != "" {
			out = append(out, word{text: quoted, stem: stem(quoted), quoted: true})
			continue
		}
		text := strings.TrimRight(m[0], ".,:/-'’")
		text = strings.TrimSuffix(strings.TrimSuffix(text, "'s"), "’s")
		if text != "" {
			out = append(out, word{text: text, stem: stem(text)})
		}
	}
	return out
}

// stem makes one of singular and plural, badly.
func stem(s string) string {
	s = strings.ToLower(s)
	switch {
	case strings.HasSuffix(s, "ies") && len(s) > 4:
		return s[:len(s)-3] + "y"
	case strings.HasSuffix(s, "s") && !strings.HasSuffix(s, "ss") && len(s) > 3:
		return s[:len(s)-1]
	}
	return s
}

// stems are those of the words of a name: of "unit_price" and "unitPrice", too.
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

// mark finds the columns that a question names, longer names first.
func mark(words []word, columns []column) (named int) {
	for length := 6; length > 0; length-- {
		for c, col := range columns {
			parts := stems(col.Name)
			if len(parts) != length {
				continue
			}
			for i := 0; i+length <= len(words); i++ {
				if same(words[i:i+length], parts) {
					named++
					for j := range parts {
						words[i+j].column = c + 1
					}
				}
			}
		}
	}
	// "unit_price" as it is written is one word of the question.
	for i, w := range words {
		for c, col := range columns {
			if w.column == 0 && strings.EqualFold(w.text, col.Name) {
				words[i].column = c + 1
				named++
			}
		}
	}
	return named
}

func same(words []word, parts []string) bool {
	for i, p := range parts {
		if words[i].column != 0 || words[i].stem != p {
			return false
		}
	}
	return true
}

// number reads a number of a question: 1,000 is a thousand, and so is 1k.
func number(text string) (string, bool) {
	plain := strings.ToLower(strings.ReplaceAll(strings.Trim(text, "$€£%"), ",", ""))
	factor := 1.0
	if short, ok := strings.CutSuffix(plain, "k"); ok {
		plain, factor = short, 1000
	}
	f, err := strconv.ParseFloat(plain, 64)
	if err != nil || plain == "inf" || plain == "nan" {
		return "", false
	}
	return strconv.FormatFloat(f*factor, 'f', -1, 64), true
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// phrase reports whether words from i on are those of a text, and how many they are.
func phrase(words []word, i int, text string) int {
	parts := strings.Fields(text)
	if i+len(parts) > len(words) {
		return 0
	}
	for j, p := range parts {
		if w := words[i+j]; w.quoted || strings.ToLower(w.text) != p {
			return 0
		}
	}
	return len(parts)
}
