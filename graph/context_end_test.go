package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
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

// contextEnds has the ways in which the context of a run can end while a node runs. Each
// function returns the context, and a function that the node calls to end it.
var contextEnds = map[string]func(t *testing.T) (context.Context, func()){
	"cancel": func(t *testing.T) (context.Context, func()) {
		ctx, cancel := context.WithCancel(t.Context())
		return ctx, cancel
	},
	"deadline": func(t *testing.T) (context.Context, func()) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		return ctx, func() { <-ctx.Done() }
	},
}

// TestNodesSeeDeadline proves that nodes, nodes of subgraphs, and contexts derived from
// a node's context see that a deadline has passed.
func TestNodesSeeDeadline(t *testing.T) {
	t.Parallel()
	type key struct{}
	none := func() {}
	derive := map[string]func(context.Context) (context.Context, context.CancelFunc){
		"own": func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, none },
		"value": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithValue(ctx, key{}, 1), none
		},
		"cancel": context.WithCancel,
		"timeout": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Hour)
		},
	}
	for name, from := range derive {
		for _, nested := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " nested ", nested), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var got, cause error
					fill := func(b *graph.Builder) {
						b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
							c, cancel := from(ctx)
							defer cancel()
							<-c.Done()
							got, cause = c.Err(), context.Cause(c)
							return nil, c.Err()
						})
						b.Edge(graph.Start, "a")
					}
					g := build(t, nil, fill)
					if nested {
						sub := g
						g = build(t, nil, func(b *graph.Builder) {
							b.Subgraph("sub", sub)
							b.Edge(graph.Start, "sub")
						})
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					_, err := g.Invoke(ctx)
					require.ErrorIs(t, got, context.DeadlineExceeded)
					require.ErrorIs(t, cause, context.DeadlineExceeded)
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.NotErrorIs(t, err, context.Canceled)
				})
			})
		}
	}
}

// TestDerivedContextsNeedNoGoroutine proves that a node may derive any number of contexts
// from its own without a goroutine for each. It is not parallel, so that goroutines of
// other tests are not counted.
func TestDerivedContextsNeedNoGoroutine(t *testing.T) {
	const contexts = 100
	g := build(t, nil, func(b *graph.Builder) {
		b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
			before := runtime.NumGoroutine()
			for range contexts {
				_, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
			}
			assert.Less(t, runtime.NumGoroutine()-before, contexts/2)
			return nil, nil
		})
		b.Edge(graph.Start, "a")
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := g.Invoke(ctx)
	require.NoError(t, err)
}

// TestResultAfterContextEndIsStored proves that a task which returns without an error
// after the context of its run has ended does not run again.
func TestResultAfterContextEndIsStored(t *testing.T) {
	t.Parallel()
	for end, begin := range contextEnds {
		for _, siblings := range []bool{false, true} {
			t.Run(fmt.Sprint(end, " siblings ", siblings), func(t *testing.T) {
				t.Parallel()
				eachMode(t, func(t *testing.T, d graph.Durability) {
					synctest.Test(t, func(t *testing.T) { resultAfterTheEnd(t, d, begin, siblings) })
				})
			})
		}
	}
}

func resultAfterTheEnd(t *testing.T, d graph.Durability, begin func(*testing.T) (context.Context, func()), siblings bool) {
	ctx, end := begin(t)
	var runs atomic.Int64
	resumed := false
	g := build(t, newStore(), func(b *graph.Builder) {
		b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
			runs.Add(1)
			end()
			<-ctx.Done()
			return state.Update{trail.Put("a")}, nil
		})
		b.Edge(graph.Start, "a")
		if siblings {
			b.Node("b", func(ctx context.Context, _ state.View) (state.Update, error) {
				if !resumed {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return state.Update{trail.Put("b")}, nil
			})
			b.Edge(graph.Start, "b")
		}
	})
	th := in(g.Thread("t"), d)
	_, err := th.Invoke(ctx, trail.Put("in"))
	if siblings {
		require.Error(t, err)
	}
	resumed = true
	snap := done(t, th)
	if siblings {
		wantTrail(t, snap, "in", "a", "b")
	} else {
		wantTrail(t, snap, "in", "a")
	}
	require.EqualValues(t, 1, runs.Load(), "runs of the task that had finished")
}

// TestHangingStoreDoesNotBlockRun proves that a run returns soon after the end of its
// context, even if each call of its store waits for the end of the call's context.
func TestHangingStoreDoesNotBlockRun(t *testing.T) {
	t.Parallel()
	const limit, grace = time.Minute, 10 * time.Second
	once := func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
		return nil, err
	}
	step := func(ctx context.Context, _ state.View) (state.Update, error) {
		return nil, sleep(ctx, time.Second)
	}
	for name, c := range map[string]struct {
		node         graph.NodeFunc
		tasks        int
		put, results bool // whether Put and PutWrites hang
		subgraph     bool
	}{
		"commit":              {node: step, tasks: 1, put: true},
		"commit of several":   {node: step, tasks: 3, put: true},
		"results":             {node: step, tasks: 3, results: true},
		"effect":              {node: once, tasks: 1, results: true},
		"effects":             {node: once, tasks: 3, results: true},
		"commit of subgraph":  {node: step, tasks: 1, put: true, subgraph: true},
		"results of subgraph": {node: step, tasks: 3, results: true, subgraph: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachMode(t, func(t *testing.T, d graph.Durability) {
				synctest.Test(t, func(t *testing.T) {
					s := &gatedStore{Store: newStore()}
					if c.put {
						s.put = func(ctx context.Context, c *checkpoint.Checkpoint) error {
							if c.Source == checkpoint.Input {
								return nil
							}
							return hang(ctx)
						}
					}
					if c.results {
						s.putWrites = func(ctx context.Context, _ []checkpoint.Write) error { return hang(ctx) }
					}
					fill := func(b *graph.Builder) {
						for i := range c.tasks {
							name := fmt.Sprint("n", i)
							b.Node(name, c.node)
							chain(b, name, name) // an endless loop
						}
					}
					g := build(t, s, fill)
					if c.subgraph {
						sub := g
						g = build(t, s, func(b *graph.Builder) {
							b.Subgraph("sub", sub)
							chain(b, "sub", "sub")
						})
					}
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					begin := time.Now()
					_, err := in(g.Thread("t"), d).Invoke(ctx, trail.Put("in"))
					require.ErrorIs(t, err, context.DeadlineExceeded)
					require.LessOrEqual(t, time.Since(begin), limit+grace+2*time.Second)
				})
			})
		})
	}
}

// TestHangingStoreDoesNotBlockSupersededRun proves that a run without a deadline returns
// soon after another run has cancelled it, even if its store hangs.
func TestHangingStoreDoesNotBlockSupersededRun(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			var hangs atomic.Bool
			hangs.Store(true)
			s := &gatedStore{Store: newStore(), put: func(ctx context.Context, c *checkpoint.Checkpoint) error {
				if c.Source == checkpoint.Loop && hangs.Load() {
					return hang(ctx)
				}
				return nil
			}}
			g := build(t, s, func(b *graph.Builder) {
				b.Node("a", func(ctx context.Context, v state.View) (state.Update, error) {
					if hangs.Load() {
						<-ctx.Done()
					}
					return state.Update{trail.Put("a")}, nil
				})
				b.Edge(graph.Start, "a")
			})
			first := make(chan error, 1)
			go func() {
				_, err := in(g.Thread("t"), d).Invoke(context.WithoutCancel(t.Context()), trail.Put("first"))
				hangs.Store(false)
				first <- err
			}()
			synctest.Wait()
			begin := time.Now()
			second := g.Thread("t").With(graph.RunOptions{Conflict: graph.ConflictInterrupt})
			_, err := second.Invoke(t.Context(), trail.Put("second"))
			require.NoError(t, err)
			require.ErrorIs(t, <-first, graph.ErrSuperseded)
			require.LessOrEqual(t, time.Since(begin), 11*time.Second)
		})
	})
}

// An expiringContext is a context whose deadline passes when the channel is closed.
type expiringContext struct {
	context.Context
	passed chan struct{}
}

func (c expiringContext) Deadline() (time.Time, bool) { return time.Now().Add(time.Hour), true }
func (c expiringContext) Done() <-chan struct{}       { return c.passed }

func (c expiringContext) Err() error {
	select {
	case <-c.passed:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestEffectIsStoredWhenContextEnds proves that the result of an effect is stored even if
// the context of the run ends during the effect.
func TestEffectIsStoredWhenContextEnds(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"cancel", "deadline", "leave"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			eachModeAndStore(t, func(t *testing.T, d graph.Durability, s checkpoint.Store) {
				var effects atomic.Int64
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				started := make(chan struct{})
				if end == "deadline" {
					ctx = expiringContext{ctx, started}
				}
				g := build(t, s, func(b *graph.Builder) {
					b.Node("pay", func(nodeCtx context.Context, _ state.View) (state.Update, error) {
						_, err := graph.Once(nodeCtx, "pay", func(context.Context) (int, error) {
							if effects.Add(1) == 1 {
								graph.Emit(nodeCtx, "the bank works")
								close(started)
								<-nodeCtx.Done() // the effect completes after the end of the context
							}
							return 1, nil
						})
						return state.Update{trail.Put("paid")}, errors.Join(err, nodeCtx.Err())
					})
					b.Edge(graph.Start, "pay")
				})
				th := in(g.Thread("t"), d)
				var err error
				switch end {
				case "leave":
					for e, err := range th.Stream(ctx, trail.Put("in")) {
						require.NoError(t, err)
						if _, ok := e.(graph.Emitted); ok {
							break
						}
					}
				case "cancel":
					go func() {
						<-started
						cancel()
					}()
					fallthrough
				default:
					_, err = th.Invoke(ctx, trail.Put("in"))
					require.Error(t, err)
				}
				require.EqualValues(t, 1, effects.Load())
				wantTrail(t, done(t, th), "in", "paid")
				require.EqualValues(t, 1, effects.Load(), "times the effect happened; first run: %v", err)
			})
		})
	}
}

// TestEffectsAreStoredAtRandomCancels proves that the results of effects are stored if the
// context ends at a random time. The node has effects before, after and concurrently with
// other work.
func TestEffectsAreStoredAtRandomCancels(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			seed := rand.Uint64()
			r := rand.New(rand.NewPCG(seed, 0))
			doubled, cancels := 0, 0
			for i := 0; cancels < 400; i++ {
				effects := map[string]*atomic.Int64{}
				for _, name := range []string{"lone", "x", "y", "z"} {
					effects[name] = &atomic.Int64{}
				}
				pay := func(name string) graph.NodeFunc {
					return func(ctx context.Context, _ state.View) (state.Update, error) {
						if err := sleep(ctx, time.Millisecond); err != nil {
							return nil, err
						}
						_, err := graph.Once(ctx, "pay", func(context.Context) (int, error) {
							time.Sleep(3 * time.Millisecond) // the effect ignores its context
							effects[name].Add(1)
							return 1, nil
						})
						if err != nil {
							return nil, err
						}
						return state.Update{trail.Put(name)}, sleep(ctx, time.Millisecond)
					}
				}
				g := build(t, newStore(), func(b *graph.Builder) {
					for name := range effects {
						b.Node(name, pay(name))
					}
					b.Edge(graph.Start, "lone")
					for _, name := range []string{"x", "y", "z"} {
						b.Edge("lone", name)
					}
				})
				th := in(g.Thread("t"), d)
				err := errBroken
				for input := []state.Write{trail.Put("in")}; err != nil; {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(12*time.Millisecond))))
					_, err = th.Invoke(ctx, input...)
					cancel()
					if err != nil {
						cancels++
					}
					if _, serr := th.Snapshot(t.Context()); serr == nil {
						input = nil
					}
				}
				for name := range effects {
					if effects[name].Load() != 1 {
						doubled++
					}
				}
				got := trail.Get(snapshot(t, th))
				slices.Sort(got[1:])
				require.Equal(t, []string{"in", "lone", "x", "y", "z"}, got, "seed %d", seed)
			}
			require.Zero(t, doubled, "effects that happened twice; seed %d", seed)
		})
	})
}

// TestOnceDoesNotBeginInEndedContext proves that Once does not start an effect after the
// context of the run has ended.
func TestOnceDoesNotBeginInEndedContext(t *testing.T) {
	t.Parallel()
	for end, begin := range contextEnds {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := begin(t)
				effects := 0
				g := build(t, newStore(), func(b *graph.Builder) {
					b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
						stop()
						_, err := graph.Once(ctx, "k", func(context.Context) (int, error) { effects++; return 1, nil })
						return nil, err
					})
					b.Edge(graph.Start, "a")
				})
				_, err := g.Thread("t").Invoke(ctx, trail.Put("in"))
				require.Error(t, err)
				assert.Zero(t, effects)
			})
		})
	}
}

// TestEffectThatOutlivesNodeIsNotStored proves that Once returns an error to a goroutine
// that outlives its node, and that a later task with the same id does not get its result.
func TestEffectThatOutlivesNodeIsNotStored(t *testing.T) {
	t.Parallel()
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprint("in a later superstep ", later), func(t *testing.T) {
			t.Parallel()
			eachMode(t, func(t *testing.T, d graph.Durability) {
				started, gate := make(chan struct{}), make(chan struct{})
				left := make(chan error, 1)
				runs := 0
				g := build(t, newStore(), func(b *graph.Builder) {
					repeat(b, "a", 3, func(ctx context.Context, _ state.View) (state.Update, error) {
						runs++
						switch {
						case runs == 1:
							go func() {
								_, err := graph.Once(ctx, "k", func(context.Context) (int, error) {
									close(started)
									<-gate
									return 1, nil
								})
								left <- err
							}()
							<-started
						case runs == 2 && later:
							close(gate)
							assert.Error(t, <-left)
						}
						return nil, nil
					})
					b.Edge(graph.Start, "a")
				})
				th := in(g.Thread("t"), d)
				done(t, th, graph.Begin())
				if !later {
					close(gate)
					require.Error(t, <-left)
				}
				require.Equal(t, 3, total.Get(snapshot(t, th)))
			})
		})
	}
}
