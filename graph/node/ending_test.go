package node_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// single returns a graph of one node with a store. The run of a thread waits until
// its reader has taken each event.
func single(t *testing.T, fn graph.NodeFunc) *graph.Graph {
	t.Helper()
	b := graph.New("single")
	b.Node("a", fn)
	b.Edge(graph.Start, "a")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// TestNoWaitIsLongerThanMax proves that Max bounds every wait, the first one too.
func TestNoWaitIsLongerThanMax(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]node.RetryPolicy{
		"default first wait": {Attempts: 3, Max: 10 * time.Millisecond, NoJitter: true},
		"own first wait":     {Attempts: 3, Initial: time.Hour, Max: 10 * time.Millisecond, NoJitter: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				g := single(t, node.Retry(p, func(context.Context, state.View) (state.Update, error) {
					return nil, errors.New("no")
				}))
				_, err := g.Invoke(t.Context())
				require.Error(t, err)
				require.Equal(t, 20*time.Millisecond, time.Since(begin), "both waits")
			})
		})
	}
}

// TestIdleTimeoutAndASlowReader proves that the time for which a value waits for its
// reader does not count as silence of the node, and that silence does.
func TestIdleTimeoutAndASlowReader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy node.TimeoutPolicy
		silent time.Duration // of the node, after its values
		fails  bool
	}{
		"emits all the time":       {policy: node.TimeoutPolicy{Idle: time.Second}},
		"then works for a while":   {policy: node.TimeoutPolicy{Idle: time.Second}, silent: 900 * time.Millisecond},
		"then is silent":           {policy: node.TimeoutPolicy{Idle: time.Second}, silent: 2 * time.Second, fails: true},
		"heartbeats only":          {policy: node.TimeoutPolicy{Idle: time.Second, HeartbeatOnly: true}},
		"heartbeats only, silent":  {policy: node.TimeoutPolicy{Idle: time.Second, HeartbeatOnly: true}, silent: 1100 * time.Millisecond, fails: true},
		"a bound of the whole run": {policy: node.TimeoutPolicy{Run: time.Minute, Idle: time.Second}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				values := 3
				if c.policy.Run > 0 {
					values = 10 // the reader takes more than a minute for them
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

// TestEmitEndsWithItsContext proves that a node whose context ends does not wait for
// the reader of its values.
func TestEmitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var waited time.Duration
		g := single(t, func(ctx context.Context, _ state.View) (state.Update, error) {
			graph.Emit(ctx, "the reader is busy with this")
			begin := time.Now()
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			graph.Emit(short, "nobody waits for this")
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
