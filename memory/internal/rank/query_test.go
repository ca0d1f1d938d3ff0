package rank_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-go/weft/memory/internal/rank"
)

func TestQuery(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 500 {
		fmt.Fprintf(&long, "word%dx ", 100+i%200)
	}
	for _, text := range []string{long.String() + "zebra", "zebra " + long.String(), "zebra " + long.String() + "zebra", long.String() + "word250x zebra word250x"} {
		got := rank.Query(text)
		if len(got) != rank.MaxQuery || !slices.Contains(got, "zebra") || len(rank.Distinct(got)) != len(got) {
			t.Errorf("%d terms of %q…: %q", len(got), text[:20], got)
		}
	}
	if got := rank.Query("tea, green tea"); !slices.Equal(got, []string{"tea", "green"}) {
		t.Errorf("got %q", got)
	}
	if got := rank.Query("who is it"); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "tea", "a\xffb", strings.Repeat("é", rank.MaxText), "xé" + strings.Repeat("ab猫", rank.MaxText), strings.Repeat("a", rank.MaxText)} {
		got := rank.Clip(text)
		if len(got) > rank.MaxText || !utf8.ValidString(got) || len(got) < min(len(text), rank.MaxText)-8 {
			t.Errorf("%d bytes of %d", len(got), len(text))
		}
	}
	got := rank.Clip("first " + strings.Repeat("x ", rank.MaxText) + "last")
	if !strings.HasPrefix(got, "first ") || !strings.HasSuffix(got, " last") {
		t.Errorf("got %q … %q", got[:10], got[len(got)-10:])
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"tea", "tea"},
		{"cafe\u0301", "café"},
		{"café", "café"},
		{"vie\u0323\u0302t", "việt"},
		{"и\u0306", "й"},
		{"か\u3099", "が"},
		{"\u0301a", "\u0301a"},
		{"x\u0301", "x\u0301"},
		{"α\u0313\u0301", "ἄ"},
		{"a\xff", "a\xff"},
	} {
		got := rank.Compose(c.text)
		if got != c.want || rank.Compose(got) != got {
			t.Errorf("Compose(%q): got %q, want %q", c.text, got, c.want)
		}
	}
}
