package engine

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
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

// A holder is a run or an edit that holds its thread in this process, or waits for it.
type holder struct {
	ctx      *runContext
	policy   ConflictPolicy
	line     []*holder     // the runs that wait for the thread, in the order in which they get it
	turn     chan struct{} // closed when the holder has the thread; nil if it did not wait
	rollback error         // the error of a failed rollback, set before the thread is passed on
	before   error         // the field rollback of the holder before this one
}

// stops reports whether h stops the run that has the thread.
func (h *holder) stops() bool { return h.policy == Interrupt || h.policy == Rollback }

// claim makes h the holder of the thread, and reports whether the thread was free.
func claim(key threadKey, h *holder) bool {
	holders.mu.Lock()
	defer holders.mu.Unlock()
	if holders.active[key] != nil {
		return false
	}
	if holders.active == nil {
		holders.active = map[threadKey]*holder{}
	}
	holders.active[key] = h
	return true
}

// await waits until the thread is free and the runs before h in the line have had it. It then makes h the
// holder of the thread. A run that stops others comes before the runs that only wait.
func (h *holder) await(ctx context.Context, key threadKey) error {
	if h.join(key) {
		return nil
	}
	return h.hasTurn(ctx, key)
}

// hasTurn waits until h has the thread. If h requested a rollback of the run before it and the rollback
// failed, hasTurn gives up the thread and returns the error. Each such run in the line gets this error.
func (h *holder) hasTurn(ctx context.Context, key threadKey) error {
	select {
	case <-h.turn:
	case <-ctx.Done():
		h.leave(key)
		return waitError(ctx)
	}
	if h.policy == Rollback && h.before != nil {
		h.rollback = h.before
		unclaim(key, h)
		return fmt.Errorf("the run that held the thread: %w", h.before)
	}
	return nil
}

// join adds h to the line of the thread. If the thread has become free, h gets it and join returns true.
func (h *holder) join(key threadKey) bool {
	holders.mu.Lock()
	defer holders.mu.Unlock()
	other := holders.active[key]
	if other == nil {
		holders.active[key] = h
		return true
	}
	at := len(other.line)
	if h.stops() {
		if first := slices.IndexFunc(other.line, func(w *holder) bool { return !w.stops() }); first >= 0 {
			at = first
		}
		other.ctx.supersede(h.policy == Rollback)
	}
	h.turn = make(chan struct{})
	other.line = slices.Insert(other.line, at, h)
	return false
}

// leave removes h from the line of the thread. If h has got the thread meanwhile, leave passes it on.
func (h *holder) leave(key threadKey) {
	holders.mu.Lock()
	defer holders.mu.Unlock()
	if other := holders.active[key]; other != h {
		other.line = slices.DeleteFunc(other.line, func(w *holder) bool { return w == h })
		return
	}
	h.rollback = h.before
	h.pass(key)
}

// unclaim removes h as the holder of the thread, which the next run in the line gets.
// It does nothing if h is nil.
func unclaim(key threadKey, h *holder) {
	if h == nil {
		return
	}
	holders.mu.Lock()
	defer holders.mu.Unlock()
	h.pass(key)
}

// pass gives the thread to the next run in the line. The caller holds holders.mu.
func (h *holder) pass(key threadKey) {
	if len(h.line) == 0 {
		delete(holders.active, key)
		return
	}
	next := h.line[0]
	next.line, next.before = h.line[1:], h.rollback
	holders.active[key] = next
	for _, w := range next.line {
		if w.stops() {
			next.ctx.supersede(w.policy == Rollback)
		}
	}
	close(next.turn)
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
	lease := threadLease{store: o.Store, key: o.threadKey(), holder: &holder{ctx: rc, policy: o.Conflict}}
	if !claim(lease.key, lease.holder) {
		if o.storeDecides(ctx) {
			lease.holder = nil
		} else if err := o.conflict(ctx, errHeld); err != nil {
			return threadLease{}, err
		} else if err := lease.holder.await(ctx, lease.key); err != nil {
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
