package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// single compiles a graph of one node that is not stored.
func single(t testing.TB, fn graph.NodeFunc) *graph.Graph {
	return build(t, nil, func(b *graph.Builder) {
		b.Node("n", fn)
		b.Edge(graph.Start, "n")
	})
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		policy node.RetryPolicy
		fails  int
		waits  []time.Duration
		ok     bool
	}{
		"default":  {node.RetryPolicy{NoJitter: true}, 2, []time.Duration{500 * time.Millisecond, time.Second}, true},
		"too many": {node.RetryPolicy{NoJitter: true}, 3, []time.Duration{500 * time.Millisecond, time.Second}, false},
		"capped":   {node.RetryPolicy{Attempts: 5, Initial: time.Second, Max: 3 * time.Second, Factor: 3, NoJitter: true}, 4, []time.Duration{1e9, 3e9, 3e9, 3e9}, true},
		"at once":  {node.RetryPolicy{Attempts: 4, Initial: -1}, 3, []time.Duration{0, 0, 0}, true},
		"one":      {node.RetryPolicy{Attempts: 1}, 1, nil, false},
		"refused":  {node.RetryPolicy{If: func(err error) bool { return !errors.Is(err, errBroken) }}, 1, nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				g := single(t, node.Retry(c.policy, func(ctx context.Context, _ state.View) (state.Update, error) {
					at = append(at, time.Now())
					if r, _ := graph.FromContext(ctx); r.Attempt != len(at) {
						return nil, fmt.Errorf("attempt %d says it is %d", len(at), r.Attempt)
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
				if !slices.Equal(waits, c.waits) {
					t.Fatalf("got waits %v, want %v", waits, c.waits)
				}
				if c.ok {
					require.Equal(t, []string{"kept"}, trail.Get(snap))
					return
				}
				require.ErrorIs(t, err, errBroken)
				var ne *graph.NodeError
				if !errors.As(err, &ne) || ne.Attempt != len(at) {
					t.Fatalf("got %+v, want attempt %d", ne, len(at))
				}
			})
		})
	}
}

func TestRetryJitter(t *testing.T) {
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
			if wait < time.Second/2 || wait > time.Second {
				t.Fatalf("waited %v", wait)
			}
			different[wait] = true
		}
		if len(different) < 10 {
			t.Fatalf("got %d different waits of 50", len(different))
		}
	})
}

func TestRetryEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { time.Sleep(time.Second); cancel(why) }()
		start := time.Now()
		_, err := single(t, node.Retry(node.RetryPolicy{Initial: time.Hour}, func(context.Context, state.View) (state.Update, error) {
			return nil, errBroken
		})).Invoke(ctx)
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, errBroken)
		if took := time.Since(start); took != time.Second {
			t.Fatalf("took %v", took)
		}
		runs := 0
		_, err = single(t, node.Retry(node.RetryPolicy{}, func(context.Context, state.View) (state.Update, error) {
			runs++
			panic("once is enough")
		})).Invoke(t.Context())
		var p *graph.PanicError
		if !errors.As(err, &p) || runs != 1 {
			t.Fatalf("got %v after %d runs", err, runs)
		}
	})
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	// A node of ten seconds that gives a sign of life every two.
	slow := func(sign func(ctx context.Context)) graph.NodeFunc {
		return func(ctx context.Context, _ state.View) (state.Update, error) {
			for range 5 {
				select {
				case <-time.After(2 * time.Second):
					sign(ctx)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return state.Update{trail.Put("end")}, nil
		}
	}
	none := func(context.Context) {}
	emit := func(ctx context.Context) { graph.Emit(ctx, "tick") }
	cases := map[string]struct {
		node graph.NodeFunc
		took time.Duration
		ok   bool
	}{
		"in time":             {node.Timeout(11*time.Second, slow(none)), 10 * time.Second, true},
		"too late":            {node.Timeout(3*time.Second, slow(emit)), 3 * time.Second, false},
		"idle":                {node.IdleTimeout(3*time.Second, slow(none)), 3 * time.Second, false},
		"emits":               {node.IdleTimeout(3*time.Second, slow(emit)), 10 * time.Second, true},
		"beats":               {node.IdleTimeout(3*time.Second, slow(node.Heartbeat)), 10 * time.Second, true},
		"emits do not count":  {node.TimeoutPolicy{Idle: 3 * time.Second, HeartbeatOnly: true}.Wrap(slow(emit)), 3 * time.Second, false},
		"beats count":         {node.TimeoutPolicy{Idle: 3 * time.Second, HeartbeatOnly: true}.Wrap(slow(node.Heartbeat)), 10 * time.Second, true},
		"run and idle":        {node.TimeoutPolicy{Run: 5 * time.Second, Idle: 3 * time.Second}.Wrap(slow(emit)), 5 * time.Second, false},
		"outer sees the beat": {node.IdleTimeout(3*time.Second, node.IdleTimeout(4*time.Second, slow(node.Heartbeat))), 10 * time.Second, true},
		"outer is first":      {node.Timeout(3*time.Second, node.Timeout(4*time.Second, slow(none))), 3 * time.Second, false},
		"never":               {node.TimeoutPolicy{}.Wrap(slow(none)), 10 * time.Second, true},
		"each attempt":        {node.Retry(node.RetryPolicy{Initial: -1}, node.Timeout(3*time.Second, slow(none))), 9 * time.Second, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				snap, err := single(t, c.node).Invoke(t.Context())
				if took := time.Since(start); took != c.took {
					t.Fatalf("took %v, want %v", took, c.took)
				}
				if c.ok {
					require.Equal(t, []string{"end"}, trail.Get(snap))
					return
				}
				require.ErrorIs(t, err, graph.ErrTimeout)
				require.ErrorContains(t, err, `node "n"`)
			})
		})
	}
}

// TestTimeoutOfResult: what a node returns after its time is dropped, and its
// own error stands beside.
func TestTimeoutOfResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, own := range []error{nil, errBroken} {
			_, err := single(t, node.Timeout(time.Second, func(ctx context.Context, _ state.View) (state.Update, error) {
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), graph.ErrTimeout) {
					t.Errorf("got cause %v", context.Cause(ctx))
				}
				return state.Update{trail.Put("late")}, own
			})).Invoke(t.Context())
			require.ErrorIs(t, err, graph.ErrTimeout)
			if own != nil {
				require.ErrorIs(t, err, own)
			}
		}
	})
}

func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs counter
		fail := false
		g := build(t, nil, func(b *graph.Builder) {
			b.Node("n", node.Cache(note.Get, node.CachePolicy{TTL: time.Minute}, func(_ context.Context, v state.View) (state.Update, error) {
				runs.add(note.Get(v))
				if fail {
					return nil, errBroken
				}
				return state.Update{trail.Put(note.Get(v)), graph.Goto("to"), graph.Send("sent", item.Put(7))}, nil
			}))
			b.Edge(graph.Start, "n")
			b.Destinations("n", "to", "sent")
			b.Node("to", mark("to"))
			b.Node("sent", func(_ context.Context, v state.View) (state.Update, error) {
				return state.Update{trail.Put(fmt.Sprint("sent", item.Get(v)))}, nil
			})
		})
		run := func(key string) error {
			snap, err := g.Invoke(t.Context(), note.Put(key))
			if err == nil {
				require.Equal(t, []string{key, "to", "sent7"}, trail.Get(snap))
			}
			return err
		}
		fail = true
		require.ErrorIs(t, run("a"), errBroken)
		fail = false
		for range 3 {
			require.NoError(t, errors.Join(run("a"), run("b")))
		}
		runs.want(t, "a", 2)
		runs.want(t, "b", 1)
		time.Sleep(time.Minute)
		require.NoError(t, run("a"))
		runs.want(t, "a", 3)
	})
}

// TestNodeCache: one cache for two nodes keeps them apart, drops what was used
// last, and forgets on Clear.
func TestNodeCache(t *testing.T) {
	t.Parallel()
	var runs counter
	cache := node.NewSharedCache(3)
	g := build(t, nil, func(b *graph.Builder) {
		for _, n := range []string{"x", "y"} {
			b.Node(n, node.Cache(note.Get, node.CachePolicy{Cache: cache}, func(_ context.Context, v state.View) (state.Update, error) {
				runs.add(n + note.Get(v))
				return state.Update{trail.Put(n)}, nil
			}))
		}
		chain(b, "x", "y")
	})
	run := func(key string) {
		snap, err := g.Invoke(t.Context(), note.Put(key))
		require.NoError(t, err)
		require.Equal(t, []string{"x", "y"}, trail.Get(snap))
	}
	run("1") // x1 y1
	run("1")
	run("2") // y1 x2 y2
	run("1") // x1 is gone, and y1 goes for it
	for name, want := range map[string]int{"x1": 2, "y1": 2, "x2": 1, "y2": 1} {
		runs.want(t, name, want)
	}
	cache.Clear()
	run("1")
	runs.want(t, "x1", 3)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { run(fmt.Sprint(i % 3)) })
	}
	all.Wait()
}

func TestLimit(t *testing.T) {
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
				if _, err := g.Invoke(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(start); peak.Load() != 3 || took != 3*time.Second {
			t.Fatalf("%d at once, %v", peak.Load(), took)
		}
		// One that waits for its turn ends with its context.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		stuck := single(t, node.Limit(0, func(ctx context.Context, _ state.View) (state.Update, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return nil, ctx.Err()
		}))
		for range 2 {
			all.Go(func() {
				if _, err := stuck.Invoke(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		}
		all.Wait()
	})
}

func TestRecover(t *testing.T) {
	t.Parallel()
	handle := func(_ context.Context, v state.View, err error) (state.Update, error) {
		var p *graph.PanicError
		switch {
		case note.Get(v) == "again":
			return nil, fmt.Errorf("handled: %w", err)
		case errors.As(err, &p):
			return state.Update{trail.Put("panic " + fmt.Sprint(p.Value) + fmt.Sprint(strings.Contains(string(p.Stack), "explode")))}, nil
		}
		return state.Update{trail.Put(err.Error())}, nil
	}
	runs := 0
	g := single(t, node.Recover(handle, node.Retry(node.RetryPolicy{Attempts: 2, Initial: -1}, func(ctx context.Context, v state.View) (state.Update, error) {
		runs++
		switch note.Get(v) {
		case "panic":
			explode("boom")
		case "ok":
			return state.Update{trail.Put("ok")}, nil
		case "cancel":
			return nil, context.Canceled
		}
		return nil, errBroken
	})))
	for in, want := range map[string]string{"fail": "broken", "panic": "panic boomtrue", "ok": "ok"} {
		snap, err := g.Invoke(t.Context(), note.Put(in))
		require.NoError(t, err)
		require.Equal(t, []string{want}, trail.Get(snap))
	}
	if runs != 2+1+1 {
		t.Fatalf("%d runs", runs)
	}
	_, err := g.Invoke(t.Context(), note.Put("again"))
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, "handled: ")
	ctx, cancel := context.WithCancel(t.Context())
	_, err = single(t, node.Recover(handle, func(context.Context, state.View) (state.Update, error) {
		cancel()
		return nil, errBroken
	})).Invoke(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
