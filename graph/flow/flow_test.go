package flow_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/state"
)

func options() graph.Options {
	return graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}
}

// overStores runs a test over a memory store and an SQLite store.
func overStores(t *testing.T, test func(t *testing.T, store checkpoint.Store)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, memcheckpoint.New(memcheckpoint.Options{}))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		store, err := sqlitecheckpoint.Open(t.Context(), filepath.Join(t.TempDir(), "flow.db"), sqlitecheckpoint.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, store.Close()) })
		test(t, store)
	})
}

func constant[T any](v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return v, nil }
}

func TestChangedCodeRunsNoCompletedTaskAgain(t *testing.T) {
	t.Parallel()
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		var mu sync.Mutex
		runs := map[string]int{}
		version := func(keys []string, failAt int) *flow.Flow[int, int] {
			f, err := flow.New("job", func(ctx context.Context, n int) (int, error) {
				for i, key := range keys {
					if i == failAt {
						return 0, errors.New("stopped")
					}
					v, err := flow.Do(ctx, key, func(context.Context) (int, error) {
						mu.Lock()
						defer mu.Unlock()
						runs[key]++
						return 1, nil
					})
					if err != nil {
						return 0, err
					}
					n += v
				}
				return n, nil
			}, graph.Options{Checkpoints: store})
			require.NoError(t, err)
			return f
		}
		first := version([]string{"a", "b", "c", "d"}, 3)
		_, err := first.Thread("1").Invoke(t.Context(), first.Input(10))
		require.ErrorContains(t, err, "stopped")

		second := version([]string{"c", "new", "a", "d"}, -1)
		snap, err := second.Thread("1").Invoke(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 14, second.Output(snap))
		assert.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "d": 1, "new": 1}, runs)
	})
}

func TestResultOfAnotherTypeNamesItsKey(t *testing.T) {
	t.Parallel()
	o := options()
	old, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		_, err := flow.Do(ctx, "load", constant("text"))
		return 0, errors.Join(err, errors.New("stopped"))
	}, o)
	require.NoError(t, err)
	_, err = old.Thread("1").Invoke(t.Context(), old.Input(1))
	require.ErrorContains(t, err, "stopped")

	changed, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		return flow.Do(ctx, "load", constant(1))
	}, o)
	require.NoError(t, err)
	_, err = changed.Thread("1").Invoke(t.Context())
	require.ErrorContains(t, err, `task "load": the stored result is no int; give the task a new key`)
}

func TestKeyIdentifiesOneTask(t *testing.T) {
	t.Parallel()
	f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		if _, err := flow.Do(ctx, "a", constant(1)); err != nil {
			return 0, err
		}
		n, err := flow.Go(ctx, "a", constant(2)).Wait(ctx)
		assert.ErrorIs(t, err, graph.ErrDuplicateKey)
		return n, nil // a duplicate key fails the flow, whatever the function returns
	}, graph.Options{})
	require.NoError(t, err)
	_, err = f.Invoke(t.Context(), f.Input(1))
	require.ErrorIs(t, err, graph.ErrDuplicateKey)
	require.ErrorContains(t, err, `task "a"`)
}

func TestTasksNeedAFlow(t *testing.T) {
	t.Parallel()
	check := func(ctx context.Context) {
		_, err := flow.Do(ctx, "a", constant(1))
		assert.ErrorIs(t, err, flow.ErrNotInFlow)
		_, err = flow.Go(ctx, "a", constant(1)).Wait(ctx)
		assert.ErrorIs(t, err, flow.ErrNotInFlow)
		_, err = flow.Map(ctx, []int{1, 2}, 1, func(n int) string { return fmt.Sprint(n) },
			func(_ context.Context, n int) (int, error) { return n, nil })
		assert.ErrorIs(t, err, flow.ErrNotInFlow)
		_, err = flow.Previous[int](ctx)
		assert.ErrorIs(t, err, flow.ErrNotInFlow)
		assert.ErrorIs(t, flow.Save(ctx, 1), flow.ErrNotInFlow)
	}
	check(t.Context())

	checked := false
	inside := oneNode(t, func(ctx context.Context, _ state.View) (state.Update, error) {
		check(ctx)
		checked = true
		return nil, nil
	})
	f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		return flow.Call(ctx, "graph", inside, func(state.View) int { return 0 })
	}, graph.Options{})
	require.NoError(t, err)
	_, err = f.Invoke(t.Context(), f.Input(1))
	require.NoError(t, err)
	assert.True(t, checked, "in a node of a graph that the flow calls")

	late := func(ctx context.Context) error { return flow.Save(ctx, 1) }
	f, err = flow.New("job", func(ctx context.Context, _ int) (int, error) {
		_, err := flow.Do(ctx, "task", func(ctx context.Context) (int, error) { return 0, late(ctx) })
		return 0, err
	}, graph.Options{})
	require.NoError(t, err)
	_, err = f.Invoke(t.Context(), f.Input(1))
	require.ErrorContains(t, err, "Save: the context belongs to a task")
}

// oneNode compiles a graph of one node.
func oneNode(t *testing.T, fn graph.NodeFunc) *graph.Graph {
	t.Helper()
	b := graph.New("one", number)
	b.Node("node", fn)
	b.Edge(graph.Start, "node")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	return g
}

var number = state.Last[int]("number")

func TestFailureThatNobodyReadsFailsTheFlow(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	for name, task := range map[string]func(context.Context) (int, error){
		"error": func(context.Context) (int, error) { return 0, failure },
		"panic": func(context.Context) (int, error) { panic("failure") },
		"exit": func(context.Context) (int, error) {
			runtime.Goexit()
			return 0, failure
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
				flow.Go(ctx, "a", task)
				return 1, nil
			}, graph.Options{})
			require.NoError(t, err)
			_, err = f.Invoke(t.Context(), f.Input(1))
			require.Error(t, err)
			want := "failure"
			if name == "exit" {
				want = `task "a": the task called runtime.Goexit`
			}
			require.ErrorContains(t, err, want)
			_, panicked := errors.AsType[*graph.PanicError](err)
			assert.Equal(t, name == "panic", panicked)
		})
	}
}

func TestMapKeepsItsBoundAndItsOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		f, err := flow.New("job", func(ctx context.Context, ns []int) ([]int, error) {
			return flow.Map(ctx, ns, 3, func(n int) string { return fmt.Sprint(n) }, func(_ context.Context, n int) (int, error) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Duration(10-n) * time.Second)
				now.Add(-1)
				return n * n, nil
			})
		}, graph.Options{})
		require.NoError(t, err)
		snap, err := f.Invoke(t.Context(), f.Input([]int{1, 2, 3, 4, 5, 6, 7}))
		require.NoError(t, err)
		assert.Equal(t, []int{1, 4, 9, 16, 25, 36, 49}, f.Output(snap))
		assert.Equal(t, int32(3), most.Load())
	})
}

func TestQuestionsInsideTasksPauseTheFlow(t *testing.T) {
	t.Parallel()
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		var plain atomic.Int32
		ask := graph.NewInterrupt[string, int]("ask")
		build := func() *flow.Flow[[]string, int] {
			f, err := flow.New("job", func(ctx context.Context, names []string) (int, error) {
				one := flow.Go(ctx, "plain", func(context.Context) (int, error) { return int(plain.Add(1)), nil })
				got, err := flow.Map(ctx, names, 0, func(s string) string { return "ask/" + s },
					func(ctx context.Context, s string) (int, error) { return ask.WaitKey(ctx, s, s) })
				if err != nil {
					return 0, err
				}
				n, err := one.Wait(ctx)
				return n + got[0] + got[1], err
			}, graph.Options{Checkpoints: store})
			require.NoError(t, err)
			return f
		}
		f := build()
		snap, err := f.Thread("1").Invoke(t.Context(), f.Input([]string{"x", "y"}))
		require.NoError(t, err)
		for range 2 { // each time a new flow, which has nothing in memory
			open, err := ask.Open(snap)
			require.NoError(t, err)
			require.NotEmpty(t, open)
			f = build()
			snap, err = f.Thread("1").Invoke(t.Context(), ask.Answer(open[0].ID, 20))
			require.NoError(t, err)
		}
		assert.True(t, snap.Done())
		assert.Equal(t, 41, f.Output(snap))
		assert.Equal(t, int32(1), plain.Load(), "the plain task ran once")
	})
}

// A task that cannot read the answer to its question asks it again. The right answer is kept
// for a later run that needs it.
func TestUnreadableAnswerOfATaskKeepsItsQuestionOpen(t *testing.T) {
	t.Parallel()
	ask, wrong := graph.NewInterrupt[string, int]("ask"), graph.NewInterrupt[string, string]("ask")
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		broken := true // changed between runs
		f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
			x := flow.Go(ctx, "x", func(ctx context.Context) (int, error) {
				n, err := ask.Wait(ctx, "x")
				if err == nil && broken {
					err = errors.New("broken")
				}
				return n, err
			})
			y := flow.Go(ctx, "y", func(ctx context.Context) (int, error) { return ask.Wait(ctx, "y") })
			n, xErr := x.Wait(ctx)
			m, yErr := y.Wait(ctx)
			return n + m, errors.Join(xErr, yErr)
		}, graph.Options{Checkpoints: store})
		require.NoError(t, err)
		th := f.Thread("1")
		snap, err := th.Invoke(t.Context(), f.Input(0))
		require.NoError(t, err)
		require.Len(t, snap.Pauses, 2)
		id := snap.Pauses[0].ID
		snap, err = th.Invoke(t.Context(), wrong.Answer(id, "many"), ask.Answer(snap.Pauses[1].ID, 1))
		require.ErrorContains(t, err, "the question is open again")
		require.Len(t, snap.Pauses, 1)
		require.Equal(t, id, snap.Pauses[0].ID)
		_, err = th.Invoke(t.Context(), ask.Answer(id, 20))
		require.ErrorContains(t, err, "broken")
		broken = false
		snap, err = th.Invoke(t.Context())
		require.NoError(t, err)
		require.Empty(t, snap.Pauses)
		assert.Equal(t, 21, f.Output(snap))
	})
}
