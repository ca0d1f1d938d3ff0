package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWrapper(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"between words", "one two three four five", "one two three\nfour five"},
		{"exactly the width", "one two threes four", "one two threes\nfour"},
		{"a long word", "a https://example.org/long b", "a\nhttps://example.org/long\nb"},
		{"lines of the text", "one\n\ntwo three four five\nsix", "one\n\ntwo three four\nfive\nsix"},
		{"an indented line", "  one two three four", "  one two\n  three four"},
		{"an entry of a list", "- one two three four", "- one two\n  three four"},
		{"code by indentation", "    one two three four five", "    one two three four five"},
		{"code between fences", "```\none two three four five\n```\none two three four", "```\none two three four five\n```\none two three\nfour"},
		{"no control characters", "a\x1b[2Jb \u202eccc", "a\ufffd[2Jb \ufffdccc"},
		{"letters, not bytes", "éééé éééé ééé ééé", "éééé éééé ééé\nééé"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, size := range []int{1, 3, 1000} { // of the pieces
				var out strings.Builder
				w := wrapper{console: &console{out: &out}, width: 14}
				for rest := []rune(tt.text); len(rest) > 0; {
					n := min(size, len(rest))
					w.write(string(rest[:n]))
					rest = rest[n:]
				}
				w.flush()
				assert.Equal(t, tt.want, out.String(), "pieces of %d", size)
			}
		})
	}
}
