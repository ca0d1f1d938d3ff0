package rank_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/internal/rank"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"Ann likes tea, not coffee.", "ann like tea not coffe"},
		{"The Cafés of Zürich", "cafe zurich"},
		{"Cafe\u0301 Łódź Straße Ærø", "cafe lodz strass aero"},
		{"ΛΌΓΟΣ λόγος", "λογοσ λογοσ"},
		{"2024-05-17, +49 (30) 1234-567", "2024 05 17 2024-05-17 20240517 49 30 1234 567 1234-567 49301234567"},
		{"she works in IT", "work it"},
		{"foo_bar fooBar foo.bar", "foo bar foo_bar foo bar foobar foo bar foo.bar"},
		{"HTTPServer APIs", "http server httpserver api"},
		{"e-mail state-of-the-art UTF-8", "e mail email state art utf 8 utf8"},
		{"v1.2.3 1.5 10:30 1,000 1,2,3 2026-11-21 17.05.2024", "1.2.3 1.2 1.5 10:30 1000 1 2 3 2026 11 21 2026-11-21 17.05.2024 17.05 2024 20261121"},
		{"Ann's don’t we're l'avion", "ann dont l avion"},
		{"C++ C# C", "c++ c# c"},
		{"U.S.A. e.g.", "usa eg"},
		{"ann@example.com", "ann exampl com ann@example.com"},
		{"黑猫", "黑 黑猫 猫"},
		{"カメラ", "カメ メラ"},
		{"I 🍕 love", "🍕 love"},
		{"Ｆｕｌｌ ﬁne ١٢", "full fine 12"},
	} {
		assert.Equal(t, c.want, strings.Join(rank.Terms(c.text), " "), c.text)
	}
}

func TestDistinct(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"b", "a"}, rank.Distinct([]string{"b", "a", "b"}))
}

// The time and the number of terms grow linearly with the length of any text.
func TestTerms_long(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "aB", "a_", "a-b.", "a'", "9,", "A", "é", "猫", "ก้", "+", "a+", "\u0301", "🍕", "x y "} {
		text := strings.Repeat(s, 1<<18/len(s))
		terms := rank.Terms(text)
		assert.LessOrEqual(t, len(terms), len(text), s)
		for _, term := range terms {
			require.LessOrEqual(t, len(term), rank.MaxTerm, s)
		}
	}
}

// meet reports whether two texts have a term in common.
func meet(a, b string) bool {
	terms := rank.Terms(b)
	return slices.ContainsFunc(rank.Terms(a), func(t string) bool { return slices.Contains(terms, t) })
}
