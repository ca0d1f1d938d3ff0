package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// ErrSuperseded is the cause with which a run ends that gives way to another one
// on its thread.
var ErrSuperseded = errors.New("the run gave way to another run on its thread")

// A ConflictPolicy says what a run does when another run holds its thread.
type ConflictPolicy uint8

// The conflict policies.
const (
	Reject ConflictPolicy = iota
	Wait
	Interrupt
	Rollback
)

// Runs are the runs of a graph that are under way in this process, by thread. They
// keep two runs off one thread where the store has no leases.
type Runs struct {
	mu     sync.Mutex
	active map[string]*activeRun
}

type activeRun struct {
	id   string
	ctx  *runContext
	done chan struct{}
}

// claim registers a run of the thread, or returns the one that is under way.
func (l *Runs) claim(thread string, run *activeRun) (holder *activeRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if holder = l.active[thread]; holder != nil {
		return holder
	}
	if l.active == nil {
		l.active = map[string]*activeRun{}
	}
	l.active[thread] = run
	return nil
}

func (l *Runs) release(thread string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.active[thread].done)
	delete(l.active, thread)
}

// A threadLease is the right of one run to a thread, and the store to use meanwhile.
type threadLease struct {
	store   checkpoint.Store
	release func(context.Context) error
}

// How long a run waits before it asks a store again for a thread that another
// process holds.
const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 500 * time.Millisecond
)

// acquireThread takes the thread for one run, as the conflict policy says. Unless
// it waits, a thread that is held is a [checkpoint.ErrConflict].
func acquireThread(ctx context.Context, o *Options, id string, rc *runContext) (threadLease, error) {
	own := &activeRun{id: id, ctx: rc, done: make(chan struct{})}
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		lease, holder, err := tryAcquire(ctx, o, own)
		if err == nil || !errors.Is(err, checkpoint.ErrConflict) || o.Conflict == Reject {
			return lease, err
		}
		if holder != nil {
			err = holder.giveWay(ctx, o)
		} else {
			err = pause(ctx, poll)
		}
		if err != nil {
			return threadLease{}, fmt.Errorf("%w while it waited for another run of the thread", err)
		}
	}
}

// tryAcquire takes the thread if it is free. Holder is the run of this process
// that holds it, if one does.
func tryAcquire(ctx context.Context, o *Options, own *activeRun) (lease threadLease, holder *activeRun, err error) {
	if holder = o.Runs.claim(o.Thread, own); holder != nil {
		return lease, holder, fmt.Errorf("%w: another run holds the thread", checkpoint.ErrConflict)
	}
	lease = threadLease{store: o.Store, release: func(context.Context) error {
		o.Runs.release(o.Thread)
		return nil
	}}
	leaser, ok := o.Store.(checkpoint.Leaser)
	if !ok {
		return lease, nil, nil
	}
	held, err := leaser.Lease(ctx, o.Thread)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return lease, nil, nil
	case err != nil:
		o.Runs.release(o.Thread)
		return threadLease{}, nil, err
	}
	lease.store = held
	lease.release = func(ctx context.Context) error {
		defer o.Runs.release(o.Thread)
		return held.Release(ctx)
	}
	return lease, nil, nil
}

// giveWay waits until the run has ended. It stops it first, and removes what it
// wrote, if the policy of the run that waits says so.
func (a *activeRun) giveWay(ctx context.Context, o *Options) error {
	if o.Conflict == Interrupt || o.Conflict == Rollback {
		a.ctx.stop(ErrSuperseded)
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if o.Conflict != Rollback {
		return nil
	}
	deleter, ok := o.Store.(checkpoint.RunDeleter)
	if !ok {
		return fmt.Errorf("rollback needs a store that can delete runs, and %T cannot: %w", o.Store, errors.ErrUnsupported)
	}
	return deleter.DeleteRuns(ctx, o.Thread, a.id)
}

// pause waits for d.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
