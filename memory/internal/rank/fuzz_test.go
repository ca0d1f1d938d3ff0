package rank_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/internal/rank"
)

func FuzzTerms(f *testing.F) {
	for _, seed := range []string{
		"", "Ann's e-mail: ann@example.com", "foo_bar fooBar HTTPServerAPIs v1.2.3 1,000", "黑猫 カメラ ภาษาไทย 한국어", "C++ C# F#x a+b",
		"don't l'avion O'Brien's", "U.S.A. e.g. 10:30 2026-11-21", "\xff\xfe a\xffb", "ﬁ ß İ ǅ ́", "______ ----- a__b--c..d", "🍕👍🏽",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		terms := rank.Terms(text)
		assert.LessOrEqual(t, len(terms), len(text), "%d terms of %d bytes", len(terms), len(text))
		for _, term := range terms {
			require.NotEmpty(t, term, "%q has the term %q", text, term)
			assert.LessOrEqual(t, len(term), rank.MaxTerm, "%q has the term %q", text, term)
			if !utf8.ValidString(term) {
				assert.False(t, utf8.ValidString(text), "%q has the term %q", text, term)
			}
			assert.False(t, strings.ContainsFunc(term, unicode.IsSpace), "%q has the term %q", text, term)
			assert.False(t, strings.ContainsAny(term, "\x00\"'*()"), "%q has the term %q", text, term)
		}
		again := rank.Terms(text)
		assert.Equal(t, terms, again, "%q has first %q, then %q", text, terms, again)
		if twice := rank.Terms(text + "\n" + text); utf8.ValidString(text) {
			assert.Equal(t, append(slices.Clone(terms), terms...), twice, "%q has %q, and twice it has %q", text, terms, twice)
		}
	})
}
