package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// effective is a node with side effects: before a question, after it, and in a
// loop, beside a sibling. Trouble makes it fail behind them.
type effective struct {
	did     counter
	mu      sync.Mutex
	keys    []string
	trouble bool
}

func (e *effective) effect(ctx context.Context, name string) (string, error) {
	return graph.Once(ctx, name, func(ctx context.Context) (string, error) {
		e.did.add(name)
		return name + "!", ctx.Err()
	})
}

func (e *effective) node(ctx context.Context, _ state.View) (state.Update, error) {
	e.mu.Lock()
	e.keys = append(e.keys, graph.IdempotencyKey(ctx))
	e.mu.Unlock()
	var u state.Update
	for _, name := range []string{"one", "two"} {
		v, err := e.effect(ctx, name)
		if err != nil {
			return nil, err
		}
		u = append(u, trail.Put(v))
	}
	a, err := ask.Wait(ctx, "n?")
	if err != nil {
		return nil, err
	}
	v, err := e.effect(ctx, "three")
	if err == nil && e.trouble {
		err = errBroken
	}
	return append(u, trail.Put(a, v)), err
}

func (e *effective) graph(t testing.TB, s checkpoint.Store) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		b.Node("n", e.node)
		b.Edge(graph.Start, "n")
		b.Node("sibling", mark("sibling"))
		b.Edge(graph.Start, "sibling")
	})
}

// TestOnce: a side effect happens once, over a pause, a failure and another
// graph value. Under Exit what a run did is kept when it ends.
func TestOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			var e effective
			id := mode.String()
			th := in(e.graph(t, s).Thread(id), mode)
			q := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
			invoke(t, th) // asks again
			e.trouble = true
			_, err := th.Invoke(t.Context(), ask.Answer(q, "a"))
			require.ErrorIs(t, err, errBroken)
			_, err = in(e.graph(t, s).Thread(id), mode).Invoke(t.Context())
			require.ErrorIs(t, err, errBroken)
			e.trouble = false
			require.Equal(t, []string{"one!", "two!", "a", "three!", "sibling"}, trail.Get(done(t, th)))
			for _, name := range []string{"one", "two", "three"} {
				e.did.want(t, name, 1)
			}
			if keys := slices.Compact(slices.Clone(e.keys)); len(e.keys) != 5 || len(keys) != 1 || keys[0] == "" {
				t.Fatalf("got idempotency keys %q", e.keys)
			}
			// Another task, and another superstep, is another key and another
			// effect.
			invoke(t, th, note.Put("go"))
			e.did.want(t, "one", 2)
			if e.keys[5] == e.keys[0] {
				t.Fatal("two tasks have one key")
			}
		}
	})
}

func init() {
	// once answers the question of effective's node and tells what was done.
	children["once"] = func(c *child) error {
		var e effective
		b := graph.New("test", trail, total, note, item)
		b.Node("n", e.node)
		b.Edge(graph.Start, "n")
		b.Node("sibling", mark("sibling"))
		b.Edge(graph.Start, "sibling")
		g, err := b.Compile(graph.Options{Checkpoints: c.store})
		if err != nil {
			return err
		}
		_, s, err := answered(c.ctx, g.Thread("t"), "n")
		if err != nil {
			return err
		}
		data, err := json.Marshal([]any{e.did.n, e.keys, trail.Get(s)})
		c.say(string(data))
		return err
	}
}

// TestOnceElsewhere: a side effect is remembered in another process.
func TestOnceElsewhere(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weft.db")
	var e effective
	g := e.graph(t, openFile(t, file))
	invoke(t, g.Thread("t"), note.Put("go"))
	p := spawn(t, "once", file)
	got := p.line(t)
	p.wait(t)
	want, err := json.Marshal([]any{map[string]int{"three": 1}, e.keys, []string{"one!", "two!", "yes n", "three!", "sibling"}})
	require.NoError(t, err)
	if got != string(want) {
		t.Fatalf("got %s, want %s", got, want)
	}
}

// TestOnceRetry: what an attempt did stays done, and a failed effect is tried
// again.
func TestOnceRetry(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var did counter
		th := lone(t, s, node.Retry(node.RetryPolicy{Attempts: 3, Initial: -1}, func(ctx context.Context, _ state.View) (state.Update, error) {
			first, err := graph.Once(ctx, "first", func(context.Context) (int, error) { return did.add("first"), nil })
			if err != nil {
				return nil, err
			}
			second, err := graph.Once(ctx, "second", func(context.Context) (int, error) {
				if n := did.add("second"); n < 3 {
					return n, errBroken
				}
				return 7, nil
			})
			return state.Update{total.Put(10*first + second)}, err
		}))
		if s := done(t, th, note.Put("go")); total.Get(s) != 17 {
			t.Fatalf("got %d", total.Get(s))
		}
		did.want(t, "first", 1)
		did.want(t, "second", 3)
	})
}

// TestOnceTogether: goroutines of a node that do one thing do it once.
func TestOnceTogether(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var did counter
		th := lone(t, s, func(ctx context.Context, _ state.View) (state.Update, error) {
			var all sync.WaitGroup
			errs := make([]error, 20)
			for i := range errs {
				all.Go(func() {
					key := fmt.Sprint(i % 4)
					v, err := graph.Once(ctx, key, func(context.Context) (string, error) { did.add(key); return key, nil })
					if err == nil && v != key {
						err = fmt.Errorf("got %q, want %q", v, key)
					}
					errs[i] = err
				})
			}
			all.Wait()
			return nil, errors.Join(errs...)
		})
		done(t, th, note.Put("go"))
		for i := range 4 {
			did.want(t, fmt.Sprint(i), 1)
		}
	})
}

// TestOnceErrors: a result that can not be kept, or read, is an error that
// names the key.
func TestOnceErrors(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		step := 0
		th := lone(t, s, func(ctx context.Context, _ state.View) (state.Update, error) {
			switch step {
			case 0:
				_, err := graph.Once(ctx, "bad", func(context.Context) (chan int, error) { return make(chan int), nil })
				return nil, err
			case 1:
				if _, err := graph.Once(ctx, "kind", func(context.Context) (string, error) { return "text", nil }); err != nil {
					return nil, err
				}
				return nil, errBroken
			}
			_, err := graph.Once(ctx, "kind", func(context.Context) (int, error) { return 1, nil })
			return nil, err
		})
		_, err := th.Invoke(t.Context(), note.Put("go"))
		require.ErrorContains(t, err, `once "bad"`)
		require.ErrorContains(t, err, "the result")
		step = 1
		_, err = th.Invoke(t.Context())
		require.ErrorIs(t, err, errBroken)
		step = 2
		_, err = th.Invoke(t.Context())
		require.ErrorContains(t, err, `once "kind"`)
		require.ErrorContains(t, err, "the stored result")
	})
}

// TestOnceWithoutThread: without a thread an effect is remembered in the run.
func TestOnceWithoutThread(t *testing.T) {
	t.Parallel()
	var did counter
	var keys []string
	b := graph.New("g", total)
	b.Node("n", node.Retry(node.RetryPolicy{Attempts: 2, Initial: -1}, func(ctx context.Context, _ state.View) (state.Update, error) {
		keys = append(keys, graph.IdempotencyKey(ctx))
		if _, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return did.add("k"), nil }); err != nil {
			return nil, err
		}
		return nil, errBroken
	}))
	b.Edge(graph.Start, "n")
	g := compile(t, b, graph.Options{})
	for range 2 {
		_, err := g.Invoke(t.Context())
		require.ErrorIs(t, err, errBroken)
	}
	did.want(t, "k", 2)
	if keys[0] != keys[1] || keys[2] != keys[3] || keys[0] == keys[2] {
		t.Fatalf("got keys %q", keys)
	}
}
