package pgcheckpoint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxFailures is the number of consecutive failed connection attempts that opens a
	// circuit. A single failure is not enough: a server with too many clients rejects
	// some of them while others work.
	maxFailures = 3
	// probeWait is the minimum time between two probes of an open circuit. A random time
	// of up to half of it is added. Each probe may dial twice.
	probeWait = time.Second
	// resetWait is the least time between two resets of a pool.
	resetWait = time.Second
)

// A circuit is a circuit breaker for the connections of a pool. It is closed while
// connections can be made. While it is open, one caller at a time probes the
// database, at most once a second, and the others wait for its result.
type circuit struct {
	// slots has an element for each caller that waits for a connection of the pool or uses
	// one. Its capacity is the size of the pool. The other callers wait for a slot. Nil means
	// no limit.
	slots chan struct{}
	open  atomic.Bool
	// answered is the time at which a call last ended with its connection intact, in Unix
	// nanoseconds.
	answered atomic.Int64

	mu      sync.Mutex
	failed  int           // number of failed connection attempts in a row
	cause   error         // the error of the last of them
	next    time.Time     // earliest time of the next probe
	probing bool          // a caller is probing the database
	changed chan struct{} // closed when the circuit opens or closes, or a probe ends
	reset   time.Time     // time of the last reset of the pool
}

func newCircuit(conns int32) *circuit {
	c := &circuit{changed: make(chan struct{})}
	if conns > 0 {
		c.slots = make(chan struct{}, conns)
	}
	return c
}

// enter waits until the circuit is closed or the caller may probe, and reports whether the
// caller must probe. It returns [ErrUnreachable] if the deadline passes first. After a probe,
// the caller must call leave.
func (c *circuit) enter(ctx context.Context, deadline time.Time) (probe bool, err error) {
	for c.open.Load() {
		probe, wait, changed, cause := c.tryProbe()
		if probe {
			return true, nil
		}
		left := time.Until(deadline)
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

// tryProbe reports whether the caller must probe the database now. If not, it returns the
// maximum time to wait before the next call of tryProbe, a channel that is closed when the
// circuit changes, and the error of the last connection attempt.
func (c *circuit) tryProbe() (probe bool, wait time.Duration, changed <-chan struct{}, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait = 2 * probeWait
	if !c.probing && c.open.Load() {
		if wait = time.Until(c.next); wait <= 0 {
			c.probing = true
			return true, 0, nil, nil
		}
	}
	return false, wait, c.changed, c.cause
}

// leave ends a probe.
func (c *circuit) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probing = false
	c.next = nextProbe()
	c.notify()
}

// connectFailed records that a connection could not be made.
func (c *circuit) connectFailed(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed++
	c.cause = cause
	if c.failed >= maxFailures && !c.open.Swap(true) {
		c.next = nextProbe()
		c.notify()
	}
}

// connected records that the pool gave a connection.
func (c *circuit) connected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = 0
	if c.open.Swap(false) {
		c.notify()
	}
}

func nextProbe() time.Time { return time.Now().Add(probeWait + rand.N(probeWait/2)) }

// notify wakes the callers that wait for a change. The caller holds c.mu.
func (c *circuit) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// mayReset reports whether a pool that lost a connection should be reset now. Its other
// connections are probably lost too, and each of them would fail one call.
func (c *circuit) mayReset() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.reset) < resetWait {
		return false
	}
	c.reset = now
	return true
}

// acquireSlot waits until the caller may ask the pool for a connection. The caller must
// call releaseSlot. acquireSlot returns errCircuitOpen if the circuit opens meanwhile, and
// [net.ErrClosed] if no call on the pool ended with its connection intact within the time
// limit. If such calls end, so that the pool is only busy, acquireSlot continues to wait.
func (c *circuit) acquireSlot(ctx context.Context, limit time.Duration) error {
	if c.slots == nil {
		return nil
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	start := time.Now()
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		select {
		case c.slots <- struct{}{}:
			return nil
		case <-changed:
			if c.open.Load() {
				return errCircuitOpen
			}
		case <-t.C:
			if c.answered.Load() < start.UnixNano() {
				return fmt.Errorf("all connections are in use and none was answered for %v: %w", limit, net.ErrClosed)
			}
			start = time.Now()
			t.Reset(limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *circuit) releaseSlot() {
	if c.slots != nil {
		<-c.slots
	}
}
