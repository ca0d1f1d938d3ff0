package supacheckpoint

import (
	"testing"
	"time"
)

func TestRetryDefaults(t *testing.T) {
	t.Parallel()
	var r Retry
	for n, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
		if got := r.wait(n); got != want {
			t.Errorf("before try %d: got %v want %v", n+2, got, want)
		}
	}
	if got := r.max(); got != 3 {
		t.Errorf("got %d tries more want 3", got)
	}
	for r, want := range map[Retry]int{{Max: 5}: 5, {Max: -1}: 0} {
		if got := r.max(); got != want {
			t.Errorf("%+v: got %d want %d", r, got, want)
		}
	}
}
