package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word, or a character of a script without spaces, and where it is.
type token struct {
	text       string
	start, end int
	capital    bool
}

// spaceless are the scripts that have no spaces between words.
var spaceless = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

var currency = map[rune]string{'€': "euro", '$': "dollar", '£': "pound", '%': "percent"}

// tokens returns the words of a text in lower case. "I'm" is one, "im", and "l'ami" is two, as is "Ann's".
func tokens(text string) (list []token) {
	var word []byte
	from, upper := -1, false // where the word begins that is open
	closed := func(end int) {
		if from >= 0 {
			list = append(list, token{string(word), from, end, upper})
		}
		word, from = word[:0], -1
	}
	for at, r := range text {
		end := at + utf8.RuneLen(r)
		switch {
		case r == utf8.RuneError:
			closed(at)
		case unicode.In(r, spaceless...):
			closed(at)
			list = append(list, token{string(r), at, end, false})
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if from < 0 {
				from, upper = at, unicode.IsUpper(r)
			}
			word = utf8.AppendRune(word, unicode.ToLower(r))
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Cf, r): // within a word
		case currency[r] != "":
			closed(at)
			list = append(list, token{currency[r], at, end, false})
		case from >= 0 && strings.ContainsRune("'’ʼ", r) && contracted(text[end:]):
		default:
			closed(at)
		}
	}
	closed(len(text))
	return list
}

// contracted reports whether a text begins with what English writes behind an apostrophe.
func contracted(text string) bool {
	word := strings.ToLower(text[:min(len(text), 3)])
	for _, ending := range []string{"ve", "re", "ll", "m", "d", "t"} {
		if rest, ok := strings.CutPrefix(word, ending); ok {
			next, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLetter(next)
		}
	}
	return false
}

// A span is a part of a text.
type span struct{ from, to int }

func (s span) meets(o span) bool     { return s.from < o.to && o.from < s.to }
func (s span) of(text string) string { return text[s.from:s.to] }

// sentences returns the sentences of a text, each with the mark that ends it.
func sentences(text string) (list []span) {
	from := 0
	for at, r := range text {
		end := at + utf8.RuneLen(r)
		if r == utf8.RuneError || end <= from {
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[end:])
		over := false
		switch r {
		case '\n', '。', '！', '？', '؟', '｡':
			over = true
		case '.', '!', '?', '…':
			over = end == len(text) || unicode.IsSpace(next) || strings.ContainsRune(`"'”’)»`, next)
		case ';', '\u037e':
			over = greek(text[from:at])
		}
		if over {
			list, from = append(list, span{from, end}), end
		}
	}
	if from < len(text) {
		list = append(list, span{from, len(text)})
	}
	return list
}

// asks reports whether a sentence ends as a question does.
func asks(sentence string) bool {
	sentence = strings.TrimRight(sentence, " \t\r\n\"'”’)»!.")
	r, _ := utf8.DecodeLastRuneInString(sentence)
	return r != utf8.RuneError && strings.ContainsRune("?？؟\u037e", r) || r == ';' && greek(sentence)
}

func greek(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Greek, r) })
}
