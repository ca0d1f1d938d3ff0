package node_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// TestRetryWaitsBetweenAttempts proves how often a node runs, how long Retry waits
// before each attempt, and that the updates of failed attempts are dropped.
func TestRetryWaitsBetweenAttempts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		policy node.RetryPolicy
		fails  int // the number of attempts that fail
		waits  []time.Duration
		ok     bool
	}{
		"zero policy":         {node.RetryPolicy{NoJitter: true}, 2, []time.Duration{500 * time.Millisecond, time.Second}, true},
		"too many failures":   {node.RetryPolicy{NoJitter: true}, 3, []time.Duration{500 * time.Millisecond, time.Second}, false},
		"waits up to Max":     {node.RetryPolicy{Attempts: 5, Initial: time.Second, Max: 3 * time.Second, Factor: 3, NoJitter: true}, 4, []time.Duration{1e9, 3e9, 3e9, 3e9}, true},
		"no wait":             {node.RetryPolicy{Attempts: 4, Initial: -1}, 3, []time.Duration{0, 0, 0}, true},
		"one attempt":         {node.RetryPolicy{Attempts: 1}, 1, nil, false},
		"If reports no retry": {node.RetryPolicy{If: func(err error) bool { return !errors.Is(err, errBroken) }}, 1, nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				g := single(t, node.Retry(c.policy, func(ctx context.Context, _ state.View) (state.Update, error) {
					at = append(at, time.Now())
					if r, _ := graph.FromContext(ctx); r.Attempt != len(at) {
						return nil, fmt.Errorf("attempt %d has the number %d", len(at), r.Attempt)
					}
					if len(at) <= c.fails {
						return state.Update{trail.Put("dropped")}, errBroken
					}
					return state.Update{trail.Put("kept")}, nil
				}))
				snap, err := g.Invoke(t.Context())
				var waits []time.Duration
				for i := 1; i < len(at); i++ {
					waits = append(waits, at[i].Sub(at[i-1]))
				}
				require.Equal(t, c.waits, waits)
				if c.ok {
					require.NoError(t, err)
					require.Equal(t, []string{"kept"}, trail.Get(snap))
					return
				}
				require.ErrorIs(t, err, errBroken)
				var failed *graph.NodeError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, len(at), failed.Attempt)
			})
		})
	}
}

// TestRetryMaxBoundsEveryWait proves that Max also bounds the first wait.
func TestRetryMaxBoundsEveryWait(t *testing.T) {
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
					return nil, errBroken
				}))
				_, err := g.Invoke(t.Context())
				require.ErrorIs(t, err, errBroken)
				require.Equal(t, 20*time.Millisecond, time.Since(begin), "sum of both waits")
			})
		})
	}
}

// TestRetryJitterIsRandom proves that a wait with jitter is between half of the wait
// and all of it, and that waits differ.
func TestRetryJitterIsRandom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		different := map[time.Duration]bool{}
		for range 50 {
			var at []time.Time
			g := single(t, node.Retry(node.RetryPolicy{Attempts: 2, Initial: time.Second}, func(context.Context, state.View) (state.Update, error) {
				at = append(at, time.Now())
				return nil, errBroken
			}))
			_, err := g.Invoke(t.Context())
			require.ErrorIs(t, err, errBroken)
			wait := at[1].Sub(at[0])
			require.GreaterOrEqual(t, wait, time.Second/2)
			require.LessOrEqual(t, wait, time.Second)
			different[wait] = true
		}
		require.GreaterOrEqual(t, len(different), 10, "different waits of 50")
	})
}

// TestRetryStopsWhenContextEnds proves that the end of the context cuts a wait short,
// and that the error holds the cause and the node's failure.
func TestRetryStopsWhenContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		start := time.Now()
		_, err := single(t, node.Retry(node.RetryPolicy{Initial: time.Hour}, func(context.Context, state.View) (state.Update, error) {
			return nil, errBroken
		})).Invoke(ctx)
		require.ErrorIs(t, err, cause)
		require.ErrorIs(t, err, errBroken)
		require.Equal(t, time.Second, time.Since(start))
	})
}

// TestRetryDoesNotRepeatPanics proves that the zero policy does not retry a node that
// panics.
func TestRetryDoesNotRepeatPanics(t *testing.T) {
	t.Parallel()
	runs := 0
	_, err := single(t, node.Retry(node.RetryPolicy{}, func(context.Context, state.View) (state.Update, error) {
		runs++
		panic("boom")
	})).Invoke(t.Context())
	var panicked *graph.PanicError
	require.ErrorAs(t, err, &panicked)
	require.Equal(t, 1, runs)
}
