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
