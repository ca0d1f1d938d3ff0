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

// Timeout ends the context of a node after d. The error of a node that runs longer is a
// graph.ErrTimeout, and the update that it returns is dropped. The node must return when
// its context ends, since Timeout waits for it.
func Timeout(d time.Duration, fn graph.NodeFunc) graph.NodeFunc {
	return TimeoutPolicy{Run: d}.Wrap(fn)
}

// IdleTimeout is [Timeout] for an inactive node: d counts from the last call of
// graph.Emit or [Heartbeat]. Time in which Emit waits for a slow reader does not count.
func IdleTimeout(d time.Duration, fn graph.NodeFunc) graph.NodeFunc {
	return TimeoutPolicy{Idle: d}.Wrap(fn)
}

// A TimeoutPolicy configures the timeouts of [TimeoutPolicy.Wrap]. Zero means no
// timeout.
type TimeoutPolicy struct {
	// Run is the maximum duration of a run of the node. Idle is the maximum time between
	// two signs of life, which are calls of graph.Emit or [Heartbeat].
	Run, Idle time.Duration
	// HeartbeatOnly makes [Heartbeat] the only sign of life: graph.Emit does not count.
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

// Heartbeat restarts the idle timeout of the node of ctx. So does graph.Emit, unless
// [TimeoutPolicy].HeartbeatOnly is set.
func Heartbeat(ctx context.Context) { engine.Beat(ctx) }
