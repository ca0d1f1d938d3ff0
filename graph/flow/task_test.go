package flow_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/graph/node"
)

var (
	ask   = graph.NewInterrupt[string, int]("ask")
	modes = []graph.Durability{graph.Sync, graph.Async, graph.Exit}
)

// Tasks can use the same keys for questions, Once and idempotency keys. Each answer is given to
// a new build of the flow, as in another process.
func TestTasksHaveTheirOwnKeys(t *testing.T) {
	t.Parallel()
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		for _, mode := range modes {
			var mu sync.Mutex
			effects, keys := map[string]int{}, map[string]map[string]bool{}
			build := func() *flow.Flow[[]string, []int] {
				f, err := flow.New("job", func(ctx context.Context, names []string) ([]int, error) {
					return flow.Map(ctx, names, 0, func(s string) string { return s }, func(ctx context.Context, s string) (int, error) {
						n, err := graph.Once(ctx, "effect", func(context.Context) (int, error) {
							mu.Lock()
							defer mu.Unlock()
							effects[s]++
							return len(s), nil
						})
						mu.Lock()
						if keys[s] == nil {
							keys[s] = map[string]bool{}
						}
						keys[s][graph.IdempotencyKey(ctx)] = true
						mu.Unlock()
						if err != nil || s == "none" {
							return n, err
						}
						answer, err := ask.Wait(ctx, s)
						if err != nil {
							return 0, err
						}
						second, err := ask.WaitKey(ctx, "second", s)
						return n + answer + second, err
					})
				}, graph.Options{Checkpoints: store, Durability: mode})
				require.NoError(t, err)
				return f
			}
			names := []string{"a/b", "a", "none", "a~c", "[2]@"}
			f, thread := build(), mode.String()
			snap, err := f.Thread(thread).Invoke(t.Context(), f.Input(names))
			require.NoError(t, err)
			for answered := range 8 {
				open, err := ask.Open(snap)
				require.NoError(t, err)
				require.Len(t, open, min(4, 8-answered))
				if answered == 0 {
					var prompts []string
					for _, q := range open {
						prompts = append(prompts, q.Prompt)
					}
					assert.Equal(t, []string{"[2]@", "a", "a/b", "a~c"}, prompts, "questions are sorted by task")
				}
				q := open[0]
				for _, other := range open { // answer the first question of every task first
					if other.Key < q.Key {
						q = other
					}
				}
				value := 100 * len(q.Prompt)
				if q.Key == "second" {
					value *= 10
				}
				f = build()
				snap, err = f.Thread(thread).Invoke(t.Context(), ask.Answer(q.ID, value))
				require.NoError(t, err)
			}
			assert.Equal(t, []int{3303, 1101, 4, 3303, 4404}, f.Output(snap))
			all := map[string]bool{}
			for _, name := range names {
				assert.Equal(t, 1, effects[name], "effects of %s", name)
				assert.Len(t, keys[name], 1, "idempotency keys of %s", name)
				for key := range keys[name] {
					all[key] = true
				}
			}
			assert.Len(t, all, len(names), "idempotency keys")
		}
	})
}

// A task inside a task has its own keys, and its result is stored before the outer task
// ends.
func TestTasksNest(t *testing.T) {
	t.Parallel()
	overStores(t, func(t *testing.T, store checkpoint.Store) {
		var runs atomic.Int32
		build := func() *flow.Flow[int, string] {
			f, err := flow.New("job", func(ctx context.Context, _ int) (string, error) {
				return flow.Do(ctx, "outer", func(ctx context.Context) (string, error) {
					first, err := flow.Do(ctx, "inner", func(ctx context.Context) (string, error) {
						runs.Add(1)
						at, _ := graph.FromContext(ctx)
						return at.Task, nil
					})
					if err != nil {
						return "", err
					}
					n, err := flow.Go(ctx, "outer", func(ctx context.Context) (int, error) { return ask.Wait(ctx, "?") }).Wait(ctx)
					return fmt.Sprint(first, " ", n), err
				})
			}, graph.Options{Checkpoints: store})
			require.NoError(t, err)
			return f
		}
		f := build()
		snap, err := f.Thread("1").Invoke(t.Context(), f.Input(1))
		require.NoError(t, err)
		open, err := ask.Open(snap)
		require.NoError(t, err)
		require.Len(t, open, 1)
		assert.Equal(t, "flow~outer~outer", open[0].Path)
		f = build()
		snap, err = f.Thread("1").Invoke(t.Context(), ask.Answer(open[0].ID, 7))
		require.NoError(t, err)
		assert.Equal(t, "flow~outer~inner 7", f.Output(snap))
		assert.Equal(t, int32(1), runs.Load())
	})
}

func TestRetryKeepsCompletedTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := map[string]int{}
		f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
			return flow.Do(ctx, "outer", flow.Retry(node.RetryPolicy{Attempts: 3}, func(ctx context.Context) (int, error) {
				n, err := flow.Do(ctx, "inner", func(context.Context) (int, error) {
					runs["inner"]++
					return 5, nil
				})
				if err != nil {
					return 0, err
				}
				at, _ := graph.FromContext(ctx)
				assert.Equal(t, runs["outer"]+1, at.Attempt)
				if runs["outer"]++; runs["outer"] < 3 {
					flow.Go(ctx, "lost", func(context.Context) (int, error) { return 0, errors.New("nobody reads it") })
					return 0, errors.New("again")
				}
				return n, nil
			}))
		}, graph.Options{})
		require.NoError(t, err)
		snap, err := f.Invoke(t.Context(), f.Input(1))
		require.NoError(t, err)
		assert.Equal(t, 5, f.Output(snap))
		assert.Equal(t, map[string]int{"inner": 1, "outer": 3}, runs)
	})
}

// A retry removes only the questions of its own task.
func TestRetryKeepsQuestionsOfOtherTasks(t *testing.T) {
	t.Parallel()
	asked, tries := make(chan struct{}), 0
	f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		question := flow.Go(ctx, "question", func(ctx context.Context) (int, error) {
			n, err := ask.Wait(ctx, "?")
			if err != nil {
				close(asked)
			}
			return n, err
		})
		n, err := flow.Do(ctx, "tries", flow.Retry(node.RetryPolicy{Initial: -1}, func(context.Context) (int, error) {
			if tries++; tries == 1 {
				<-asked
				return 0, errors.New("again")
			}
			return 1, nil
		}))
		if err != nil {
			return 0, err
		}
		answer, err := question.Wait(ctx)
		return n + answer, err
	}, options())
	require.NoError(t, err)
	snap, err := f.Thread("1").Invoke(t.Context(), f.Input(1))
	require.NoError(t, err)
	open, err := ask.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 1)
	snap, err = f.Thread("1").Invoke(t.Context(), ask.Answer(open[0].ID, 10))
	require.NoError(t, err)
	assert.Equal(t, 11, f.Output(snap))
	assert.Equal(t, 2, tries)
}

func TestFailureNamesItsTask(t *testing.T) {
	t.Parallel()
	failure := errors.New("failure")
	f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		return flow.Do(ctx, "load", flow.Retry(node.RetryPolicy{Attempts: 2, Initial: -1}, func(context.Context) (int, error) { return 0, failure }))
	}, options())
	require.NoError(t, err)
	_, err = f.Thread("1").Invoke(t.Context(), f.Input(1))
	require.ErrorIs(t, err, failure)
	ne, ok := errors.AsType[*graph.NodeError](err)
	require.True(t, ok)
	assert.Equal(t, "flow~load", ne.Task)
	assert.Equal(t, 2, ne.Attempt)
	assert.Equal(t, 1, strings.Count(err.Error(), "flow~load"), err.Error())
}

func TestTimeoutEndsATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
			slow := flow.Go(ctx, "slow", flow.Timeout(time.Second, func(ctx context.Context) (int, error) {
				<-ctx.Done()
				return 0, ctx.Err()
			}))
			n, err := flow.Do(ctx, "quick", flow.Timeout(time.Second, constant(1)))
			if err != nil {
				return 0, err
			}
			_, err = slow.Wait(ctx)
			assert.ErrorIs(t, err, graph.ErrTimeout)
			return n, nil // the flow continues without the slow task
		}, graph.Options{})
		require.NoError(t, err)
		snap, err := f.Invoke(t.Context(), f.Input(1))
		require.NoError(t, err)
		assert.Equal(t, 1, f.Output(snap))
	})
}

func TestCacheIsSharedByThreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		cache := flow.NewCache[[]int](flow.CacheOptions{TTL: time.Hour})
		f, err := flow.New("job", func(ctx context.Context, n int) (int, error) {
			list, err := flow.Do(ctx, "load", cache.Wrap(fmt.Sprint(n), func(context.Context) ([]int, error) {
				if calls++; n == 0 {
					return nil, errors.New("not cached")
				}
				return []int{n}, nil
			}))
			if err != nil {
				return 0, err
			}
			list[0]++ // a change does not reach the cache
			return list[0], nil
		}, graph.Options{})
		require.NoError(t, err)
		run := func(n, wantCalls int) {
			t.Helper()
			snap, err := f.Invoke(t.Context(), f.Input(n))
			if n > 0 {
				require.NoError(t, err)
				assert.Equal(t, n+1, f.Output(snap))
			} else {
				require.Error(t, err)
			}
			assert.Equal(t, wantCalls, calls)
		}
		run(1, 1)
		run(1, 1)
		run(2, 2)
		run(0, 3)
		run(0, 4)
		time.Sleep(time.Hour)
		run(1, 5)
	})
}

func TestEndedContextBeginsNoTask(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		first, err := flow.Do(ctx, "first", func(context.Context) (int, error) {
			cancel()
			return 1, nil
		})
		if err != nil {
			return 0, err
		}
		second, err := flow.Do(ctx, "second", constant(1))
		return first + second, err
	}, options())
	require.NoError(t, err)
	_, err = f.Thread("1").Invoke(ctx, f.Input(1))
	require.ErrorIs(t, err, context.Canceled)
	snap, err := f.Thread("1").Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, f.Output(snap))
}

// A flow that is retried as a whole keeps its completed tasks and their keys.
func TestFlowIsRetriedAsAWhole(t *testing.T) {
	t.Parallel()
	runs, tries := 0, 0
	f, err := flow.New("job", func(ctx context.Context, _ int) (int, error) {
		tries++
		n, err := flow.Do(ctx, "task", func(context.Context) (int, error) {
			runs++
			return 1, nil
		})
		if err == nil && tries < 3 {
			err = errors.New("again")
		}
		return n, err
	}, graph.Options{Middleware: []graph.Middleware{func(next graph.NodeFunc) graph.NodeFunc {
		return node.Retry(node.RetryPolicy{Initial: -1}, next)
	}}})
	require.NoError(t, err)
	snap, err := f.Invoke(t.Context(), f.Input(1))
	require.NoError(t, err)
	assert.Equal(t, 1, f.Output(snap))
	assert.Equal(t, 1, runs)
	assert.Equal(t, 3, tries)
}
