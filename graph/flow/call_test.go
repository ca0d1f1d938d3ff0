package flow_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/state"
)

// counter compiles a graph that adds 1 in three supersteps and then asks a question.
func counter(t *testing.T, runs *atomic.Int32, o graph.Options) *graph.Graph {
	t.Helper()
	b := graph.New("counter", number)
	b.Node("add", func(_ context.Context, s state.View) (state.Update, error) {
		runs.Add(1)
		return state.Update{number.Put(number.Get(s) + 1)}, nil
	})
	b.Node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		n, err := ask.Wait(ctx, fmt.Sprint(number.Get(s)))
		if err != nil {
			return nil, err
		}
		return state.Update{number.Put(number.Get(s) + n)}, nil
	})
	b.Edge(graph.Start, "add")
	b.Branch("add", func(s state.View) (string, error) {
		if number.Get(s)%10 < 3 {
			return "add", nil
		}
		return "ask", nil
	}, "add", "ask")
	g, err := b.Compile(o)
	require.NoError(t, err)
	return g
}

// counted returns a middleware that counts the executions of nodes.
func counted(n *atomic.Int32) graph.Middleware {
	return func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			n.Add(1)
			return next(ctx, s)
		}
	}
}

// Two graphs that a flow calls concurrently resume in a new build of the flow, as in another
// process, each at its question. The questions name the tasks. Neither graph sees the state of
// the other.
func TestCalledGraphsResumeWhereTheyAsked(t *testing.T) {
	t.Parallel()
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		for _, mode := range modes {
			var runs, wrapped, outer, after atomic.Int32
			build := func() *flow.Flow[[]int, []int] {
				g := counter(t, &runs, graph.Options{Checkpoints: store, Middleware: []graph.Middleware{counted(&wrapped)}})
				f, err := flow.New("job", func(ctx context.Context, ns []int) ([]int, error) {
					var futures []int
					first := flow.Go(ctx, "first", constant(1))
					sums, err := flow.Map(ctx, ns, 0, func(n int) string { return fmt.Sprint("count/", n) }, func(ctx context.Context, n int) (int, error) {
						return flow.Call(ctx, "graph", g, number.Get, number.Put(n))
					})
					if err != nil {
						return nil, err
					}
					after.Add(1)
					n, err := first.Wait(ctx)
					return append(append(futures, n), sums...), err
				}, graph.Options{Checkpoints: store, Durability: mode, Middleware: []graph.Middleware{counted(&outer)}})
				require.NoError(t, err)
				return f
			}
			f, thread := build(), mode.String()
			snap, err := f.Thread(thread).Invoke(t.Context(), f.Input([]int{10, 20}))
			require.NoError(t, err)
			for range 2 {
				assert.Zero(t, after.Load())
				open, err := ask.Open(snap)
				require.NoError(t, err)
				require.NotEmpty(t, open)
				q := open[len(open)-1]
				assert.Equal(t, fmt.Sprintf("flow~count%%2F%c0~graph/ask", q.Prompt[0]), q.Path)
				f = build()
				snap, err = f.Thread(thread).Invoke(t.Context(), ask.Answer(q.ID, 100*int(q.Prompt[0]-'0')))
				require.NoError(t, err)
			}
			assert.True(t, snap.Done())
			assert.Equal(t, []int{1, 113, 223}, f.Output(snap))
			assert.Equal(t, int32(6), runs.Load(), "the nodes before the questions ran once")
			assert.Equal(t, int32(10), wrapped.Load(), "the middleware of a called graph wraps its nodes")
			assert.Equal(t, int32(3), outer.Load(), "the middleware of the flow wraps the flow")
		}
	})
}

// A flow whose called graph is drained has not failed, even if its function handles the error: the next run continues in
// the called graph.
func TestADrainedCallContinues(t *testing.T) {
	t.Parallel()
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		for _, mode := range modes {
			ctx, drain := context.WithCancelCause(t.Context())
			firsts := 0
			b := graph.New("steps", number)
			b.Node("first", func(context.Context, state.View) (state.Update, error) {
				firsts++
				drain(graph.ErrDrained)
				return state.Update{number.Put(1)}, nil
			})
			b.Node("second", func(_ context.Context, s state.View) (state.Update, error) {
				return state.Update{number.Put(number.Get(s) + 1)}, nil
			})
			b.Edge(graph.Start, "first")
			b.Edge("first", "second")
			g, err := b.Compile(graph.Options{})
			require.NoError(t, err)
			f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
				n, err := flow.Do(ctx, "outer", func(ctx context.Context) (int, error) {
					return flow.Call(ctx, "graph", g, number.Get, number.Put(0))
				})
				if err != nil {
					return -1, nil //nolint:nilerr // the flow handles it
				}
				return n, nil
			}, graph.Options{Checkpoints: store, Durability: mode})
			require.NoError(t, err)
			th := f.Thread(mode.String())
			_, err = th.Invoke(ctx, f.Input(0))
			require.ErrorIs(t, err, graph.ErrDrained, mode)
			snap, err := th.Snapshot(t.Context())
			require.NoError(t, err)
			require.Len(t, snap.Tasks, 1)
			assert.Empty(t, snap.Tasks[0].Err, mode)
			snap, err = th.Invoke(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 2, f.Output(snap), mode)
			assert.Equal(t, 1, firsts, mode)
		}
	})
}

// A flow calls itself, and the calls do not share their channels.
func TestFlowCallsItself(t *testing.T) {
	t.Parallel()
	var f *flow.Flow[int, int]
	f, err := flow.New("factorial", func(ctx context.Context, n int) (int, error) {
		if n == 0 {
			return 1, nil
		}
		before, err := f.Call(ctx, "before", n-1)
		return n * before, err
	}, options())
	require.NoError(t, err)
	snap, err := f.Thread("1").Invoke(t.Context(), f.Input(5))
	require.NoError(t, err)
	assert.Equal(t, 120, f.Output(snap))
}

func TestCallReportsMistakes(t *testing.T) {
	t.Parallel()
	toParent := oneNode(t, func(context.Context, state.View) (state.Update, error) {
		return state.Update{graph.ToParent(graph.Goto("other"))}, nil
	})
	for name, tt := range map[string]struct {
		g    *graph.Graph
		want string
	}{
		"no graph":               {nil, `task "call": the graph is nil; check the error of its Compile`},
		"a write for the parent": {toParent, "the graph writes to its parent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
				return flow.Call(ctx, "call", tt.g, number.Get)
			}, options())
			require.NoError(t, err)
			_, err = f.Thread("1").Invoke(t.Context(), f.Input(1))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// A flow is a subgraph of a graph. Its tasks resume in a new build, as in another process.
func TestFlowIsASubgraph(t *testing.T) {
	t.Parallel()
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		for _, mode := range modes {
			var runs atomic.Int32
			build := func() *graph.Graph {
				f, err := flow.New("inner", func(ctx context.Context, n int) (int, error) {
					got, err := flow.Do(ctx, "load", func(context.Context) (int, error) {
						runs.Add(1)
						return n, nil
					})
					if err != nil {
						return 0, err
					}
					answer, err := flow.Do(ctx, "ask", func(ctx context.Context) (int, error) { return ask.Wait(ctx, "?") })
					return got + answer, err
				}, graph.Options{})
				require.NoError(t, err)
				b := graph.New("outer", number)
				b.SubgraphWith("flow", f.Graph, graph.SubgraphOptions{
					Input: func(s state.View) (state.Update, error) { return state.Update{f.Input(number.Get(s))}, nil },
					Output: func(_, s state.View) (state.Update, error) {
						return state.Update{number.Put(f.Output(s))}, nil
					},
				})
				b.Edge(graph.Start, "flow")
				g, err := b.Compile(graph.Options{Checkpoints: store, Durability: mode})
				require.NoError(t, err)
				return g
			}
			snap, err := build().Thread(mode.String()).Invoke(t.Context(), number.Put(3))
			require.NoError(t, err)
			open, err := ask.Open(snap)
			require.NoError(t, err)
			require.Len(t, open, 1)
			assert.Equal(t, "flow/flow~ask", open[0].Path)
			snap, err = build().Thread(mode.String()).Invoke(t.Context(), ask.Answer(open[0].ID, 4))
			require.NoError(t, err)
			assert.Equal(t, 7, number.Get(snap))
			assert.Equal(t, int32(1), runs.Load())
		}
	})
}
