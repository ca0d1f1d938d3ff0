package input_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{"compact", " { \"a\" : [ 1.50 ] } ", `{"a":[1.50]}`},
		{"a backslash before what would be a NUL", `"\\u0000"`, `"\\u0000"`},
		{"a NUL", `"\u0000"`, ""},
		{"a NUL behind a backslash", `"\\\u0000"`, ""},
		{"a NUL behind none", `"\\u0000 \u0000"`, ""},
		{"no JSON", `{`, ""},
		{"nothing", ``, ""},
		{"not UTF-8", "\"\xff\"", ""},
		{"too large", `"` + strings.Repeat("x", 100) + `"`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := input.JSON("value", []byte(test.give), 100)
			require.Equal(t, test.want, string(got))
			assert.Equal(t, errors.Is(err, driver.ErrInvalid), (test.want == ""))
		})
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{"": "", " \n": "", `{"a": 1}`: `{"a":1}`} {
		got, err := input.Object("metadata", []byte(give), 100)
		require.Equal(t, want, string(got), "%q", give)
		assert.NoError(t, err, "%q", give)
	}
	for _, give := range []string{"null", "[]", `"{}"`, "7", "{"} {
		_, err := input.Object("metadata", []byte(give), 100)
		assert.ErrorIs(t, err, driver.ErrInvalid, "%q", give)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "a.b%_*", strings.Repeat("x", input.MaxName), "☀"} {
		err := input.Name("key", name)
		assert.NoError(t, err, "%.40q", name)
	}
	for _, name := range []string{"\x00", "\xff", strings.Repeat("x", input.MaxName+1)} {
		err := input.Name("key", name)
		assert.ErrorIs(t, err, driver.ErrInvalid, "%.40q", name)
	}
}
