package offline

import (
	"encoding/json"
	"slices"
	"strings"
)

// A column and a file are what the prompt says of them.
type (
	column struct {
		Name     string   `json:"name"`
		Type     string   `json:"type"`
		Empty    int64    `json:"empty"`
		Unique   bool     `json:"unique"`
		Currency string   `json:"currency"`
		Values   []string `json:"values"`
		From     string   `json:"from"`
		To       string   `json:"to"`

		// key has the stems of the name of the rows, if the column identifies them: "employee" of Employee ID.
		key []string
	}
	file struct {
		ID       string   `json:"resourceId"`
		Name     string   `json:"name"`
		RowCount *int64   `json:"rowCount"`
		Columns  []column `json:"columns"`
	}
)

func (c column) number() bool { return c.Type == "integer" || c.Type == "real" }
func (c column) dated() bool  { return c.Type == "date" || c.Type == "time" }

// identifier reports whether the numbers of a column are names of rows.
func (c column) identifier() bool {
	if c.key != nil {
		return true
	}
	parts := stems(c.Name)
	last := parts[max(0, len(parts)-1):]
	return slices.ContainsFunc(last, func(s string) bool { return set("id no nr number code zip year")[s] })
}

// year reports whether a column has years as numbers.
func (c column) year() bool { return c.Type == "integer" && slices.Contains(stems(c.Name), "year") }

// money reports whether a column has amounts of money.
func (c column) money() bool {
	return c.number() && (c.Currency != "" || slices.ContainsFunc(stems(c.Name), func(s string) bool { return set("price amount cost revenue turnover")[s] }))
}

// UnmarshalJSON finds the key.
func (f *file) UnmarshalJSON(data []byte) error {
	type plain file
	if err := json.Unmarshal(data, (*plain)(f)); err != nil {
		return err
	}
	for i := range f.Columns {
		c := &f.Columns[i]
		switch name := stems(c.Name); {
		case slices.Equal(name, f.nouns()):
			c.key = name
		case c.Unique && len(name) > 1 && c.identifier() && !c.year():
			c.key = name[:len(name)-1]
		}
	}
	return nil
}

// nouns returns the stems of the name of the file.
func (f file) nouns() []string { return stems(strings.TrimSuffix(strings.ToLower(f.Name), ".csv")) }

// names returns the stems of the names by which a person may call a column: without a unit in parentheses, or the
// code of the currency.
func (c column) names() [][]string {
	out := [][]string{stems(c.Name)}
	if bare, _, found := strings.Cut(c.Name, "("); found && len(stems(bare)) > 0 {
		out = append(out, stems(bare))
	}
	if parts := out[0]; len(parts) > 1 && strings.EqualFold(parts[len(parts)-1], c.Currency) {
		out = append(out, parts[:len(parts)-1])
	}
	return out
}

// mark finds the columns and the values that a question names, long names first, and then columns by one of
// the words of their names.
func (q *question) mark() {
	for length := 8; length > 0; length-- {
		for c, col := range q.file.Columns {
			for _, parts := range col.names() {
				q.markColumn(c+1, parts, length)
			}
		}
		for c, col := range q.file.Columns {
			for _, v := range col.Values {
				q.markValue(c+1, v, length)
			}
		}
	}
	for i := range q.words {
		q.markWhole(i)
	}
	for i := range q.words {
		q.markPart(i)
	}
}

// markWhole finds the name of a column that is one word: "unit_price". The name of the rows is no column: "visits".
func (q *question) markWhole(i int) {
	w := &q.words[i]
	for c, col := range q.file.Columns {
		if w.column == 0 && !w.quoted && strings.EqualFold(w.text, col.Name) {
			w.column = c + 1
		}
	}
	c := q.column(i)
	if c != nil && c.key != nil && slices.Equal(stems(w.text), stems(c.Name)) && (i+1 == len(q.words) || !isNumber(q.words[i+1].text)) {
		w.column = 0
	}
}

// markPart finds a column by one of the words of its name, or by its verb: "started" is about the Start Date.
func (q *question) markPart(i int) {
	w := &q.words[i]
	if w.column > 0 || w.value > 0 || w.used || w.quoted || common(*w) || rowNouns[w.stem] || slices.Contains(q.rowNames(), w.stem) || isGrammar(q.words, i) {
		return
	}
	fewest := 0
	for c, col := range q.file.Columns {
		parts := stems(col.Name)
		fits := slices.Contains(parts, w.stem) || col.dated() && slices.Contains(parts, verb(w.lower))
		if fits && (fewest == 0 || len(parts) < fewest) {
			fewest, w.column = len(parts), c+1
		}
	}
}

// common reports whether a word is one of the language, and no name.
func common(w word) bool { return fillers[w.lower] || changers[w.lower] || negations[w.lower] }

// verb returns the verb of a past form: "started" is about the Start Date.
func verb(text string) string {
	if bare, past := strings.CutSuffix(text, "ed"); past && len(bare) > 2 {
		return bare
	}
	return text
}

// rowNames returns the stems of the words for the rows of the file: its name, and that of its identifiers.
func (q *question) rowNames() []string {
	out := q.file.nouns()
	for _, c := range q.file.Columns {
		out = append(out, c.key...)
	}
	return out
}

// isGrammar reports whether a phrase of the rules begins at i.
func isGrammar(words []word, i int) bool {
	_, a := find(words, i, functions)
	_, b := find(words, i, superlatives)
	_, c := find(words, i, comparisons)
	_, d := find(words, i, verbs)
	return a+b+c+d > 0
}

func (q *question) markColumn(c int, parts []string, length int) {
	if len(parts) != length {
		return
	}
	for i := 0; i+length <= len(q.words); i++ {
		if !slices.ContainsFunc(q.words[i:i+length], func(w word) bool { return w.column > 0 || w.value > 0 || w.mark || w.quoted }) && sameStems(q.words[i:i+length], parts) {
			for j := range length {
				q.words[i+j].column = c
			}
		}
	}
}

func sameStems(words []word, parts []string) bool {
	for i, p := range parts {
		if words[i].stem != p {
			return false
		}
	}
	return true
}

// markValue finds a value. A value that is also a word of the language must be written as it is in the file.
func (q *question) markValue(c int, value string, length int) {
	parts := split(value)
	if len(parts) != length {
		return
	}
	for i := 0; i+length <= len(q.words); i++ {
		if sameValue(q.words[i:i+length], parts, value) {
			if n := q.words[i].value; n > 0 {
				if f := &q.found[n-1]; strings.EqualFold(f.value, value) && f.column != c {
					f.others = append(f.others, q.file.Columns[c-1].Name)
				}
				continue
			}
			q.found = append(q.found, found{column: c, value: value})
			for j := range length {
				q.words[i+j].value = len(q.found)
			}
		}
	}
}

func sameValue(words, parts []word, value string) bool {
	if len(words) == 1 && words[0].quoted {
		return strings.EqualFold(words[0].text, value)
	}
	for i, p := range parts {
		w := words[i]
		same := w.mark == p.mark && (w.lower == p.lower || w.stem == p.stem)
		if !same || w.column > 0 || w.value != words[0].value || w.quoted {
			return false
		}
	}
	w, asWritten := words[0], words[0].text == parts[0].text && words[0].text != words[0].lower
	return len(parts) > 1 || asWritten || !common(w) && len(w.lower) > 2
}

// only returns the only column of a kind, or the empty text. Of amounts, "Amount" comes before its namesake "Amount_2".
func (q *question) only(k kind) string {
	name := ""
	for _, c := range q.file.Columns {
		if k == money && !c.money() || k == dated && !c.dated() || k == anyKind && (!c.number() || c.identifier()) {
			continue
		}
		if name != "" && !strings.HasPrefix(c.Name, name+"_") {
			return ""
		}
		if name == "" {
			name = c.Name
		}
	}
	if name == "" && k == dated {
		return q.yearColumn()
	}
	return name
}

// yearColumn returns the column of years, if the file has no dates.
func (q *question) yearColumn() string {
	name := ""
	for _, c := range q.file.Columns {
		if c.dated() {
			return ""
		}
		if c.year() {
			name = c.Name
		}
	}
	return name
}

// measure returns the column of numbers that a question means if it names none: the only one, or the only one
// of amounts of money.
func (q *question) measure() string {
	if name := q.only(anyKind); name != "" {
		return name
	}
	return q.only(money)
}

// named returns the column of a name.
func (f file) named(name string) column {
	i := slices.IndexFunc(f.Columns, func(c column) bool { return c.Name == name })
	if i < 0 {
		return column{Name: name}
	}
	return f.Columns[i]
}

// example returns the name of a column of numbers for an example: of an amount of money, if there is one.
func (q *question) example() string {
	best := ""
	for _, c := range q.file.Columns {
		if c.number() && !c.identifier() && (best == "" || c.money() && !q.file.named(best).money()) {
			best = c.Name
		}
	}
	if best == "" && len(q.file.Columns) > 0 {
		best = q.file.Columns[0].Name
	}
	return best
}

// exampleGroup returns a column to group by for an example: a text with few values.
func (q *question) exampleGroup() string {
	best := column{}
	for _, c := range q.file.Columns {
		if c.Type == "text" && len(c.Values) > 1 && (best.Name == "" || suits(c) > suits(best)) {
			best = c
		}
	}
	return pick(best.Name, q.example())
}

// suits says how well a column suits an example.
func suits(c column) int {
	if len(c.Values) < 3 || len(c.Values) > 20 || c.Empty > 0 {
		return 1
	}
	return 2
}
