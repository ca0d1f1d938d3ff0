package pgmemory

import (
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// word is the number that stands for a term of a tenant. Nobody's search goes through what others
// have under the same word, as tenants never mix.
func word(tenant, term string) int64 { return number("word", tenant, term) }

func words(tenant string, terms []string) []int64 {
	list := make([]int64, len(terms))
	for i, term := range terms {
		list[i] = word(tenant, term)
	}
	return list
}

// A lexicon knows the numbers of words that come again and again. One goroutine uses it at a time.
type lexicon struct {
	tenant string
	known  map[string]int64
}

func newLexicon(tenant string) *lexicon { return &lexicon{tenant, map[string]int64{}} }

// maxKnown is how many words a lexicon knows, before it begins anew.
const maxKnown = 100_000

// different returns the number of each word once.
func (l *lexicon) different(terms []string) []int64 {
	list := make([]int64, len(terms))
	for i, term := range terms {
		n, ok := l.known[term]
		if !ok {
			if len(l.known) >= maxKnown {
				clear(l.known)
			}
			n = word(l.tenant, term)
			l.known[term] = n
		}
		list[i] = n
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// array spells the different words of a row as an array of the database.
func (l *lexicon) array(terms []string) string {
	b := []byte{'{'}
	for i, w := range l.different(terms) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, w, 10)
	}
	return string(append(b, '}'))
}

// wordArray is an array of a row alone.
func wordArray(tenant string, terms []string) string { return newLexicon(tenant).array(terms) }

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// textArray spells texts as an array of the database.
func textArray(texts []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, text := range texts {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = quoting.WriteString(&b, text)
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
