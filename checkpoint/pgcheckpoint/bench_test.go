package pgcheckpoint_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
)

func BenchmarkStore(b *testing.B) {
	checkpointtest.Bench(b, func(tb testing.TB) checkpoint.Store { return newPlace(tb).open(tb) })
}

// BenchmarkLoad reads the newest checkpoint, the state and the history of a thread with
// 10,001 messages, one for each superstep.
func BenchmarkLoad(b *testing.B) {
	store := newPlace(b).open(b)
	const messages = 10_001 // odd, because the loop ends with the node "agent"
	g := loopGraph(b, store, messages)
	runLoop(b, g, "t", messages)
	b.Run("store", func(b *testing.B) {
		for b.Loop() {
			c, err := store.Get(b.Context(), checkpoint.Key{Thread: "t"})
			require.NoError(b, err)
			require.Len(b, c.Lineage, messages+1)
		}
	})
	b.Run("state", func(b *testing.B) {
		for b.Loop() {
			snap, err := g.Thread("t").Snapshot(b.Context())
			require.NoError(b, err)
			require.Equal(b, messages, loopMessages.Len(snap))
		}
	})
	b.Run("history", func(b *testing.B) {
		for b.Loop() {
			n := 0
			for _, err := range store.List(b.Context(), checkpoint.Query{Thread: "t"}) {
				require.NoError(b, err)
				n++
			}
			require.Equal(b, messages+1, n)
		}
	})
}

// BenchmarkCommits stores checkpoints of 32 threads concurrently, with a lease for each
// thread.
func BenchmarkCommits(b *testing.B) {
	const threads = 32
	p := newPlace(b)
	store := p.migrated(b, p.pool(b, func(c *pgxpool.Config) { c.MaxConns = threads }))
	leases := make([]checkpoint.Lease, threads)
	for i := range leases {
		leases[i] = lease(b, store, fmt.Sprint("thread-", i))
	}
	made := make([]int, threads)
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var wait sync.WaitGroup
	for i := range threads {
		wait.Go(func() {
			thread := fmt.Sprint("thread-", i)
			for left.Add(-1) >= 0 {
				made[i]++
				c := step(thread, made[i])
				if !assert.NoError(b, leases[i].Put(context.Background(), c, c.Parent)) {
					return
				}
			}
		})
	}
	wait.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}
