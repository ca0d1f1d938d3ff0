package node_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// TestLimitBoundsConcurrentRuns proves that as many runs of a node as the limit allows
// proceed at once, and no more.
func TestLimitBoundsConcurrentRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, peak atomic.Int64
		g := single(t, node.Limit(3, func(context.Context, state.View) (state.Update, error) {
			if n := now.Add(1); n > peak.Load() {
				peak.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
			return nil, nil
		}))
		start := time.Now()
		var all sync.WaitGroup
		for range 9 {
			all.Go(func() {
				_, err := g.Invoke(t.Context())
				assert.NoError(t, err)
			})
		}
		all.Wait()
		assert.EqualValues(t, 3, peak.Load(), "concurrent runs")
		assert.Equal(t, 3*time.Second, time.Since(start))
	})
}

// TestLimitWaitEndsWithContext proves that a run which waits for its turn fails when
// its context ends, and that a limit below 1 counts as 1.
func TestLimitWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var runs atomic.Int64
		g := single(t, node.Limit(0, func(ctx context.Context, _ state.View) (state.Update, error) {
			runs.Add(1)
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil, ctx.Err()
		}))
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				_, err := g.Invoke(ctx)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		all.Wait()
		assert.EqualValues(t, 1, runs.Load())
	})
}
