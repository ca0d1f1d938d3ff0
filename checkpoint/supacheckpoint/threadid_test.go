package supacheckpoint_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/supacheckpoint"
)

func TestThreadIDUsesTheGivenIDOrARandomOne(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "designer-c-1", supacheckpoint.ThreadID("designer", "c-1"))
	form := regexp.MustCompile(`^designer-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 1000 {
		id := supacheckpoint.ThreadID("designer", "")
		require.Regexp(t, form, id)
		require.False(t, seen[id], "%q was returned before", id)
		seen[id] = true
	}
}

func TestProposalThreadIDHasComponentHashAndTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UnixMilli()
		for component, begins := range map[string]string{"": "research", "writer": "writer"} {
			want := fmt.Sprintf("%s_2c26b46b68_%d", begins, now) // the SHA-256 of "foo" begins with 2c26b46b68
			assert.Equal(t, want, supacheckpoint.ProposalThreadID("foo", component))
		}
		time.Sleep(time.Millisecond)
		later := supacheckpoint.ProposalThreadID("foo", "")
		assert.True(t, strings.HasSuffix(later, fmt.Sprint(now+1)), "got %q a millisecond later", later)
	})
}
