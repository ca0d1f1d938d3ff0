package node_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// TestTimeoutPolicies proves when each kind of timeout ends a node that takes ten
// seconds and calls signal every two seconds.
func TestTimeoutPolicies(t *testing.T) {
	t.Parallel()
	slow := func(signal func(ctx context.Context)) graph.NodeFunc {
		return func(ctx context.Context, _ state.View) (state.Update, error) {
			for range 5 {
				select {
				case <-time.After(2 * time.Second):
					signal(ctx)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return state.Update{trail.Put("end")}, nil
		}
	}
	silent := func(context.Context) {}
	emit := func(ctx context.Context) { graph.Emit(ctx, "tick") }
	cases := map[string]struct {
		node graph.NodeFunc
		took time.Duration
		ok   bool
	}{
		"in time":                          {node.Timeout(11*time.Second, slow(silent)), 10 * time.Second, true},
		"too late":                         {node.Timeout(3*time.Second, slow(emit)), 3 * time.Second, false},
		"idle":                             {node.IdleTimeout(3*time.Second, slow(silent)), 3 * time.Second, false},
		"emits":                            {node.IdleTimeout(3*time.Second, slow(emit)), 10 * time.Second, true},
		"heartbeats":                       {node.IdleTimeout(3*time.Second, slow(node.Heartbeat)), 10 * time.Second, true},
		"HeartbeatOnly and emits":          {node.TimeoutPolicy{Idle: 3 * time.Second, HeartbeatOnly: true}.Wrap(slow(emit)), 3 * time.Second, false},
		"HeartbeatOnly and heartbeats":     {node.TimeoutPolicy{Idle: 3 * time.Second, HeartbeatOnly: true}.Wrap(slow(node.Heartbeat)), 10 * time.Second, true},
		"Run before Idle":                  {node.TimeoutPolicy{Run: 5 * time.Second, Idle: 3 * time.Second}.Wrap(slow(emit)), 5 * time.Second, false},
		"heartbeats reach the outer one":   {node.IdleTimeout(3*time.Second, node.IdleTimeout(4*time.Second, slow(node.Heartbeat))), 10 * time.Second, true},
		"the outer one is shorter":         {node.Timeout(3*time.Second, node.Timeout(4*time.Second, slow(silent))), 3 * time.Second, false},
		"zero policy":                      {node.TimeoutPolicy{}.Wrap(slow(silent)), 10 * time.Second, true},
		"Retry around: one for an attempt": {node.Retry(node.RetryPolicy{Initial: -1}, node.Timeout(3*time.Second, slow(silent))), 9 * time.Second, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				snap, err := single(t, c.node).Invoke(t.Context())
				require.Equal(t, c.took, time.Since(start))
				if c.ok {
					require.NoError(t, err)
					require.Equal(t, []string{"end"}, trail.Get(snap))
					return
				}
				require.ErrorIs(t, err, graph.ErrTimeout)
				require.ErrorContains(t, err, `node "n"`)
			})
		})
	}
}

// TestTimeoutDropsLateResult proves that an update which a node returns after its
// timeout is dropped, and that the error holds the timeout and the node's own error.
func TestTimeoutDropsLateResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, own := range []error{nil, errBroken} {
			snap, err := single(t, node.Timeout(time.Second, func(ctx context.Context, _ state.View) (state.Update, error) {
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), graph.ErrTimeout)
				return state.Update{trail.Put("late")}, own
			})).Invoke(t.Context())
			require.ErrorIs(t, err, graph.ErrTimeout)
			require.Empty(t, trail.Get(snap))
			if own != nil {
				require.ErrorIs(t, err, own)
			}
		}
	})
}

// TestIdleTimeoutIgnoresSlowReader proves that IdleTimeout does not count the time for
// which Emit waits for a slow reader, and counts the time in which the node is silent.
func TestIdleTimeoutIgnoresSlowReader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy node.TimeoutPolicy
		silent time.Duration // how long the node is silent after it emitted its values
		fails  bool
	}{
		"no silence":                  {policy: node.TimeoutPolicy{Idle: time.Second}},
		"short silence":               {policy: node.TimeoutPolicy{Idle: time.Second}, silent: 900 * time.Millisecond},
		"long silence":                {policy: node.TimeoutPolicy{Idle: time.Second}, silent: 2 * time.Second, fails: true},
		"HeartbeatOnly, no silence":   {policy: node.TimeoutPolicy{Idle: time.Second, HeartbeatOnly: true}},
		"HeartbeatOnly, long silence": {policy: node.TimeoutPolicy{Idle: time.Second, HeartbeatOnly: true}, silent: 1100 * time.Millisecond, fails: true},
		"Run":                         {policy: node.TimeoutPolicy{Run: time.Minute, Idle: time.Second}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				values := 3
				if c.policy.Run > 0 {
					values = 10 // the reader needs more than a minute to read them
				}
				g := single(t, c.policy.Wrap(func(ctx context.Context, _ state.View) (state.Update, error) {
					for i := range values {
						graph.Emit(ctx, i)
					}
					select {
					case <-time.After(c.silent):
					case <-ctx.Done():
					}
					return nil, ctx.Err()
				}))
				var err error
				for e, eerr := range g.Thread("t").Stream(t.Context(), graph.Begin()) {
					if err = eerr; err != nil {
						break
					}
					if _, ok := e.(graph.Emitted); ok {
						time.Sleep(10 * time.Second)
					}
				}
				if c.fails {
					require.ErrorIs(t, err, graph.ErrTimeout)
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}

// TestEmitReturnsWhenContextEnds proves that Emit stops waiting for a slow reader when
// the context that it was given ends.
func TestEmitReturnsWhenContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var waited time.Duration
		g := single(t, func(ctx context.Context, _ state.View) (state.Update, error) {
			graph.Emit(ctx, "received by the reader")
			graph.Emit(ctx, "received next")
			begin := time.Now()
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			graph.Emit(short, "not received in time")
			waited = time.Since(begin)
			return nil, nil
		})
		for e, err := range g.Thread("t").Stream(t.Context(), graph.Begin()) {
			require.NoError(t, err)
			if _, ok := e.(graph.Emitted); ok {
				time.Sleep(time.Minute)
			}
		}
		require.Equal(t, time.Second, waited)
	})
}
