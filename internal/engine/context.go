package engine

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrDrained is the cause with which a caller cancels a run that is to stop at
// the end of the current superstep.
var ErrDrained = errors.New("the run was drained")

// ErrSuperseded is the cause with which a run ends that gives way to another one
// on its thread.
var ErrSuperseded = errors.New("the run gave way to another run on its thread")

// errRunEnded is returned to goroutines that outlive the run.
var errRunEnded = errors.New("the run has ended")

// grace is the time in which a run may still store finished results, after its context
// has ended.
const grace = 10 * time.Second

// A runContext is the context of a run's nodes. It ends with the caller's, with
// the same error and cause, unless the caller only drains the run. It ends with
// the run at the latest.
type runContext struct {
	caller context.Context
	done   chan struct{}
	unhook func() bool

	// store is the context with which the run stores its progress. It ends the grace
	// period after the run's context, so that finished results are kept although the
	// run was cancelled.
	store       context.Context
	cancelStore context.CancelCauseFunc // nil if nothing is stored and nobody can cancel the run

	mu       sync.Mutex
	err      error
	closed   bool        // the run has ended
	timer    *time.Timer // of the grace period
	stopped  error       // ErrSuperseded, once the run was superseded
	rollback bool        // the run is to remove what it stored
	finished bool        // the run cannot be superseded
	after    map[int]func()
	id       int
}

// newRunContext returns the context of a run, which has a thread or not.
func newRunContext(caller context.Context, thread bool) *runContext {
	c := &runContext{caller: caller, done: make(chan struct{}), store: context.WithoutCancel(caller)}
	if thread || caller.Done() != nil {
		c.store, c.cancelStore = context.WithCancelCause(c.store)
	}
	if caller.Done() != nil {
		c.unhook = context.AfterFunc(caller, func() { _ = c.cause() })
	}
	return c
}

// drained reports whether the caller drains the run.
func (c *runContext) drained() bool {
	return c.caller.Err() != nil && errors.Is(context.Cause(c.caller), ErrDrained)
}

// supersede ends the run with the cause [ErrSuperseded], unless it has finished.
// With rollback, the run also removes its checkpoints.
func (c *runContext) supersede(rollback bool) {
	c.mu.Lock()
	if c.finished {
		c.mu.Unlock()
		return
	}
	if c.err == nil || rollback {
		c.stopped = ErrSuperseded
	}
	c.rollback = c.rollback || rollback
	c.mu.Unlock()
	c.end(context.Canceled)
}

// finish marks the run as finished: nobody can supersede it any more. It returns
// [ErrSuperseded] if the run was superseded before, and whether it is to be rolled back.
func (c *runContext) finish() (rollback bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	return c.rollback, c.stopped
}

// cause returns why the run has to end, or nil. It ends the context if there is
// a reason, since the hook on the caller's context may run late.
func (c *runContext) cause() error {
	c.mu.Lock()
	stopped := c.stopped
	c.mu.Unlock()
	if stopped != nil {
		return stopped
	}
	err := c.caller.Err()
	if err == nil || c.drained() {
		return nil
	}
	c.end(err)
	return context.Cause(c.caller)
}

// close ends the contexts with their run.
func (c *runContext) close() {
	if c.unhook != nil {
		c.unhook()
	}
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.end(context.Canceled)
	if c.cancelStore != nil {
		c.cancelStore(nil)
	}
}

func (c *runContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	if c.cancelStore != nil && !c.closed {
		c.timer = time.AfterFunc(grace, func() { c.cancelStore(c.cause()) })
	}
	for _, f := range c.after {
		go f()
	}
	c.after = nil
}

// Deadline is the caller's.
func (c *runContext) Deadline() (time.Time, bool) { return c.caller.Deadline() }

// Done is closed when the context ends.
func (c *runContext) Done() <-chan struct{} { return c.done }

// Err returns why the context ended.
func (c *runContext) Err() error {
	_ = c.cause()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value is the caller's.
func (c *runContext) Value(key any) any { return c.caller.Value(key) }

// AfterFunc lets package context derive contexts without a goroutine for each.
func (c *runContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[int]func(){}
	}
	c.id++
	id := c.id
	c.after[id] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[id]
		delete(c.after, id)
		return waiting
	}
}
