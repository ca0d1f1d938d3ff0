package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestNextRunRunsOnlyTheFailedTask proves that if one of three parallel tasks
// fails, the next run executes only that task.
func TestNextRunRunsOnlyTheFailedTask(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				var runs counter
				g := build(t, s, func(b *graph.Builder) {
					for _, n := range []string{"a", "b", "c"} {
						b.Edge(graph.Start, n)
						b.Node(n, func(context.Context, state.View) (state.Update, error) {
							if runs.add(n) == 1 && n == "b" {
								return nil, errBroken
							}
							return state.Update{trail.Put(n)}, nil
						})
					}
					b.Join("d", "a", "b", "c")
					b.Node("d", mark("d"))
				})
				th := in(g.Thread(mode.String()), mode)
				snap, err := th.Invoke(t.Context(), note.Put("go"))
				require.ErrorIs(t, err, errBroken)
				var failed *graph.NodeError
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, "b", failed.Node)
				assert.Equal(t, "b", failed.Task)
				assert.Equal(t, 1, failed.Attempt)
				for _, at := range []*graph.Snapshot{snap, snapshot(t, th)} {
					wantTrail(t, at, "a", "c")
					assert.Equal(t, []string{"b"}, at.Next)
					assert.Contains(t, at.Tasks[1].Err, "broken")
				}
				wantTrail(t, done(t, th), "a", "b", "c", "d")
				assert.Equal(t, map[string]int{"a": 1, "b": 2, "c": 1}, runs.n)
			})
		}
	})
}

// TestReducersFoldInTaskOrder proves that updates are folded in the order of
// the tasks, in whichever order the tasks finish.
func TestReducersFoldInTaskOrder(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		rng := rand.New(rand.NewPCG(3, 3))
		for round := range 40 {
			gates := map[string]chan struct{}{}
			left := make(chan struct{})
			node := func(ctx context.Context, _ state.View) (state.Update, error) {
				at, _ := graph.FromContext(ctx)
				<-gates[at.Task]
				defer func() { left <- struct{}{} }()
				return state.Update{trail.Put(at.Task)}, nil
			}
			names := []string{"delta", "alpha", "charlie", "bravo"}
			g := build(t, s, func(b *graph.Builder) {
				for _, n := range names {
					b.Node(n, node)
					b.Edge(graph.Start, n)
				}
				b.Node("work", node)
				b.BranchMany(graph.Start, func(state.View) (state.Update, error) {
					return state.Update{graph.Send("work", item.Put(1)), graph.Send("work"), graph.Send("alpha"), graph.Send("work")}, nil
				}, "work", "alpha")
			})
			want := []string{"alpha", "bravo", "charlie", "delta", "work[0]", "work[1]", "alpha[2]", "work[3]"}
			for _, task := range want {
				gates[task] = make(chan struct{})
			}
			order := rng.Perm(len(want))
			go func() {
				for _, i := range order {
					close(gates[want[i]])
					<-left
				}
			}()
			wantTrail(t, done(t, g.Thread(fmt.Sprint(round)), note.Put("go")), want...)
		}
	})
}

// TestConcurrentThreadsAreIsolated proves that concurrent threads of one graph, or of
// several graphs with the same store, see only their own state.
func TestConcurrentThreadsAreIsolated(t *testing.T) {
	t.Parallel()
	t.Run("one graph", func(t *testing.T) {
		eachStore(t, func(t *testing.T, s checkpoint.Store) {
			g := isolatedGraph(t, s)
			runThreadsAtOnce(t, 1000, func(int) *graph.Graph { return g })
		})
	})
	t.Run("several graphs", func(t *testing.T) {
		eachStore(t, func(t *testing.T, s checkpoint.Store) {
			graphs := make([]*graph.Graph, 8)
			for i := range graphs {
				graphs[i] = isolatedGraph(t, s)
			}
			runThreadsAtOnce(t, 200, func(i int) *graph.Graph { return graphs[i%len(graphs)] })
		})
	})
}

// isolatedGraph builds a graph whose nodes fail if they see the note of another
// thread.
func isolatedGraph(t *testing.T, s checkpoint.Store) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		node := func(ctx context.Context, v state.View) (state.Update, error) {
			at, _ := graph.FromContext(ctx)
			if own := "for " + at.Thread; note.Get(v) != own {
				return nil, fmt.Errorf("thread %s sees %q", at.Thread, note.Get(v))
			}
			return state.Update{trail.Put(at.Thread + at.Node), total.Put(1)}, nil
		}
		for _, n := range []string{"a", "b", "c"} {
			b.Node(n, node)
		}
		b.Edge(graph.Start, "a")
		b.Edge(graph.Start, "b")
		b.Join("c", "a", "b")
	})
}

// runThreadsAtOnce starts n threads together. Thread i runs on the graph on(i).
func runThreadsAtOnce(t *testing.T, n int, on func(i int) *graph.Graph) {
	var ready, all sync.WaitGroup
	ready.Add(n)
	for i := range n {
		all.Go(func() {
			id := fmt.Sprint("t", i)
			th := on(i).Thread(id)
			ready.Done()
			ready.Wait()
			_, err := th.Invoke(t.Context(), note.Put("for "+id))
			if !assert.NoError(t, err, "thread %s", id) {
				return
			}
			snap, err := th.Snapshot(t.Context())
			if assert.NoError(t, err, "thread %s", id) {
				assert.Equal(t, []string{id + "a", id + "b", id + "c"}, trail.Get(snap))
				assert.Equal(t, 3, total.Get(snap), "thread %s", id)
			}
		})
	}
	all.Wait()
}

// TestPanicIsANodeError proves that a panic in a node becomes an error with the
// node, the value and the stack, and that the thread can run again.
func TestPanicIsANodeError(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, value := range []any{"oh no", errBroken} {
			for _, siblings := range []int{0, 3} {
				t.Run(words(value, siblings), func(t *testing.T) {
					t.Parallel()
					panics := true
					g := build(t, s, func(b *graph.Builder) {
						b.Node("bad", func(context.Context, state.View) (state.Update, error) {
							if panics {
								explode(value)
							}
							return state.Update{trail.Put("bad")}, nil
						})
						b.Edge(graph.Start, "bad")
						for i := range siblings {
							b.Node(fmt.Sprint("c", i), mark("c"))
							b.Edge(graph.Start, fmt.Sprint("c", i))
						}
					})
					th := g.Thread(words("panic", value, siblings))
					_, err := th.Invoke(t.Context(), note.Put("go"))
					var failed *graph.NodeError
					require.ErrorAs(t, err, &failed)
					assert.Equal(t, "bad", failed.Node)
					var panicked *graph.PanicError
					require.ErrorAs(t, err, &panicked)
					assert.Equal(t, value, panicked.Value)
					assert.Contains(t, string(panicked.Stack), "explode")
					if cause, ok := value.(error); ok {
						assert.ErrorIs(t, err, cause)
					}
					for _, part := range []string{`thread "panic`, `node "bad"`, "panic: ", fmt.Sprint(value)} {
						assert.ErrorContains(t, err, part)
					}
					panics = false
					assert.Len(t, trail.Get(done(t, th)), 1+siblings)
				})
			}
		}
	})
}

func explode(v any) { panic(v) }

// endlessGraph builds a graph that never ends by itself. If step is not nil, it is called
// before each superstep with the number of supersteps so far.
func endlessGraph(t *testing.T, s checkpoint.Store, step func(n int)) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		b.Node("spin", func(_ context.Context, v state.View) (state.Update, error) {
			if step != nil {
				step(total.Get(v))
			}
			return state.Update{total.Put(1)}, nil
		})
		b.Edge(graph.Start, "spin")
		b.Edge("spin", "spin")
	})
}

// TestEndlessLoopEndsAtItsLimit proves that a run stops after MaxSteps
// supersteps, 100 by default, and keeps their results.
func TestEndlessLoopEndsAtItsLimit(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := endlessGraph(t, s, nil).Thread("t")
		snap, err := th.Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, graph.ErrMaxSteps)
		require.ErrorContains(t, err, "spin")
		assert.Equal(t, 100, total.Get(snap))
		assert.Equal(t, 100, total.Get(snapshot(t, th)))

		snap, err = th.With(graph.RunOptions{MaxSteps: 7}).Invoke(t.Context())
		require.ErrorIs(t, err, graph.ErrMaxSteps)
		assert.Equal(t, 107, total.Get(snap))
	})
}

// TestEndlessLoopEndsWithItsContext proves that a cancelled run ends at the
// next superstep with the cause of the cancellation.
func TestEndlessLoopEndsWithItsContext(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				cause := errors.New("enough")
				ctx, cancel := context.WithCancelCause(t.Context())
				g := endlessGraph(t, s, func(n int) {
					if n == 42 {
						cancel(cause)
					}
				})
				th := in(g.Thread(mode.String()), mode)
				_, err := th.Invoke(ctx, note.Put("go"))
				require.ErrorIs(t, err, cause)
				assert.Contains(t, []int{42, 43}, total.Get(snapshot(t, th)), "supersteps kept")
			})
		}
	})
}

// TestCancelEndsAWaitingNode proves that cancellation reaches a node that waits
// for its context, and that the next run completes the thread.
func TestCancelEndsAWaitingNode(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, stream := range []bool{false, true} {
			t.Run(map[bool]string{false: "invoke", true: "stream"}[stream], func(t *testing.T) {
				t.Parallel()
				started, waits := make(chan struct{}, 1), true
				g := build(t, s, func(b *graph.Builder) {
					b.Node("wait", func(ctx context.Context, _ state.View) (state.Update, error) {
						if waits {
							started <- struct{}{}
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return nil, nil
					})
					b.Edge(graph.Start, "wait")
					b.Node("side", mark("side"))
					b.Edge(graph.Start, "side")
				})
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					<-started
					cancel()
				}()
				th := g.Thread(fmt.Sprint("stream ", stream))
				var err error
				if stream {
					for _, err = range th.Stream(ctx, note.Put("go")) {
					}
				} else {
					_, err = th.Invoke(ctx, note.Put("go"))
				}
				require.ErrorIs(t, err, context.Canceled)
				waits = false
				wantTrail(t, done(t, th), "side")
			})
		}
	})
}

// TestNewTurnStartsAtTheEntry proves that new input of a finished thread runs the graph
// from Start.
func TestNewTurnStartsAtTheEntry(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				g := build(t, s, func(b *graph.Builder) {
					b.Node("a", mark("a"))
					b.Node("b", mark("b"))
					chain(b, "a", "b")
				})
				th := in(g.Thread(mode.String()), mode)
				wantTrail(t, done(t, th, note.Put("one")), "a", "b")
				wantTrail(t, done(t, th, note.Put("two")), "a", "b", "a", "b")
				wantTrail(t, done(t, th, graph.Begin()), "a", "b", "a", "b", "a", "b")
				assert.Equal(t, "two", note.Get(done(t, th)), "a run with nothing to resume")
				wantTrail(t, snapshot(t, th), "a", "b", "a", "b", "a", "b")
			})
		}
	})
}
