package offline

import (
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
)

// A token is a word or a phrase of a question with its meaning.
type token struct {
	meaning
	text   string
	before string    // the filler or "and" directly before it, if there is one
	column *column   // that it names, or whose value it is
	value  string    // of a column; a number; or a period, also of a number that may be a year
	others []*column // further columns that have this value
	money  bool      // a number with a sign of a currency
	plural bool
	part   bool   // the name of a column in part
	beside bool   // a value only beside its column
	there  bool   // "there" is behind it
	doubt  string // why it may mean two things
}

// A lexer cuts questions about a file into tokens.
type lexer struct {
	file   *file
	names  map[string][]name // of columns, of values and of the file, by the stems of their first words
	nouns  map[string]bool
	values map[string]bool // that are words of the lexicon
}

// A name is a name that a question may have: of a column, a value or the file.
type name struct {
	token
	words []word
}

func newLexer(f *file) *lexer {
	l := &lexer{file: f, names: map[string][]name{}, nouns: f.nouns(), values: map[string]bool{}}
	for i := range f.Columns {
		c := &f.Columns[i]
		for _, text := range c.names() {
			l.add(token{meaning: meaning{kind: columnName}, column: c}, text)
		}
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		values := c.Values
		if c.Type == csvdb.Boolean { // "no" is a negation
			values = []string{"yes", "true", "false"}
		}
		for _, v := range values {
			l.add(token{meaning: meaning{kind: valueName}, column: c, value: v}, v)
			_, common := lexicon[strings.ToLower(v)]
			l.values[strings.ToLower(v)] = common && len(v) > 2
		}
	}
	l.add(token{meaning: meaning{kind: rowNoun}}, f.Name)
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
		t.plural = words[i+n-1].lower != words[i+n-1].stem
		l.doubt(&t, i == 0, before, out)
		lower := strings.ToLower(t.text)
		switch {
		case t.kind != filler:
			t.before, before = before, ""
			out = append(out, t)
		case !articles[t.text] && !(lower == "of" && set("each every")[before]):
			before = lower
		}
		switch {
		case t.kind == joint:
			before = t.op
		case t.kind == filler && lower == "there" && len(out) > 0:
			out[len(out)-1].there = true
		}
		i += n
	}
	return out
}

// doubt notes what is to be refused in a token behind others: a word of the lexicon that is also a value, "not only",
// and "by 2024". The first word of a text, such as "A", is a value only beside its column.
func (l *lexer) doubt(t *token, first bool, before string, others []token) {
	lower := strings.ToLower(t.text)
	_, common := lexicon[lower]
	t.beside = first && common || t.text == "I" || set("yes true")[lower]
	if named := t.kind == valueName || t.kind == columnName || t.kind == quotation; !named && l.values[lower] || changes(lower, before, others) {
		t.meaning = meaning{kind: changer}
	}
	if limits[t.kind] && set("by about")[before] {
		t.doubt = "I do not know what \"" + before + " " + t.text + "\" means."
	}
}

// changes reports whether a filler directly behind a token changes its meaning: "not only", "from 2024 on".
func changes(text, before string, tokens []token) bool {
	if len(tokens) == 0 || before != "" {
		return false
	}
	last := tokens[len(tokens)-1].kind
	return last == negation && set("only just")[text] || (last == period || last == numeral) && text == "on"
}

// tokenAt returns the longest token at i, and its number of words. Of equally long ones it is the first.
func (l *lexer) tokenAt(words []word, i int) (best token, n int) {
	for _, read := range []func([]word, int) (token, int){l.nameAt, phraseAt, numberAt, periodAt, l.nounAt, l.partAt, l.costAt, l.verbAt} {
		if t, k := read(words, i); k > n {
			best, n = t, k
		}
	}
	if n == 0 {
		best, n = token{text: words[i].text}, 1
		if words[i].quoted {
			best.kind = quotation
		}
	}
	return best, n
}

// nameAt finds the name of a column, of a value or of the file.
func (l *lexer) nameAt(words []word, i int) (best token, n int) {
	for _, c := range l.names[words[i].stem] {
		k := len(c.words)
		if k < n || i+k > len(words) || !c.is(words[i:i+k]) {
			continue
		}
		switch {
		case k > n:
			best, n = c.token, k
			best.text = written(words[i : i+k])
		case best.kind == valueName && c.kind == valueName && c.column != best.column:
			best.others = append(slices.Clip(best.others), c.column)
		}
	}
	return best, n
}

// is reports whether words are the name. A value that is also a word of the language must be written as in the file.
func (n name) is(words []word) bool {
	for i, w := range n.words {
		if words[i].quoted || words[i].stem != w.stem {
			return false
		}
	}
	w := words[0]
	_, common := lexicon[w.lower]
	return n.kind != valueName || len(words) > 1 || w.text == n.words[0].text && w.text != w.lower || len(w.lower) > 2 && !common
}

// phraseAt finds the longest phrase of the lexicon.
func phraseAt(words []word, i int) (token, int) {
	for n := min(6, len(words)-i); n > 0; n-- {
		text := strings.ToLower(written(words[i : i+n]))
		if m, ok := lexicon[text]; ok && !slices.ContainsFunc(words[i:i+n], func(w word) bool { return w.quoted }) {
			return token{meaning: m, text: written(words[i : i+n])}, n
		}
	}
	return token{}, 0
}

// numberAt reads a number.
func numberAt(words []word, i int) (token, int) {
	plain, money, ok := number(words[i].text)
	if !ok || words[i].quoted {
		return token{}, 0
	}
	return token{meaning: meaning{kind: numeral}, text: words[i].text, value: plain, money: money}, 1
}

// nounAt finds a word for the rows.
func (l *lexer) nounAt(words []word, i int) (token, int) {
	w := words[i]
	if w.quoted || !fileNouns[w.stem] && !l.nouns[w.stem] {
		return token{}, 0
	}
	return token{meaning: meaning{kind: rowNoun}, text: w.text}, 1
}

// partAt finds a column by one of the words of its name, or by its verb: "started" is about the Start Date. Of
// several columns it is the one with the shortest name.
func (l *lexer) partAt(words []word, i int) (token, int) {
	w := words[i]
	t := token{meaning: meaning{kind: columnName}, text: w.text}
	fewest := 0
	for j := range l.file.Columns {
		c := &l.file.Columns[j]
		parts := stems(c.Name)
		fits := slices.Contains(parts, w.stem) || c.dated() && len(w.lower) > 4 && slices.Contains(parts, strings.TrimSuffix(w.lower, "ed"))
		switch {
		case !fits || fewest > 0 && len(parts) > fewest:
		case len(parts) == fewest:
			t.doubt = "I do not know which column \"" + w.text + "\" means: " + plain(t.column.Name) + " or " + plain(c.Name) + "?"
		default:
			fewest, t.column, t.doubt, t.part = len(parts), c, "", len(parts) > 1
		}
	}
	if t.column == nil || w.quoted {
		return token{}, 0
	}
	return t, 1
}

// costAt reads a word such as "cost" or "spent" as the only column of money.
func (l *lexer) costAt(words []word, i int) (token, int) {
	c, w := l.file.only(money), words[i]
	if w.quoted || c == nil {
		return token{}, 0
	}
	is := func(names map[string]bool) bool {
		return slices.ContainsFunc(stems(c.Name), func(s string) bool { return names[s] })
	}
	if !costs[w.lower] && (!spendings[w.lower] || is(earned)) && (!incomes[w.lower] || is(spent)) {
		return token{}, 0
	}
	return token{meaning: meaning{kind: columnName}, text: w.text, column: c}, 1
}

// verbAt reads the verb of a word for the rows as that word: "booked" in bookings.csv.
func (l *lexer) verbAt(words []word, i int) (token, int) {
	w := words[i]
	for noun, is := range l.nouns {
		if is && !w.quoted && len(w.lower) > 3 && root(w.stem) == root(noun) {
			return token{meaning: meaning{kind: rowNoun}, text: w.text}, 1
		}
	}
	return token{}, 0
}

// root cuts the ending of a verb off a word.
func root(word string) string {
	for _, end := range []string{"ing", "ed"} {
		word = strings.TrimSuffix(word, end)
	}
	return strings.TrimSuffix(word, "e")
}

func written(words []word) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return strings.Join(out, " ")
}
