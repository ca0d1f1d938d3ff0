package display_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/display"
)

func TestEscapeShowsWhatIsInvisible(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"plain text", "Größe λ漢🙂 \\u202e\n\tdone", "Größe λ漢🙂 \\u202e\n\tdone"},
		{"combining marks", "e\u0301", "e\u0301"},
		{"a calendar entry", "Lunch \u202egnp.exe\u202c", `Lunch \u202egnp.exe\u202c`},
		{"embeddings and overrides", "\u202a\u202b\u202c\u202d\u202e", `\u202a\u202b\u202c\u202d\u202e`},
		{"isolates", "\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`},
		{"marks of direction", "\u200e\u200f\u061c", `\u200e\u200f\u061c`},
		{"escape sequences", "a\x1b[2K\x07\x00\x7f", `a\u001b[2K\u0007\u0000\u007f`},
		{"a carriage return", "yes\rno", `yes\u000dno`},
		{"C1", "\u0080\u009b2K\u009f\u0085", `\u0080\u009b2K\u009f\u0085`},
		{"tags", "\U000e0001\U000e0041\U000e007f", `\U000e0001\U000e0041\U000e007f`},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff", `a\u200bb\u200cc\u200dd\u2060e\ufefff`},
		{"variation selectors", "a\ufe00\ufe0f\U000e0100\U000e01ef", `a\ufe00\ufe0f\U000e0100\U000e01ef`},
		{"soft hyphen and joiner", "pay\u00adpal\u034f", `pay\u00adpal\u034f`},
		{"blank letters", "\u115f\u1160\u3164\uffa0\u2800\u17b4", `\u115f\u1160\u3164\uffa0\u2800\u17b4`},
		{"line and paragraph separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
		{"spaces", "a\u00a0b\u3000c", "a\u00a0b\u3000c"},
		{"invisible operators and annotations", "\u2061\u2064\ufff9\ufffb", `\u2061\u2064\ufff9\ufffb`},
		{"musical and shorthand controls", "\U0001d173\U0001bca0", `\U0001d173\U0001bca0`},
		{"private and unassigned", "\ue000\U0010fffd\u0378\uffff", `\ue000\U0010fffd\u0378\uffff`},
		{"not UTF-8", "a\xff\xc0b", `a\xff\xc0b`},
		{"the replacement character", "a\ufffdb", "a\ufffdb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := display.Escape(test.text)
			assert.Equal(t, test.want, got)
			assert.Equal(t, got, display.Escape(got), "an escaped text is escaped again")
		})
	}
}

func TestEscapeLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, `a\nb\tc\u000d`, display.EscapeLine("a\nb\tc\r"))
}

func FuzzEscape(f *testing.F) {
	f.Add("Lunch \u202egnp.exe\u202c\x1b\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := display.Escape(text)
		assert.True(t, utf8.ValidString(got))
		assert.False(t, strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Zl, unicode.Zp))
		}), "%q", got)
	})
}
