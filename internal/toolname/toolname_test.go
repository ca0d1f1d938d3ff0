package toolname_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/toolname"
)

func TestOfReturnsAValidName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 80)
	tests := []struct{ name, want string }{
		{"read_file", "read_file"},
		{strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{"files.read", "files_read_601e4eb6"},
		{"Google Search", "Google_Search_3be7914e"},
		{long, long[:55] + "_d929cdee"},
		{"ελλάς", "______5a4fddff"},
		{"", "_e3b0c442"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, toolname.Of(tt.name), "%q", tt.name)
	}
}

var valid = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func FuzzOf(f *testing.F) {
	for _, name := range []string{"", "a", "a.b", "a_b", "\xff", strings.Repeat("é", 70)} {
		f.Add(name, name+"x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := toolname.Of(a), toolname.Of(b)
		assert.Regexp(t, valid, x, "the name of %q", a)
		if a != b && x != a && y != b {
			assert.NotEqual(t, x, y, "the names of %q and %q", a, b)
		}
		assert.Equal(t, x, toolname.Of(x), "a valid name is unchanged")
	})
}
