package input_test

import (
	"errors"
	"strings"
	"testing"

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
			if string(got) != test.want || (test.want == "") != errors.Is(err, driver.ErrInvalid) {
				t.Errorf("got %q and %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestObject(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{"": "", " \n": "", `{"a": 1}`: `{"a":1}`} {
		if got, err := input.Object("metadata", []byte(give), 100); string(got) != want || err != nil {
			t.Errorf("%q: got %q and %v, want %q", give, got, err, want)
		}
	}
	for _, give := range []string{"null", "[]", `"{}"`, "7", "{"} {
		if got, err := input.Object("metadata", []byte(give), 100); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%q: got %q and %v, want an ErrInvalid", give, got, err)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "a.b%_*", strings.Repeat("x", input.MaxName), "☀"} {
		if err := input.Name("key", name); err != nil {
			t.Errorf("%.40q: got %v", name, err)
		}
	}
	for _, name := range []string{"\x00", "\xff", strings.Repeat("x", input.MaxName+1)} {
		if err := input.Name("key", name); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%.40q: got %v, want an ErrInvalid", name, err)
		}
	}
}
