package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// Timeout gives a node's context a deadline, after d, and makes the failure of a node
// that runs longer a graph.ErrTimeout. The node must heed its context: it is waited for, so that
// nothing of it outlives the run. What it still returns is dropped.
func Timeout(d time.Duration, fn graph.NodeFunc) graph.NodeFunc {
	return TimeoutPolicy{Run: d}.Wrap(fn)
}

// IdleTimeout is [Timeout] for a node that goes silent: d counts from its last
// graph.Emit or [Heartbeat]. The time for which Emit waits for a slow reader does
// not count.
func IdleTimeout(d time.Duration, fn graph.NodeFunc) graph.NodeFunc {
	return TimeoutPolicy{Idle: d}.Wrap(fn)
}

// A TimeoutPolicy says when [TimeoutPolicy.Wrap] ends a node. Zero values mean never.
type TimeoutPolicy struct {
	// Run is the longest that a node may run, Idle the longest between two signs of
	// life.
	Run, Idle time.Duration
	// HeartbeatOnly makes [Heartbeat] the only sign of life, and graph.Emit none.
	HeartbeatOnly bool
}

// Wrap applies the policy to a node.
func (p TimeoutPolicy) Wrap(fn graph.NodeFunc) graph.NodeFunc {
	if fn == nil {
		return nil
	}
	return func(ctx context.Context, s state.View) (state.Update, error) {
		inner := ctx
		if p.Run > 0 {
			timed, cancel := context.WithTimeoutCause(ctx, p.Run, fmt.Errorf("%w after %v", graph.ErrTimeout, p.Run))
			defer cancel()
			inner = timed
		}
		if p.Idle > 0 {
			idle, cancel := context.WithCancelCause(inner)
			defer cancel(nil)
			inner = idle
			watched, stop := engine.WatchIdle(inner, p.Idle, !p.HeartbeatOnly, func() {
				cancel(fmt.Errorf("%w: no sign of life for %v", graph.ErrTimeout, p.Idle))
			})
			defer stop()
			inner = watched
		}
		update, err := fn(inner, s)
		if cause := context.Cause(inner); cause != nil && errors.Is(cause, graph.ErrTimeout) && !engine.AskedIn(ctx) {
			if err != nil && !errors.Is(err, cause) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
				cause = fmt.Errorf("%w: %w", cause, err)
			}
			return nil, cause
		}
		return update, err
	}
}

// Heartbeat tells [IdleTimeout] that the node of ctx is alive. graph.Emit does so too.
func Heartbeat(ctx context.Context) { engine.Beat(ctx) }
