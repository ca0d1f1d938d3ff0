package pgcheckpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// failures is how many connections in a row that can not be made open a circuit. A
	// server that has too many clients refuses some while others work.
	failures = 3
	// probeWait and up to half of it again, at random, is between the tries of an open
	// circuit. pgx may dial twice in each.
	probeWait = time.Second
	// resetWait is the least time between two times that a pool is emptied.
	resetWait = time.Second
)

// A circuit keeps those who can not reach a database from all trying at once, all the
// time. It is closed as long as connections can be made. While it is open, one caller
// after the other tries, at most once a second, and the rest wait for the first who
// gets through.
type circuit struct {
	// slots bounds how many ask the pool for a connection, so that those who come
	// behind learn from those before them. Nil is no bound.
	slots chan struct{}
	open  atomic.Bool

	mu      sync.Mutex
	failed  int // in a row
	cause   error
	next    time.Time // of the next try
	trying  bool
	changed chan struct{} // closed when anything of this does
	emptied time.Time
}

func newCircuit(conns int32) *circuit {
	c := &circuit{changed: make(chan struct{})}
	if conns > 0 {
		c.slots = make(chan struct{}, conns)
	}
	return c
}

// enter waits while others find out whether the database can be reached. Probe says
// that the caller is the one who does: it must call leave.
func (c *circuit) enter(ctx context.Context, until time.Time) (probe bool, err error) {
	for c.open.Load() {
		probe, wait, changed, cause := c.look()
		if probe {
			return true, nil
		}
		left := time.Until(until)
		if left <= 0 {
			return false, fmt.Errorf("%w: %w", ErrUnreachable, cause)
		}
		t := time.NewTimer(min(wait, left))
		select {
		case <-changed:
		case <-t.C:
		case <-ctx.Done():
			err = fmt.Errorf("%w: %w", ctx.Err(), cause)
		}
		t.Stop()
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// look returns how long to wait at most, or that it is the caller's turn to try.
func (c *circuit) look() (probe bool, wait time.Duration, changed <-chan struct{}, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait = 2 * probeWait
	if !c.trying && c.open.Load() {
		if wait = time.Until(c.next); wait <= 0 {
			c.trying = true
			return true, 0, nil, nil
		}
	}
	return false, wait, c.changed, c.cause
}

// leave ends the try of a probe.
func (c *circuit) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trying = false
	c.next = nextProbe()
	c.change()
}

// refused notes that a connection could not be made.
func (c *circuit) refused(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed++
	c.cause = cause
	if c.failed >= failures && !c.open.Swap(true) {
		c.next = nextProbe()
		c.change()
	}
}

// reached notes that there is a connection.
func (c *circuit) reached() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = 0
	if c.open.Swap(false) {
		c.change()
	}
}

func nextProbe() time.Time { return time.Now().Add(probeWait + rand.N(probeWait/2)) }

func (c *circuit) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// stale reports whether it is time to empty a pool of which a connection was lost: the
// others may be lost too, and each would cost a call a try.
func (c *circuit) stale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.emptied) < resetWait {
		return false
	}
	c.emptied = now
	return true
}

// slot waits for its turn to ask for a connection, which give ends. It returns
// errOpened when there is none to be had. A probe does not wait for those who do.
func (c *circuit) slot(ctx context.Context) error {
	if c.slots == nil {
		return nil
	}
	for {
		select {
		case c.slots <- struct{}{}:
			return nil
		default:
		}
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		select {
		case c.slots <- struct{}{}:
			return nil
		case <-changed:
			if c.open.Load() {
				return errOpened
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *circuit) give() {
	if c.slots != nil {
		<-c.slots
	}
}
