package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestLongRunsAllocateNoMorePerSuperstep proves that the bytes that a superstep allocates do
// not grow with the length of the run, in every durability mode: a superstep of 20,000
// allocates at most twice the bytes of a superstep of 1,000. It is not parallel, so that
// allocations of other tests are not counted.
func TestLongRunsAllocateNoMorePerSuperstep(t *testing.T) {
	for _, d := range modes {
		t.Run(d.String(), func(t *testing.T) {
			short, long := bytesAStep(t, d, 1_000), bytesAStep(t, d, 20_000)
			require.LessOrEqual(t, long, 2*short, "bytes that a superstep of 20,000 allocates; one of 1,000 allocates %d", short)
		})
	}
}

func bytesAStep(t *testing.T, d graph.Durability, steps int) uint64 {
	t.Helper()
	b := graph.New("long", total, trail)
	repeat(b, "a", steps, func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put("0123456789")}, nil
	})
	b.Edge(graph.Start, "a")
	g := compile(t, b, graph.Options{Checkpoints: newStore(), Durability: d, MaxSteps: steps + 1})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done(t, g.Thread("t"), graph.Begin())
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) / uint64(steps)
}

// TestExitMemoryIsBounded proves that a run under Exit does not keep values in memory that
// later supersteps have replaced.
func TestExitMemoryIsBounded(t *testing.T) {
	t.Parallel()
	const steps, size = 2_000, 1 << 10
	held := 0
	s := &gatedStore{Store: newStore(), put: func(_ context.Context, c *checkpoint.Checkpoint) error {
		held = 0
		for _, list := range [][]checkpoint.Change{c.Snapshot, c.Changes} {
			for i := range list {
				held += len(list[i].Data)
			}
		}
		return nil
	}}
	b := graph.New("long", total, note)
	repeat(b, "a", steps, func(context.Context, state.View) (state.Update, error) {
		return state.Update{note.Put(strings.Repeat("x", size))}, nil
	})
	b.Edge(graph.Start, "a")
	g := compile(t, b, graph.Options{Checkpoints: s, Durability: graph.Exit, MaxSteps: steps + 1})
	snap := done(t, g.Thread("t"), graph.Begin())
	require.Len(t, note.Get(snap), size)
	// After 64 changes, the engine replaces them by a snapshot.
	require.LessOrEqual(t, held, 2*64*size, "bytes of the checkpoint, of a state of %d", size)
	require.Equal(t, note.Get(snap), note.Get(snapshot(t, g.Thread("t"))))
	require.Equal(t, steps, total.Get(snapshot(t, g.Thread("t"))))
}

// fanOut returns a graph whose first node sends n tasks.
func fanOut(t *testing.T, s checkpoint.Store, n int, work graph.NodeFunc) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		b.Node("first", func(context.Context, state.View) (state.Update, error) {
			var u state.Update
			for i := range n {
				u = append(u, graph.Send("work", item.Put(i)))
			}
			return u, nil
		})
		b.Node("work", work)
		b.Edge(graph.Start, "first")
		b.Destinations("first", "work")
	})
}

// TestResultsAreStoredTogether proves that a large fan-out stores its results in few
// calls, and that no result waits for a slow task.
func TestResultsAreStoredTogether(t *testing.T) {
	t.Parallel()
	for _, d := range []graph.Durability{graph.Sync, graph.Async} {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const tasks = 1_000
				var calls, stored atomic.Int64
				s := &gatedStore{Store: newStore(), putWrites: func(_ context.Context, writes []checkpoint.Write) error {
					calls.Add(1)
					stored.Add(int64(len(writes)))
					time.Sleep(time.Millisecond)
					return nil
				}}
				g := fanOut(t, s, tasks, func(ctx context.Context, v state.View) (state.Update, error) {
					if item.Get(v) == tasks/2 {
						return nil, sleep(ctx, time.Hour)
					}
					return state.Update{total.Put(1)}, nil
				})
				th := in(g.Thread("t"), d)
				var wg sync.WaitGroup
				wg.Go(func() {
					snap, err := th.Invoke(t.Context(), total.Put(0))
					assert.NoError(t, err)
					assert.Equal(t, tasks-1, total.Get(snap))
				})
				time.Sleep(time.Minute) // after a minute, only the slow task still runs
				finished := 0
				for _, task := range snapshot(t, th).Tasks {
					if task.Finished {
						finished++
					}
				}
				assert.Equal(t, tasks-1, finished, "results in the store while the slow task runs")
				assert.EqualValues(t, tasks-1, stored.Load(), "pending writes, one for each result")
				wg.Wait()
				if d == graph.Sync {
					assert.Less(t, calls.Load(), int64(tasks/20), "calls of PutWrites")
				}
			})
		})
	}
}

// TestRefusedResultFailsItsTask proves that if the store rejects the result of one task in
// a batch, only this task fails.
func TestRefusedResultFailsItsTask(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{checkpoint.ErrTooLarge, checkpoint.ErrInvalid} {
		t.Run(refusal.Error(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const tasks, guilty = 100, 42
				text := "large"
				s := &gatedStore{Store: newStore(), putWrites: func(_ context.Context, writes []checkpoint.Write) error {
					time.Sleep(time.Millisecond)
					for _, w := range writes {
						if strings.Contains(string(w.Data), `"large"`) {
							return fmt.Errorf("a value of %s: %w", w.Task, refusal)
						}
					}
					return nil
				}}
				runs := &counter{}
				g := fanOut(t, s, tasks, func(_ context.Context, v state.View) (state.Update, error) {
					runs.add(fmt.Sprint(item.Get(v)))
					if item.Get(v) == guilty {
						return state.Update{trail.Put(text)}, nil
					}
					return state.Update{total.Put(1)}, nil
				})
				snap, err := g.Thread("t").Invoke(t.Context(), total.Put(0))
				require.ErrorIs(t, err, refusal)
				var failed *graph.NodeError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, fmt.Sprintf("work[%d]", guilty), failed.Task)
				require.Equal(t, []string{"work"}, snap.Next, "tasks that have to run again")
				require.NotEmpty(t, snapshot(t, g.Thread("t")).Tasks[guilty].Err)
				text = "small"
				snap = done(t, g.Thread("t"))
				require.Equal(t, tasks-1, total.Get(snap))
				for i := range tasks {
					want := 1
					if i == guilty {
						want = 2
					}
					runs.want(t, fmt.Sprint(i), want)
				}
			})
		})
	}
}
