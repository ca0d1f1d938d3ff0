package rank_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		require.Len(t, got, rank.MaxQuery, "%d terms of %q…: %q", len(got), text[:20], got)
		require.Contains(t, got, "zebra", "%d terms of %q…: %q", len(got), text[:20], got)
		assert.Len(t, rank.Distinct(got), len(got), "%d terms of %q…: %q", len(got), text[:20], got)
	}
	assert.Equal(t, []string{"tea", "green"}, rank.Query("tea, green tea"))
	assert.Empty(t, rank.Query("who is it"))
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "tea", "a\xffb", strings.Repeat("é", rank.MaxText), "xé" + strings.Repeat("ab猫", rank.MaxText), strings.Repeat("a", rank.MaxText)} {
		got := rank.Clip(text)
		require.LessOrEqual(t, len(got), rank.MaxText)
		require.True(t, utf8.ValidString(got))
		assert.GreaterOrEqual(t, len(got), min(len(text), rank.MaxText)-8)
	}
	got := rank.Clip("first " + strings.Repeat("x ", rank.MaxText) + "last")
	require.True(t, strings.HasPrefix(got, "first "), "got %q … %q", got[:10], got[len(got)-10:])
	assert.True(t, strings.HasSuffix(got, " last"), "got %q … %q", got[:10], got[len(got)-10:])
}
