package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrDrained is the cause with which a caller cancels a run to drain it.
// The run then stops at the end of the current superstep.
var ErrDrained = errors.New("the run was drained")

// ErrRolledBack is the cause with which a caller cancels a run to undo it.
var ErrRolledBack = errors.New("the run was rolled back")

// ErrSuperseded is the cause with which a run ends if another run on its thread supersedes it.
var ErrSuperseded = errors.New("the run gave way to another run on its thread")

// errRunEnded is returned to a goroutine that uses a run after its end.
var errRunEnded = errors.New("the run has ended")

// grace is the time for which a run may still store results
// after its context has ended.
const grace = 10 * time.Second

// A runContext is the context of the nodes of a run.
// It ends when the context of the caller ends, with the same error and cause.
// It does not end if the caller drains the run.
// It also ends if another run supersedes this one, and with the run at the latest.
type runContext struct {
	caller context.Context

	store       storeContext
	cancelStore context.CancelCauseFunc // nil if the run has neither a thread nor a reader of events

	doneOnce sync.Once
	done     chan struct{} // made by the first call of Done

	superseded atomic.Bool // another run superseded this one; set under mu

	mu         sync.Mutex
	unwatch    func() bool // nil if the context is not watched
	err        error
	closed     bool        // the run has ended
	timer      *time.Timer // fires at the end of the grace period
	rollback   bool        // the run has to delete its checkpoints
	finished   bool        // the run can no longer be superseded
	afterFuncs map[int]func()
	id         int
}

// A storeContext is the context for calls of the store and for the delivery of events.
// It outlives the context of the nodes by the grace period,
// so that the results of finished tasks are stored even if the run was cancelled.
type storeContext struct {
	context.Context // ends when the grace period ends
	run             *runContext
}

// Done returns the channel that is closed when the context ends.
// Only a call that waits needs it, so Done starts the watch that starts the grace period.
func (c *storeContext) Done() <-chan struct{} {
	c.run.watch()
	return c.Context.Done()
}

// Err returns the error with which the context ended, or nil.
func (c *storeContext) Err() error {
	_ = c.run.cause() // starts the grace period if the caller's context has ended
	return c.Context.Err()
}

// begin initializes the context of a run.
// The argument stores is true if the run has a thread or a reader of its events.
func (c *runContext) begin(caller context.Context, stores bool) {
	c.caller = caller
	if stores {
		c.store.run = c
		c.store.Context, c.cancelStore = context.WithCancelCause(context.WithoutCancel(caller))
	}
}

// watch makes the context end as soon as the context of the caller ends.
// Without watch, it ends at the next call of Err.
func (c *runContext) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unwatch == nil && !c.closed && c.caller.Done() != nil {
		c.unwatch = context.AfterFunc(c.caller, func() { _ = c.cause() })
	}
}

// drained reports whether the caller has asked to drain the run.
func (c *runContext) drained() bool {
	return c.caller.Err() != nil && errors.Is(context.Cause(c.caller), ErrDrained)
}

// supersede ends the run with the cause [ErrSuperseded]. It does nothing to a finished run.
// If rollback is true, the run also deletes its checkpoints.
// Without rollback, a run whose context has already ended keeps its own cause.
func (c *runContext) supersede(rollback bool) {
	_ = c.cause() // the context of the caller may have ended unseen
	c.mu.Lock()
	if c.finished {
		c.mu.Unlock()
		return
	}
	if c.err == nil || rollback {
		c.superseded.Store(true)
	}
	c.rollback = c.rollback || rollback
	c.mu.Unlock()
	c.end(context.Canceled)
}

// finish marks the run as finished, so that it can no longer be superseded.
// It returns [ErrSuperseded] if the run was superseded before.
// The result rollback is true if the run has to be rolled back.
func (c *runContext) finish() (rollback bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	if c.superseded.Load() {
		err = ErrSuperseded
	}
	return c.rollback, err
}

// cause returns the reason for which the run has to end, or nil.
// If there is a reason, cause also ends the context.
// The function that context.AfterFunc calls for this purpose may run too late.
func (c *runContext) cause() error {
	if c.superseded.Load() {
		return ErrSuperseded
	}
	err := c.caller.Err()
	if err == nil || c.drained() {
		return nil
	}
	c.end(err)
	return context.Cause(c.caller)
}

// close ends the context of the nodes and the context for the store, at the end of the run.
func (c *runContext) close() {
	c.mu.Lock()
	c.closed = true
	if c.unwatch != nil {
		c.unwatch()
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.end(context.Canceled)
	if c.cancelStore != nil {
		c.cancelStore(nil)
	}
}

// end ends the context of the nodes with an error and starts the grace period.
func (c *runContext) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.cancelStore != nil && !c.closed {
		c.timer = time.AfterFunc(grace, func() { c.cancelStore(c.cause()) })
	}
	for _, f := range c.afterFuncs {
		go f()
	}
	c.afterFuncs = nil
}

// Deadline returns the deadline of the caller's context.
func (c *runContext) Deadline() (time.Time, bool) { return c.caller.Deadline() }

// Done returns a channel that is closed when the context ends.
func (c *runContext) Done() <-chan struct{} {
	c.doneOnce.Do(func() {
		c.watch()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	})
	return c.done
}

// Err returns the error with which the context ended, or nil.
func (c *runContext) Err() error {
	_ = c.cause()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value returns a value of the caller's context.
func (c *runContext) Value(key any) any { return c.caller.Value(key) }

// AfterFunc calls f in a goroutine after the context has ended.
// Package context uses it to derive a context without starting a goroutine.
func (c *runContext) AfterFunc(f func()) (stop func() bool) {
	c.watch()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.afterFuncs == nil {
		c.afterFuncs = map[int]func(){}
	}
	c.id++
	id := c.id
	c.afterFuncs[id] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.afterFuncs[id]
		delete(c.afterFuncs, id)
		return waiting
	}
}
