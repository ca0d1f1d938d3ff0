package graph

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/state"
)

// Timeout ends a node's context when it has run for d, and makes the node's
// failure an [ErrTimeout]. The node must heed its context: it is waited for,
// so that nothing of it outlives the run. What it still returns is dropped.
func Timeout(d time.Duration, fn NodeFunc) NodeFunc {
	return TimeoutPolicy{Run: d}.wrap(fn)
}

// IdleTimeout is [Timeout] for a node that goes silent: d counts from its last
// [Emit] or [Heartbeat].
func IdleTimeout(d time.Duration, fn NodeFunc) NodeFunc {
	return TimeoutPolicy{Idle: d}.wrap(fn)
}

// TimeoutPolicy says when [TimeoutPolicy.Wrap] gives a node up. Zero values
// mean never.
type TimeoutPolicy struct {
	// Run is the longest a node may run, Idle the longest between two signs of
	// life.
	Run, Idle time.Duration
	// HeartbeatOnly makes [Heartbeat] the only sign of life, and [Emit] none.
	HeartbeatOnly bool
}

func (p TimeoutPolicy) wrap(fn NodeFunc) NodeFunc {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, s state.View) (state.Update, error) {
		inner, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		if p.Run > 0 {
			timer := time.AfterFunc(p.Run, func() { cancel(fmt.Errorf("%w after %v", ErrTimeout, p.Run)) })
			defer timer.Stop()
		}
		if p.Idle > 0 {
			w := &idleWatch{limit: p.Idle, emits: !p.HeartbeatOnly}
			w.timer.Store(time.AfterFunc(p.Idle, func() { cancel(fmt.Errorf("%w: no sign of life for %v", ErrTimeout, p.Idle)) }))
			defer func() { w.timer.Load().Stop() }()
			w.outer, _ = ctx.Value(watchKey{}).(*idleWatch)
			inner = context.WithValue(inner, watchKey{}, w)
		}
		update, err := fn(inner, s)
		if cause := context.Cause(inner); cause != nil && errors.Is(cause, ErrTimeout) && !asked(ctx) {
			if err != nil && !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
				cause = fmt.Errorf("%w: %w", cause, err)
			}
			return nil, cause
		}
		return update, err
	}
}

// Wrap applies the policy to a node.
func (p TimeoutPolicy) Wrap(fn NodeFunc) NodeFunc { return p.wrap(fn) }

type watchKey struct{}

// idleWatch is the timer of an [IdleTimeout].
type idleWatch struct {
	timer atomic.Pointer[time.Timer]
	limit time.Duration
	emits bool // Emit counts
	outer *idleWatch
}

// beat puts off the idle timeouts around ctx.
func beat(ctx context.Context, emit bool) {
	w, _ := ctx.Value(watchKey{}).(*idleWatch)
	for ; w != nil; w = w.outer {
		if w.emits || !emit {
			w.timer.Load().Reset(w.limit)
		}
	}
}
