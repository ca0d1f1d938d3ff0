package supacheckpoint

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRetryDefaults(t *testing.T) {
	t.Parallel()
	var r Retry
	for n, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
		assert.Equal(t, want, r.wait(n), "before try %d", n+2)
	}
	assert.Equal(t, 3, r.max())
	for r, want := range map[Retry]int{{Max: 5}: 5, {Max: -1}: 0} {
		assert.Equal(t, want, r.max(), "%+v", r)
	}
}
