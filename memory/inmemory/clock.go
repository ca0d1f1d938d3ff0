package inmemory

import (
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// A clock returns strictly increasing times. The lock of its store guards it.
type clock struct{ last time.Time }

func (c *clock) now() time.Time {
	now := input.Exact(time.Now())
	if !now.After(c.last) {
		now = c.last.Add(time.Microsecond)
	}
	c.last = now
	return now
}

// passed ensures that the clock returns only times after at from now on.
func (c *clock) passed(at time.Time) {
	if at.After(c.last) {
		c.last = at
	}
}
