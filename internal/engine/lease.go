package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// A threadKey identifies a thread of a store in this process.
type threadKey struct {
	store  checkpoint.Store // nil if the store is not comparable
	graph  *Plan            // set instead of the store
	thread string
}

// threadKey returns the key of the thread.
func (o *Options) threadKey() threadKey {
	if reflect.ValueOf(o.Store).Comparable() {
		return threadKey{store: o.Store, thread: o.Thread}
	}
	return threadKey{graph: o.Graph, thread: o.Thread}
}

// holders are the runs of this process that hold a thread or wait for its lease.
// If the store has no leases, they prevent two concurrent runs on a thread.
// They let a run stop another run on its thread, even of another graph.
var holders struct {
	mu     sync.Mutex
	active map[threadKey]*holder
}

// A holder is a run, or an edit, that has its thread for itself in this process.
type holder struct {
	ctx  *runContext
	done chan struct{} // closed when the thread is released; nil if no run waits for it
	// rollback is the error of a failed rollback. It is set before done is closed.
	rollback error
}

// claim makes h the holder of the thread.
// If the thread has a holder already, claim changes nothing and returns that holder.
func claim(key threadKey, h *holder) (other *holder) {
	holders.mu.Lock()
	defer holders.mu.Unlock()
	if other = holders.active[key]; other != nil {
		if other.done == nil {
			other.done = make(chan struct{})
		}
		return other
	}
	if holders.active == nil {
		holders.active = map[threadKey]*holder{}
	}
	holders.active[key] = h
	return nil
}

// unclaim removes h as the holder of the thread. It does nothing if h is nil.
func unclaim(key threadKey, h *holder) {
	if h == nil {
		return
	}
	holders.mu.Lock()
	defer holders.mu.Unlock()
	delete(holders.active, key)
	if h.done != nil {
		close(h.done)
	}
}

// A threadLease is the right of one run to a thread, with the store for that run.
type threadLease struct {
	store  checkpoint.Store
	key    threadKey
	holder *holder
	held   checkpoint.Lease // nil if the store has no leases
}

// release gives up the thread, so that another run can take it.
func (l *threadLease) release(ctx context.Context) error {
	defer unclaim(l.key, l.holder)
	if l.held == nil {
		return nil
	}
	return l.held.Release(ctx)
}

// A run asks for the lease of a thread again after firstPoll.
// The interval doubles after each attempt, up to lastPoll.
const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 500 * time.Millisecond
)

// acquireThread takes the thread for one run.
// It first waits for other runs of this process, then for the lease of the store.
// The conflict policy decides whether it waits.
// If it does not wait, it returns [checkpoint.ErrConflict] for a thread that is held.
func acquireThread(ctx context.Context, o *Options, rc *runContext) (threadLease, error) {
	if _, ok := o.Store.(checkpoint.RunDeleter); !ok && o.Conflict == Rollback {
		return threadLease{}, fmt.Errorf("rollback needs a store that can delete runs, and %T cannot: %w", o.Store, errors.ErrUnsupported)
	}
	lease := threadLease{store: o.Store, key: o.threadKey(), holder: &holder{ctx: rc}}
	for {
		other := claim(lease.key, lease.holder)
		if other == nil {
			break
		}
		if o.storeDecides(ctx) {
			lease.holder = nil
			break
		}
		if err := o.conflict(ctx, errHeld); err != nil {
			return threadLease{}, err
		}
		if err := other.waitRelease(ctx, o.Conflict); err != nil {
			return threadLease{}, err
		}
	}
	held, err := leaseThread(ctx, o, rc)
	if held == nil && err == nil && lease.holder == nil {
		err = errHeld // the store implements Leaser, but has no leases
	}
	if err != nil {
		unclaim(lease.key, lease.holder)
		return threadLease{}, err
	}
	if held != nil {
		lease.store, lease.held = held, held
	}
	return lease, nil
}

// storeDecides reports whether the run asks the store for the lease,
// although another run of this process holds the thread.
// It returns true under Reject for a store with leases: the store itself may wait.
// It returns false if a node of the other run starts this run.
func (o *Options) storeDecides(ctx context.Context) bool {
	_, leases := o.Store.(checkpoint.Leaser)
	return leases && o.Conflict == Reject && !o.heldAround(ctx)
}

// errHeld is the error of a thread that another run of this process holds.
var errHeld = fmt.Errorf("%w: another run holds the thread", checkpoint.ErrConflict)

// conflict returns nil if the run has to wait for a thread that another run holds.
// Under Reject it returns the argument rejection.
// If a node of the other run starts this run, it returns an error that says so.
func (o *Options) conflict(ctx context.Context, rejection error) error {
	if o.heldAround(ctx) {
		return fmt.Errorf("%w: a node of that run starts this run, and would wait for itself; use a subgraph or another thread", errHeld)
	}
	if o.Conflict == Reject {
		return rejection
	}
	return nil
}

// heldAround reports whether ctx belongs to a node of a run on the same thread.
func (o *Options) heldAround(ctx context.Context) bool {
	for t := TaskOf(ctx); t != nil; t = TaskOf(t.scope.ctx.caller) {
		if t.scope.log != nil && t.scope.Options.threadKey() == o.threadKey() {
			return true
		}
	}
	return false
}

// leaseThread takes the lease of the thread. It returns nil if the store has no leases.
func leaseThread(ctx context.Context, o *Options, rc *runContext) (checkpoint.Lease, error) {
	leaser, ok := o.Store.(checkpoint.Leaser)
	if !ok {
		return nil, nil
	}
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		lease, err := leaser.Lease(ctx, o.Thread)
		switch {
		case err == nil:
			return lease, nil
		case errors.Is(err, errors.ErrUnsupported):
			return nil, nil
		case !errors.Is(err, checkpoint.ErrConflict):
			return nil, err
		}
		if err := o.conflict(ctx, err); err != nil {
			return nil, err
		}
		timer := time.NewTimer(poll)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, waitError(ctx)
		case <-rc.Done(): // another run of this process supersedes this one
			timer.Stop()
			if _, err := rc.finish(); err != nil {
				return nil, err
			}
			return nil, waitError(ctx)
		}
	}
}

// waitError returns the error of a run whose context ended before it had the thread.
func waitError(ctx context.Context) error {
	return fmt.Errorf("%w while the run waited for another run of the thread", context.Cause(ctx))
}

// waitRelease waits until the run of h has released the thread.
// Under Interrupt and Rollback it stops the run.
// Under Rollback the run also deletes its checkpoints.
func (h *holder) waitRelease(ctx context.Context, policy ConflictPolicy) error {
	if policy == Interrupt || policy == Rollback {
		h.ctx.supersede(policy == Rollback)
	}
	select {
	case <-h.done:
	case <-ctx.Done():
		return waitError(ctx)
	}
	if policy == Rollback && h.rollback != nil {
		return fmt.Errorf("the run that held the thread: %w", h.rollback)
	}
	return nil
}
