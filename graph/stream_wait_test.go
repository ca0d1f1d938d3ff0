package graph_test

import (
	"context"
	"runtime/metrics"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestSlowStreamsDoNotPoll proves that streams use no processor time while they wait for
// slow nodes. In a synctest bubble, time advances to the next timer when all goroutines
// wait. If the engine polled for events every millisecond, the test would not end.
func TestSlowStreamsDoNotPoll(t *testing.T) {
	t.Parallel()
	for _, thread := range []bool{false, true} {
		t.Run(words("thread", thread), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const streams, tokens, pause = 400, 5, 73 * 24 * time.Hour
				var s checkpoint.Store
				if thread {
					s = newStore()
				}
				g := build(t, s, func(b *graph.Builder) {
					for _, name := range []string{"a", "b"} { // one node emits values, the other does not
						b.Node(name, func(ctx context.Context, _ state.View) (state.Update, error) {
							for i := range tokens {
								time.Sleep(pause)
								if name == "a" {
									graph.Emit(ctx, i)
								}
							}
							return nil, nil
						})
						b.Edge(graph.Start, name)
					}
				})
				begin := time.Now()
				var wg sync.WaitGroup
				for i := range streams {
					wg.Go(func() {
						events := g.Stream(t.Context(), trail.Put("in"))
						if thread {
							events = g.Thread(words(i)).Stream(t.Context(), trail.Put("in"))
						}
						seen := 0
						for e, err := range events {
							if !assert.NoError(t, err) {
								return
							}
							if _, ok := e.(graph.Emitted); ok {
								seen++
								assert.Equal(t, time.Duration(seen)*pause, time.Since(begin), "when token %d arrives", seen)
							}
						}
						assert.Equal(t, tokens, seen)
					})
				}
				wg.Wait()
				require.Equal(t, tokens*pause, time.Since(begin))
			})
		})
	}
}

// TestSlowReaderDoesNotMakeRunPoll proves that a run uses no processor time while it waits
// for a slow reader.
func TestSlowReaderDoesNotMakeRunPoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const tokens, pause = 5, 73 * 24 * time.Hour
		g := build(t, nil, func(b *graph.Builder) {
			b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
				for i := range tokens {
					graph.Emit(ctx, i)
				}
				return nil, nil
			})
			b.Edge(graph.Start, "a")
		})
		begin := time.Now()
		for e, err := range g.Stream(t.Context()) {
			require.NoError(t, err)
			if _, ok := e.(graph.Emitted); ok {
				time.Sleep(pause)
			}
		}
		require.Equal(t, tokens*pause, time.Since(begin))
	})
}

// TestWaitForTokenDoesNotSpin proves that waiting for an event costs a few goroutine
// switches. A reader that spins until the next event would cost hundreds. The test is not
// parallel, so that switches of other tests are not counted.
func TestWaitForTokenDoesNotSpin(t *testing.T) {
	for _, thread := range []bool{false, true} {
		t.Run(words("thread", thread), func(t *testing.T) {
			const streams, tokens = 100, 50
			var s checkpoint.Store
			if thread {
				s = newStore()
			}
			g := build(t, s, func(b *graph.Builder) {
				b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
					for i := range tokens {
						time.Sleep(5 * time.Millisecond)
						graph.Emit(ctx, i)
					}
					return nil, nil
				})
				b.Edge(graph.Start, "a")
			})
			before := switches(t)
			synctest.Test(t, func(t *testing.T) {
				var wg sync.WaitGroup
				for i := range streams {
					wg.Go(func() {
						events := g.Stream(t.Context(), trail.Put("in"))
						if thread {
							events = g.Thread(words(i)).Stream(t.Context(), trail.Put("in"))
						}
						for _, err := range events {
							if !assert.NoError(t, err) {
								return
							}
						}
					})
				}
				wg.Wait()
			})
			perToken := (switches(t) - before) / (streams * tokens)
			t.Logf("%.1f switches of goroutines for each token", perToken)
			require.Less(t, perToken, 10.0)
		})
	}
}

// switches returns the number of goroutine switches so far. The runtime only counts every
// eighth switch.
func switches(t *testing.T) float64 {
	t.Helper()
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	require.Equal(t, metrics.KindFloat64Histogram, sample[0].Value.Kind())
	var n uint64
	for _, count := range sample[0].Value.Float64Histogram().Counts {
		n += count
	}
	return 8 * float64(n)
}
