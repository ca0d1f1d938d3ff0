package offline

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A token is a word or a phrase of a question with its meaning.
type token struct {
	meaning
	text   string
	before string  // the filler directly before it, if there is one
	column *column // that it names, or whose value it is
	noun   bool    // the name of a column is also a word for the rows
	value  string  // of a column; a number; or a period
	sign   string  // of a currency, in a number
	plural bool
}

// boolean reports whether a token names a column of yes and no.
func (t token) boolean() bool { return t.kind == columnName && t.column.Type == csvdb.Boolean }

// A lexer cuts questions about a file into tokens.
type lexer struct {
	file  *file
	names map[string][]name // of columns, of values and of the file, by the stems of their first words
}

// A name is a name that a question may have: of a column, a value, the rows or the file.
type name struct {
	token
	words []word
}

func newLexer(f *file) *lexer {
	l := &lexer{file: f, names: map[string][]name{}}
	for i := range f.Columns {
		c := &f.Columns[i]
		for _, text := range c.names() {
			l.add(token{meaning: meaning{kind: columnName}, column: c}, text)
		}
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		if c.Type == csvdb.Boolean {
			continue // in a question, "no" means absence, and not the value of a column
		}
		for _, v := range c.Values {
			l.add(token{meaning: meaning{kind: valueName}, column: c, value: v}, v)
		}
	}
	for noun := range f.nouns() {
		l.add(token{meaning: meaning{kind: rowNoun}}, noun)
	}
	l.add(token{meaning: meaning{kind: filler}}, f.Name)
	return l
}

func (l *lexer) add(t token, text string) {
	if words := split(text); len(words) > 0 {
		l.names[words[0].stem] = append(l.names[words[0].stem], name{t, words})
	}
}

// tokens returns the tokens of a text without its fillers.
func (l *lexer) tokens(text string) (out []token) {
	words, before := split(text), ""
	for i := 0; i < len(words); {
		t, n := l.tokenAt(words, i)
		i += n
		switch {
		case t.kind != filler:
			t.before, before = before, ""
			out = append(out, t)
		case t.op == "": // no article
			before = strings.ToLower(t.text)
		}
	}
	return out
}

// tokenAt returns the longest token at i, and its number of words. Among tokens of equal length it prefers a name,
// then a phrase, a number and a period.
func (l *lexer) tokenAt(words []word, i int) (best token, n int) {
	if words[i].quoted {
		return token{meaning: meaning{kind: quotation}, text: words[i].text}, 1
	}
	for _, read := range []func([]word, int) (token, int){l.nameAt, phraseAt, numberAt, periodAt} {
		if t, k := read(words, i); k > n {
			best, n = t, k
		}
	}
	if n == 0 {
		return token{text: words[i].text}, 1
	}
	best.text, best.plural = written(words[i:i+n]), words[i+n-1].lower != words[i+n-1].stem
	return best, n
}

// nameAt finds the longest name at i. A value is a clash if it is also a value of another column, a word for the rows
// or a phrase of the lexicon. In a question, such a value needs its column and quotation marks.
func (l *lexer) nameAt(words []word, i int) (best token, n int) {
	for _, c := range l.names[words[i].stem] {
		k := len(c.words)
		same := i+k <= len(words) && slices.EqualFunc(c.words, words[i:min(i+k, len(words))], func(a, b word) bool { return a.stem == b.stem && !b.quoted })
		switch {
		case !same || k < n:
		case k > n:
			best, n = c.token, k
		case best.kind == columnName:
			best.noun = best.noun || c.kind == rowNoun
		case c.kind == rowNoun, c.column != best.column, !strings.EqualFold(c.value, best.value):
			best.kind = clash
		}
	}
	if _, common := lexicon[strings.ToLower(written(words[i:i+n]))]; best.kind == valueName && common {
		best.kind = clash
	}
	return best, n
}

// phraseAt finds the longest phrase of the lexicon.
func phraseAt(words []word, i int) (token, int) {
	for n := min(3, len(words)-i); n > 0; n-- {
		if m, ok := lexicon[strings.ToLower(written(words[i:i+n]))]; ok {
			return token{meaning: m}, n
		}
	}
	return token{}, 0
}

// numberAt reads a number.
func numberAt(words []word, i int) (token, int) {
	plain, sign, ok := number(words[i].text)
	if !ok {
		return token{}, 0
	}
	return token{meaning: meaning{kind: numeral}, value: plain, sign: sign}, 1
}

// periodForms are the ways to write a day or a month, and their forms in the tools: 2025-03-31, 2025-03, or --03 for
// March of every year.
var periodForms = map[string]string{
	time.DateOnly: time.DateOnly, "2 January 2006": time.DateOnly, "January 2006": "2006-01", "January": "--01",
}

var isYear = regexp.MustCompile(`^(1[0-9]|20)\d\d$`)

// periodAt reads the longest period at i.
func periodAt(words []word, i int) (token, int) {
	for n := min(3, len(words)-i); n > 0; n-- {
		for layout, form := range periodForms {
			if at, err := time.Parse(layout, written(words[i:i+n])); err == nil {
				return token{meaning: meaning{kind: period}, value: at.Format(form)}, n
			}
		}
	}
	return token{}, 0
}

func written(words []word) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return strings.Join(out, " ")
}
