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

// differentWords returns each word once.
func differentWords(tenant string, terms []string) []int64 {
	list := words(tenant, terms)
	slices.Sort(list)
	return slices.Compact(list)
}

// wordArray spells the different words of a row as an array of the database.
func wordArray(tenant string, terms []string) string {
	b := []byte{'{'}
	for i, w := range differentWords(tenant, terms) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, w, 10)
	}
	return string(append(b, '}'))
}

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
