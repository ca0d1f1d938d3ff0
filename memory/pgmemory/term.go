package pgmemory

import (
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// word returns the number of a term in a tenant. It differs between tenants, so a search does not
// read index entries of other tenants.
func word(tenant, term string) int64 { return number("word", tenant, term) }

func words(tenant string, terms []string) []int64 {
	list := make([]int64, len(terms))
	for i, term := range terms {
		list[i] = word(tenant, term)
	}
	return list
}

// A lexicon caches the numbers of words. It is not safe for concurrent use.
type lexicon struct {
	tenant string
	known  map[string]int64
}

func newLexicon(tenant string) *lexicon { return &lexicon{tenant, map[string]int64{}} }

// maxKnown is the maximum number of words in a lexicon. A full lexicon is cleared.
const maxKnown = 100_000

// different returns the distinct numbers of the terms.
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

// array returns the numbers of the distinct terms as an array literal of PostgreSQL.
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

// wordArray returns the array for a single row, with a new lexicon.
func wordArray(tenant string, terms []string) string { return newLexicon(tenant).array(terms) }

var quoting = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// textArray returns texts as an array literal of PostgreSQL.
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
