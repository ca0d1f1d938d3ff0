package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// counting is a graph that loops until the total is n.
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

// TestMaxSteps: a run that needs exactly as many as it may take succeeds, one
// that needs one more does not, and goes on in the next run.
func TestMaxSteps(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var remaining []int
		g := counting(t, s, 5, graph.Options{MaxSteps: 5}, func(ctx context.Context, _ int) {
			remaining = append(remaining, graph.RemainingSteps(ctx))
		})
		done(t, g.Thread("exact"), note.Put("go"))
		if !slices.Equal(remaining, []int{4, 3, 2, 1, 0}) {
			t.Fatalf("got remaining %v", remaining)
		}
		th := g.Thread("less")
		snap, err := th.With(graph.RunOptions{MaxSteps: 4}).Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, graph.ErrMaxSteps)
		require.ErrorContains(t, err, "4 ran")
		require.ErrorContains(t, err, `"n"`)
		if total.Get(snap) != 4 || !slices.Equal(snap.Next, []string{"n"}) {
			t.Fatalf("got %d and next %q", total.Get(snap), snap.Next)
		}
		done(t, th)
		if snap, err := g.Invoke(t.Context(), note.Put("go")); err != nil || total.Get(snap) != 5 {
			t.Fatalf("got %v", err)
		}
	})
}

// TestMaxParallel: no more tasks run at once, and as many do.
func TestMaxParallel(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 3, 7} {
		for _, stream := range []bool{false, true} {
			var now, peak atomic.Int64
			full := make(chan struct{})
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
					select {
					case <-full:
					default:
						close(full)
					}
				}
				<-full // until as many run as may
				graph.Emit(ctx, n)
				return state.Update{total.Put(1)}, nil
			})
			g := compile(t, b, graph.Options{MaxParallel: most})
			if stream {
				for _, err := range g.Stream(t.Context()) {
					require.NoError(t, err)
				}
			} else if snap, err := g.Invoke(t.Context()); err != nil || total.Get(snap) != 7 {
				t.Fatal(err)
			}
			if peak.Load() != int64(most) {
				t.Fatalf("%d ran at once, want %d", peak.Load(), most)
			}
		}
	}
}

// TestDrain: a run that is drained ends at the end of its superstep, keeps it,
// and goes on in the next run. One that is at its end just ends.
func TestDrain(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			var drain context.CancelCauseFunc
			at := 2
			g := counting(t, s, 5, graph.Options{}, func(ctx context.Context, done int) {
				if done == at {
					drain(graph.ErrDrained)
					if ctx.Err() != nil {
						t.Error("a drained node lost its context")
					}
				}
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			drain = cancel
			th := in(g.Thread(mode.String()), mode)
			snap, err := th.Invoke(ctx, note.Put("go"))
			require.ErrorIs(t, err, graph.ErrDrained)
			if total.Get(snap) != 3 || total.Get(snapshot(t, th)) != 3 {
				t.Fatalf("%v: got %d", mode, total.Get(snap))
			}
			_, err = th.Invoke(ctx) // still drained
			require.ErrorIs(t, err, graph.ErrDrained)
			at = 4
			ctx, cancel = context.WithCancelCause(t.Context())
			drain = cancel
			if snap, err = th.Invoke(ctx); err != nil || !snap.Done() || total.Get(snap) != 5 {
				t.Fatalf("%v: got %v", mode, err)
			}
		}
	})
}

// TestEndedContext: a run with a context that has ended does nothing.
func TestEndedContext(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("too late")
		cancel(why)
		th := lone(t, s, func(context.Context, state.View) (state.Update, error) {
			t.Error("the node ran")
			return nil, nil
		})
		_, err := th.Invoke(ctx, note.Put("go"))
		if !errors.Is(err, why) {
			t.Fatalf("got error %v", err)
		}
		var last error
		for _, last = range th.Stream(ctx, note.Put("go")) {
		}
		if !errors.Is(last, why) {
			t.Fatalf("got error %v", last)
		}
		_, err = th.Snapshot(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
	})
}

// TestStaticPauses: before and after nodes, of the graph, of a run, and at all.
func TestStaticPauses(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		cases := map[string]struct {
			graph graph.Options
			run   graph.RunOptions
			stops []string // kind, nodes and trail at each stop
		}{
			"before":  {graph: graph.Options{PauseBefore: []string{"b"}}, stops: []string{"before [b] [a]"}},
			"after":   {graph: graph.Options{PauseAfter: []string{"b"}}, stops: []string{"after [b] [a b c]"}},
			"first":   {graph: graph.Options{PauseBefore: []string{"a"}}, stops: []string{"before [a] []"}},
			"last":    {graph: graph.Options{PauseAfter: []string{"d"}}},
			"run":     {run: graph.RunOptions{PauseBefore: []string{"d"}}, stops: []string{"before [d] [a b c]"}},
			"both":    {graph: graph.Options{PauseBefore: []string{"b"}}, run: graph.RunOptions{PauseAfter: []string{"c"}}, stops: []string{"before [b] [a]", "after [c] [a b c]"}},
			"beside":  {graph: graph.Options{PauseBefore: []string{"b", "c"}}, stops: []string{"before [b c] [a]"}},
			"all":     {graph: graph.Options{PauseBefore: []string{graph.AllNodes}}, stops: []string{"before [a] []", "before [b c] [a]", "before [d] [a b c]"}},
			"run all": {run: graph.RunOptions{PauseAfter: []string{graph.AllNodes}}, stops: []string{"after [a] [a]", "after [b c] [a b c]"}},
		}
		for name, c := range cases {
			b := graph.New("g", trail, note)
			for _, n := range []string{"a", "b", "c", "d"} {
				b.Node(n, mark(n))
			}
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Edge("a", "c")
			b.Join("d", "b", "c")
			c.graph.Checkpoints = s
			th := compile(t, b, c.graph).Thread(name).With(c.run)
			snap := invoke(t, th, note.Put("go"))
			for _, stop := range c.stops {
				var nodes []string
				for _, p := range snap.Pauses {
					nodes = append(nodes, p.Node)
				}
				if got := fmt.Sprint(snap.Pauses[0].Kind, " ", nodes, " ", trail.Get(snap)); got != stop {
					t.Fatalf("%s: got %s, want %s", name, got, stop)
				}
				snap = invoke(t, th)
			}
			if !snap.Done() || len(snap.Pauses) > 0 || trail.Len(snap) != 4 {
				t.Fatalf("%s: got %+v", name, snap)
			}
		}
	})
}
