package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// counting compiles a graph that loops until the total is n. It calls the function each
// with the total before each superstep.
func counting(t testing.TB, s checkpoint.Store, n int, o graph.Options, each func(ctx context.Context, done int)) *graph.Graph {
	b := graph.New("count", total, note)
	b.Node("n", func(ctx context.Context, v state.View) (state.Update, error) {
		each(ctx, total.Get(v))
		return state.Update{total.Put(1)}, nil
	})
	b.Edge(graph.Start, "n")
	b.Branch("n", func(v state.View) (string, error) {
		if total.Get(v) < n {
			return "n", nil
		}
		return graph.End, nil
	}, "n", graph.End)
	o.Checkpoints = s
	return compile(t, b, o)
}

// TestMaxStepsStopsRun proves that a run which needs exactly MaxSteps supersteps
// succeeds, that a run which needs one more fails and keeps its state, and that the next
// run resumes it.
func TestMaxStepsStopsRun(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var remaining []int
		g := counting(t, s, 5, graph.Options{MaxSteps: 5}, func(ctx context.Context, _ int) {
			remaining = append(remaining, graph.RemainingSteps(ctx))
		})
		done(t, g.Thread("exact"), note.Put("go"))
		require.Equal(t, []int{4, 3, 2, 1, 0}, remaining)
		th := g.Thread("less")
		snap, err := th.With(graph.RunOptions{MaxSteps: 4}).Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, graph.ErrMaxSteps)
		require.ErrorContains(t, err, "4 ran")
		require.ErrorContains(t, err, `"n"`)
		require.Equal(t, 4, total.Get(snap))
		require.Equal(t, []string{"n"}, snap.Next)
		done(t, th)
		snap, err = g.Invoke(t.Context(), note.Put("go"))
		require.NoError(t, err)
		require.Equal(t, 5, total.Get(snap))
	})
}

// TestMaxParallelBoundsTasks proves that as many tasks run at once as MaxParallel
// allows, and no more.
func TestMaxParallelBoundsTasks(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 3, 7} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d, stream %t", most, stream), func(t *testing.T) {
				t.Parallel()
				maxParallel(t, most, stream)
			})
		}
	}
}

func maxParallel(t *testing.T, most int, stream bool) {
	t.Helper()
	var now, peak atomic.Int64
	var once sync.Once
	full := make(chan struct{}) // closed when the maximum number of tasks run
	b := graph.New("g", total)
	b.BranchMany(graph.Start, func(state.View) (state.Update, error) {
		var u state.Update
		for range 7 {
			u = append(u, graph.Send("w"))
		}
		return u, nil
	}, "w")
	b.Node("w", func(ctx context.Context, _ state.View) (state.Update, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
		}
		if n == int64(most) {
			once.Do(func() { close(full) })
		}
		<-full
		graph.Emit(ctx, n)
		return state.Update{total.Put(1)}, nil
	})
	g := compile(t, b, graph.Options{MaxParallel: most})
	if stream {
		for _, err := range g.Stream(t.Context()) {
			require.NoError(t, err)
		}
	} else {
		snap, err := g.Invoke(t.Context())
		require.NoError(t, err)
		require.Equal(t, 7, total.Get(snap))
	}
	require.EqualValues(t, most, peak.Load(), "tasks that ran at once")
}

// TestTasksThatWaitForEachOtherRunAtOnce proves that a task which waits delays no other
// task, although quick tasks share goroutines.
func TestTasksThatWaitForEachOtherRunAtOnce(t *testing.T) {
	t.Parallel()
	const n = 1000
	var waiting sync.WaitGroup
	waiting.Add(n / 2)
	g := build(t, nil, func(b *graph.Builder) {
		b.BranchMany(graph.Start, func(state.View) (state.Update, error) {
			var u state.Update
			for i := range n {
				u = append(u, graph.Send("w", total.Put(i)))
			}
			return u, nil
		}, "w")
		b.Node("w", func(_ context.Context, v state.View) (state.Update, error) {
			switch i := total.Get(v); {
			case i%2 == 0:
				waiting.Done()
				waiting.Wait()
			case i%31 == 0:
				runtime.Gosched()
			}
			return state.Update{total.Put(1)}, nil
		})
	})
	snap, err := g.Invoke(t.Context())
	require.NoError(t, err)
	require.Equal(t, n, total.Get(snap))
}

// TestDrainedRunEndsAfterSuperstep proves that a drained run completes and stores its
// superstep, that its nodes keep their context, and that the next run resumes. A run
// that is drained in its last superstep succeeds.
func TestDrainedRunEndsAfterSuperstep(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			var drain context.CancelCauseFunc
			at := 2
			g := counting(t, s, 5, graph.Options{}, func(ctx context.Context, done int) {
				if done == at {
					drain(graph.ErrDrained)
					assert.NoError(t, ctx.Err(), "the context of a drained node")
				}
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			drain = cancel
			th := in(g.Thread(mode.String()), mode)
			snap, err := th.Invoke(ctx, note.Put("go"))
			require.ErrorIs(t, err, graph.ErrDrained)
			require.Equal(t, 3, total.Get(snap), mode)
			require.Equal(t, 3, total.Get(snapshot(t, th)), mode)
			_, err = th.Invoke(ctx) // the context has already ended with ErrDrained
			require.ErrorIs(t, err, graph.ErrDrained)
			at = 4
			ctx, cancel = context.WithCancelCause(t.Context())
			drain = cancel
			snap, err = th.Invoke(ctx)
			require.NoError(t, err, mode)
			require.True(t, snap.Done(), mode)
			require.Equal(t, 5, total.Get(snap), mode)
		}
	})
}

// TestRunWithEndedContextDoesNothing proves that a run whose context has ended fails
// with its cause, runs no node and stores nothing.
func TestRunWithEndedContextDoesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("too late")
		cancel(cause)
		th := lone(t, s, func(context.Context, state.View) (state.Update, error) {
			assert.Fail(t, "the node ran")
			return nil, nil
		})
		_, err := th.Invoke(ctx, note.Put("go"))
		require.ErrorIs(t, err, cause)
		var last error
		for _, last = range th.Stream(ctx, note.Put("go")) {
		}
		require.ErrorIs(t, last, cause)
		_, err = th.Snapshot(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
	})
}

// TestRunOptionsAreChecked proves that a run with an invalid option fails and stores
// nothing.
func TestRunOptionsAreChecked(t *testing.T) {
	t.Parallel()
	th := trailGraph(t, graph.Options{Checkpoints: stores["memory"](t)}, "a").Thread("t")
	bad := graph.Durability(9)
	for _, c := range []struct {
		opts graph.RunOptions
		want error
	}{
		{graph.RunOptions{PauseBefore: []string{"typo"}}, graph.ErrUnknownNode},
		{graph.RunOptions{PauseAfter: []string{"typo"}}, graph.ErrUnknownNode},
		{graph.RunOptions{MaxSteps: -1}, checkpoint.ErrInvalid},
		{graph.RunOptions{MaxParallel: -1}, checkpoint.ErrInvalid},
		{graph.RunOptions{Durability: &bad}, checkpoint.ErrInvalid},
	} {
		_, err := th.With(c.opts).Invoke(t.Context(), trail.Put("in"))
		assert.ErrorIs(t, err, c.want, "%+v", c.opts)
	}
	_, err := th.Snapshot(t.Context())
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
}
