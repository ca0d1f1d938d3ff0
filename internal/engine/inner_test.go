package engine

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestKeysOfInnerTasks(t *testing.T) {
	t.Parallel()
	tests := []struct{ key, want string }{
		{"", ""},
		{"load page 7", "load page 7"},
		{"a/b", "a%2Fb"},
		{"a~b@c[0]%", "a%7Eb%40c%5B0]%25"},
		{"naïve 東京", "naïve 東京"},
		{"a\x00\n\xff\ufffd", "a%00%0A%FF%EF%BF%BD"},
		{strings.Repeat("x", maxInnerID), strings.Repeat("x", maxInnerID)},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, innerID(tt.key))
	}
}

// FuzzInnerID proves that different keys have different ids, which are short and have no characters
// that separate the parts of an id, a path or a namespace.
func FuzzInnerID(f *testing.F) {
	long := strings.Repeat("é", maxInnerID)
	f.Add("a", "b")
	f.Add("\xff", "%FF")
	f.Add("\xff", "\xfe")
	f.Add(long, long+"x")
	f.Add(long+"x", long+"y")
	f.Add(long, innerID(long))
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, key := range []string{a, b} {
			id := innerID(key)
			assert.LessOrEqual(t, len(id), maxInnerID)
			assert.True(t, utf8.ValidString(id))
			assert.False(t, strings.ContainsAny(id, "~/@\x00\n"), id)
		}
		assert.Equal(t, a == b, innerID(a) == innerID(b), "%q and %q", a, b)
	})
}
