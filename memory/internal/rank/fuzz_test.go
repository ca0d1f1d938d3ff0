package rank_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

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
		if len(terms) > len(text) {
			t.Errorf("%d terms of %d bytes", len(terms), len(text))
		}
		for _, term := range terms {
			if term == "" || len(term) > rank.MaxTerm || !utf8.ValidString(term) && utf8.ValidString(text) ||
				strings.ContainsFunc(term, unicode.IsSpace) || strings.ContainsAny(term, "\x00\"'*()") {
				t.Errorf("%q has the term %q", text, term)
			}
		}
		if again := rank.Terms(text); !slices.Equal(again, terms) {
			t.Errorf("%q has first %q, then %q", text, terms, again)
		}
		if twice := rank.Terms(text + "\n" + text); utf8.ValidString(text) && !slices.Equal(twice, append(slices.Clone(terms), terms...)) {
			t.Errorf("%q has %q, and twice it has %q", text, terms, twice)
		}
	})
}
