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

// effects is a node with side effects before and after a question. If fails is set, the
// node fails after the effects.
type effects struct {
	did   counter
	mu    sync.Mutex
	keys  []string // the idempotency key of each run of the node
	fails bool
}

func (e *effects) effect(ctx context.Context, name string) (string, error) {
	return graph.Once(ctx, name, func(ctx context.Context) (string, error) {
		e.did.add(name)
		return name + "!", ctx.Err()
	})
}

func (e *effects) node(ctx context.Context, _ state.View) (state.Update, error) {
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
	if err == nil && e.fails {
		err = errBroken
	}
	return append(u, trail.Put(a, v)), err
}

func (e *effects) graph(t testing.TB, s checkpoint.Store) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		b.Node("n", e.node)
		b.Edge(graph.Start, "n")
		b.Node("sibling", mark("sibling"))
		b.Edge(graph.Start, "sibling")
	})
}

// TestOnceRunsOnceOverPausesAndFailures proves that a side effect runs once although its
// node runs again after a pause, after a failure and in another Graph value, and that
// the idempotency key of a task stays the same.
func TestOnceRunsOnceOverPausesAndFailures(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			var e effects
			id := mode.String()
			th := in(e.graph(t, s).Thread(id), mode)
			q := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
			invoke(t, th) // ask the question again
			e.fails = true
			_, err := th.Invoke(t.Context(), ask.Answer(q, "a"))
			require.ErrorIs(t, err, errBroken)
			_, err = in(e.graph(t, s).Thread(id), mode).Invoke(t.Context())
			require.ErrorIs(t, err, errBroken)
			e.fails = false
			require.Equal(t, []string{"one!", "two!", "a", "three!", "sibling"}, trail.Get(done(t, th)))
			for _, name := range []string{"one", "two", "three"} {
				e.did.want(t, name, 1)
			}
			require.Len(t, e.keys, 5)
			require.NotEmpty(t, e.keys[0])
			require.Len(t, slices.Compact(slices.Clone(e.keys)), 1, "idempotency keys")
			// A task of another superstep has another key and runs its effects again.
			invoke(t, th, note.Put("go"))
			e.did.want(t, "one", 2)
			require.NotEqual(t, e.keys[0], e.keys[5])
		}
	})
}

func init() {
	// once answers the question of the node and prints the effects that ran, the keys and
	// the trail.
	children["once"] = func(c *child) error {
		var e effects
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

// TestOnceIsRememberedByAnotherProcess proves that another process which resumes the
// thread does not run a side effect again.
func TestOnceIsRememberedByAnotherProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weft.db")
	var e effects
	g := e.graph(t, openFile(t, file))
	invoke(t, g.Thread("t"), note.Put("go"))
	p := spawn(t, "once", file)
	got := p.line(t)
	p.wait(t)
	want, err := json.Marshal([]any{map[string]int{"three": 1}, e.keys, []string{"one!", "two!", "yes n", "three!", "sibling"}})
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestOnceInRetriedNode proves that a side effect which succeeded does not run again in
// the next attempt, and that a side effect which failed does.
func TestOnceInRetriedNode(t *testing.T) {
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
		require.Equal(t, 17, total.Get(done(t, th, note.Put("go"))))
		did.want(t, "first", 1)
		did.want(t, "second", 3)
	})
}

// TestOnceFromManyGoroutines proves that goroutines of a node which use one key at the
// same time run its side effect once, and all receive its result.
func TestOnceFromManyGoroutines(t *testing.T) {
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

// TestOnceResultErrorsNameTheKey proves that a result which cannot be stored, or read
// as the type of the call, is an error that names the key.
func TestOnceResultErrorsNameTheKey(t *testing.T) {
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

// TestOnceWithoutThread proves that a run without a thread keeps the result of a side
// effect until the run ends.
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
	require.Len(t, keys, 4)
	require.Equal(t, keys[0], keys[1])
	require.Equal(t, keys[2], keys[3])
	require.NotEqual(t, keys[0], keys[2])
}

// TestOnceInsideItselfFails proves that a side effect which calls Once with its own key
// fails with ErrDuplicateKey.
func TestOnceInsideItselfFails(t *testing.T) {
	t.Parallel()
	_, err := single(t, func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := graph.Once(ctx, "k", func(ctx context.Context) (int, error) {
			return graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
		})
		return nil, err
	}).Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrDuplicateKey)
}
