package rank_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/memory/internal/rank"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"Ann likes tea, not coffee.", "ann like tea not coffee"},
		{"The Cafés of Zürich", "cafe zurich"},
		{"Cafe\u0301 Łódź Straße Ærø", "cafe lodz strass aero"},
		{"ΛΌΓΟΣ λόγος", "λογοσ λογοσ"},
		{"2024-05-17, +49 (30) 1234-567", "2024 05 17 2024-05-17 20240517 49 30 1234 567 1234-567 49301234567"},
		{"she works in IT", "work it"},
		{"foo_bar fooBar foo.bar", "foo bar foo_bar foo bar foobar foo bar foo.bar"},
		{"HTTPServer APIs", "http server httpserv api"},
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
		if got := strings.Join(rank.Terms(c.text), " "); got != c.want {
			t.Errorf("Terms(%q)\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestDistinct(t *testing.T) {
	t.Parallel()
	if got := rank.Distinct([]string{"b", "a", "b"}); !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("got %q", got)
	}
}

// Time and terms grow with the text and no faster, whatever it is made of.
func TestTerms_long(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a", "aB", "a_", "a-b.", "a'", "9,", "A", "é", "猫", "ก้", "+", "a+", "\u0301", "🍕", "x y "} {
		text := strings.Repeat(s, 1<<18/len(s))
		terms := rank.Terms(text)
		if len(terms) > len(text) {
			t.Errorf("%q: %d terms of %d bytes", s, len(terms), len(text))
		}
		for _, term := range terms {
			if len(term) > rank.MaxTerm {
				t.Fatalf("%q: a term of %d bytes", s, len(term))
			}
		}
	}
}

// meet reports whether two texts have a term in common.
func meet(a, b string) bool {
	terms := rank.Terms(b)
	return slices.ContainsFunc(rank.Terms(a), func(t string) bool { return slices.Contains(terms, t) })
}

func TestTerms_stem(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"study studies studied studying", "run runs running ran", "make makes making made", "use uses used using", "plan plans planned planning",
		"plane planes planing", "change changes changed changing", "house houses housed housing", "open opens opened opening",
		"delete deletes deleted deleting", "control controls controlled controlling", "install installs installed installing", "pass passes passed passing",
		"box boxes", "match matches matched", "cache caches cached caching", "virus viruses", "database databases", "movie movies", "city cities",
		"embed embeds embedded embedding", "agree agrees agreed agreeing", "child children", "write writes wrote written writing", "buy buys bought buying",
		"add adds added adding", "need needs needed", "query queries queried querying", "hop hops hopped hopping", "hope hopes hoped hoping",
		"analyse analyses analysed", "fix fixes fixed fixing", "play plays played playing", "die dies died", "potato potatoes", "café cafés",
	} {
		if got := rank.Distinct(rank.Terms(words)); len(got) != 1 {
			t.Errorf("%s: got %q", words, got)
		}
	}
	for _, words := range []string{"car care", "hop hope", "plan plane", "news new", "thing think", "king kin", "bus bush", "red read", "string strip", "C C++ C#"} {
		if got := rank.Distinct(rank.Terms(words)); len(got) != len(strings.Fields(words)) {
			t.Errorf("%s: got %q", words, got)
		}
	}
	for _, same := range []string{"haus", "straße", "gracias", "niños", "maison", "être", "über", "книга", "λόγος", "temps", "status", "analysis"} {
		once := rank.Terms(same)
		if again := rank.Terms(once[0]); len(once) != 1 || len(again) != 1 || again[0] != once[0] {
			t.Errorf("%s: got %q, and %q of that", same, once, again)
		}
	}
}
