package graph

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// runContext is the context of a run's nodes: the caller's, which does not end
// when the run is only drained. What that takes is made when someone first
// waits for the end.
type runContext struct {
	caller context.Context

	inner  atomic.Pointer[derived]
	mu     sync.Mutex // held while inner is made
	closed bool
}

// derived is a context that is detached from the caller's, and ended by hand.
type derived struct {
	context.Context
	cancel context.CancelCauseFunc
	unhook func() bool
}

// over reports whether the caller's context has ended.
func (c *runContext) over() bool { return c != nil && c.caller.Err() != nil }

// cause returns why the run has to end, or nil.
func (c *runContext) cause() error {
	if !c.over() || c.drained() {
		return nil
	}
	return context.Cause(c.caller)
}

// drained reports whether the caller drains the run.
func (c *runContext) drained() bool {
	return c.over() && errors.Is(context.Cause(c.caller), ErrDrained)
}

// Done ends with the caller's context unless the run is drained.
func (c *runContext) Done() <-chan struct{} {
	if d := c.inner.Load(); d != nil {
		return d.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.inner.Load()
	if d == nil {
		d = c.derive()
		c.inner.Store(d)
	}
	return d.Done()
}

func (c *runContext) derive() *derived {
	d := &derived{}
	d.Context, d.cancel = context.WithCancelCause(context.WithoutCancel(c.caller))
	d.unhook = context.AfterFunc(c.caller, func() {
		if cause := c.cause(); cause != nil {
			d.cancel(cause)
		}
	})
	if cause := c.cause(); cause != nil {
		d.cancel(cause) // the hook may come late
	} else if c.closed {
		d.cancel(nil)
	}
	return d
}

// Err looks at the caller's context itself: its hook may come late.
func (c *runContext) Err() error {
	if d := c.inner.Load(); d != nil {
		if cause := c.cause(); cause != nil {
			d.cancel(cause)
		}
		return d.Err()
	}
	if c.cause() != nil {
		return c.caller.Err()
	}
	return nil
}

// Value is the caller's; package context finds the derived one by it.
func (c *runContext) Value(key any) any {
	if d := c.inner.Load(); d != nil {
		return d.Value(key)
	}
	return c.caller.Value(key)
}

// Deadline is the caller's.
func (c *runContext) Deadline() (time.Time, bool) { return c.caller.Deadline() }

// close ends what was derived, with the run.
func (c *runContext) close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if d := c.inner.Load(); d != nil {
		d.unhook()
		d.cancel(nil)
	}
}
