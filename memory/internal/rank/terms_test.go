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
		{"she works in IT", "work it"},
		{"foo_bar fooBar foo.bar", "foo bar foo_bar foo bar foobar foo bar foo.bar"},
		{"HTTPServer APIs", "http server httpserver api"},
		{"e-mail state-of-the-art UTF-8", "e mail email state art utf 8 utf8"},
		{"v1.2.3 1.5 10:30 1,000 1,2,3 2026-11-21 17.05.2024", "v1.2.3 1.5 10:30 1000 1 2 3 2026 11 21 2026-11-21 17.05.2024 2024"},
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
