package suggest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/suggest"
)

func TestForReturnsTheMostSimilarName(t *testing.T) {
	t.Parallel()
	names := []string{"agent", "tools", "review"}
	assert.Equal(t, `; did you mean "agent"?`, suggest.For("agnet", names))
	assert.Equal(t, `; did you mean "review"?`, suggest.For("Reviews", names))
	assert.Empty(t, suggest.For("something else", names))
	assert.Empty(t, suggest.For("x", nil))
}

func TestForSuggestsNothingForAnotherShortName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, name, want string }{
		{"b", "a", ""},
		{"B", "b", `; did you mean "b"?`},
		{"ab", "ac", ""},
		{"abc", "ab", ""},
		{"n", "nn", ""},
		{"wait", "wind", ""},
		{"not", "note", `; did you mean "note"?`},
		{"nots", "note", `; did you mean "note"?`},
		{"sned", "send", `; did you mean "send"?`},
		{"approve", "approved", `; did you mean "approved"?`},
	} {
		assert.Equal(t, c.want, suggest.For(c.given, []string{c.name}), "%s for %s", c.name, c.given)
	}
}
