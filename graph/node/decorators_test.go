package node_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// TestNilFunctionIsACompileError proves that every decorator returns nil around a nil
// function, and that Compile then names the node.
func TestNilFunctionIsACompileError(t *testing.T) {
	t.Parallel()
	for name, fn := range map[string]graph.NodeFunc{
		"Retry":       node.Retry(node.RetryPolicy{}, nil),
		"Timeout":     node.Timeout(time.Second, nil),
		"IdleTimeout": node.IdleTimeout(time.Second, nil),
		"Limit":       node.Limit(1, nil),
		"Cache":       node.Cache(func(state.View) string { return "" }, node.CachePolicy{}, nil),
		"Recover":     node.Recover(func(context.Context, state.View, error) (state.Update, error) { return nil, nil }, nil),
		"no key":      node.Cache(nil, node.CachePolicy{}, mark("n")),
		"no handler":  node.Recover(nil, mark("n")),
		"two of them": node.Limit(1, node.Retry(node.RetryPolicy{}, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := graph.New("g", trail)
			b.Node("n", fn)
			b.Edge(graph.Start, "n")
			_, err := b.Compile(graph.Options{})
			require.ErrorContains(t, err, `node "n": its function is nil`)
		})
	}
}

// TestHeartbeatOutsideANode proves that Heartbeat does nothing outside a node.
func TestHeartbeatOutsideANode(t *testing.T) {
	t.Parallel()
	require.NotPanics(t, func() { node.Heartbeat(t.Context()) })
}

// TestPauseReplacedByNode proves that a node which replaces the error of Wait pauses
// and later receives its answer, under every decorator.
func TestPauseReplacedByNode(t *testing.T) {
	t.Parallel()
	decorators := map[string]func(graph.NodeFunc) graph.NodeFunc{
		"bare": func(fn graph.NodeFunc) graph.NodeFunc { return fn },
		"retry": func(fn graph.NodeFunc) graph.NodeFunc {
			return node.Retry(node.RetryPolicy{Attempts: 3, Initial: -1}, fn)
		},
		"recover": func(fn graph.NodeFunc) graph.NodeFunc {
			return node.Recover(func(context.Context, state.View, error) (state.Update, error) {
				return state.Update{trail.Put("handled")}, nil
			}, fn)
		},
		"cache": func(fn graph.NodeFunc) graph.NodeFunc {
			return node.Cache(func(state.View) string { return "" }, node.CachePolicy{}, fn)
		},
		"limit":   func(fn graph.NodeFunc) graph.NodeFunc { return node.Limit(1, fn) },
		"timeout": func(fn graph.NodeFunc) graph.NodeFunc { return node.Timeout(time.Hour, fn) },
	}
	replacements := map[string]func(error) error{
		"nil":     func(error) error { return nil },
		"other":   func(error) error { return errBroken },
		"wrapped": func(err error) error { return fmt.Errorf("wrapped: %w", err) },
		"panic":   func(err error) error { panic(err) },
	}
	file, err := sqlitecheckpoint.Open(t.Context(), filepath.Join(t.TempDir(), "weft.db"), sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, file.Close()) })
	stores := map[string]checkpoint.Store{"memory": memcheckpoint.New(memcheckpoint.Options{}), "sqlite": file}
	for sname, store := range stores {
		for dname, decorate := range decorators {
			for rname, replace := range replacements {
				name := sname + " " + dname + " " + rname
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					pauseAndAnswer(t, store, name, decorate, replace)
				})
			}
		}
	}
}

// pauseAndAnswer runs a node that asks a question and replaces the error of Wait. It
// then answers the question.
func pauseAndAnswer(t *testing.T, store checkpoint.Store, thread string, decorate func(graph.NodeFunc) graph.NodeFunc, replace func(error) error) {
	t.Helper()
	ask := graph.NewInterrupt[string, string]("ask")
	var runs counter
	g := buildOn(t, store, func(b *graph.Builder) {
		b.Node("n", decorate(func(ctx context.Context, _ state.View) (state.Update, error) {
			runs.add("n")
			a, err := ask.Wait(ctx, "n?")
			if err == nil {
				return state.Update{trail.Put("n=" + a)}, nil
			}
			if !graph.IsPause(err) {
				return nil, errors.New("not a pause")
			}
			return state.Update{trail.Put("dropped")}, replace(err)
		}))
		b.Edge(graph.Start, "n")
	})
	th := g.Thread(thread)
	snap, err := th.Invoke(t.Context(), note.Put("go"))
	require.NoError(t, err)
	require.Len(t, snap.Pauses, 1)
	require.Empty(t, trail.Get(snap))
	snap, err = th.Invoke(t.Context(), ask.Answer(snap.Pauses[0].ID, "ok"))
	require.NoError(t, err)
	require.True(t, snap.Done())
	require.Empty(t, snap.Pauses)
	require.Equal(t, []string{"n=ok"}, trail.Get(snap))
	runs.want(t, "n", 2)
}

// TestADrainOfAnotherRunIsAFailure proves that Retry repeats a node whose separate run on another thread was drained, and
// that Recover handles its error.
func TestADrainOfAnotherRunIsAFailure(t *testing.T) {
	t.Parallel()
	other := build(t, func(b *graph.Builder) {
		b.Node("n", mark("n"))
		b.Edge(graph.Start, "n")
	})
	attempts := 0
	work := func(ctx context.Context, _ state.View) (state.Update, error) {
		if attempts++; attempts > 1 {
			return state.Update{trail.Put("repeated")}, nil
		}
		stopped, drain := context.WithCancelCause(ctx)
		drain(graph.ErrDrained)
		_, err := other.Thread("other").Invoke(stopped, note.Put("go"))
		return nil, err
	}
	handle := func(_ context.Context, _ state.View, err error) (state.Update, error) {
		require.ErrorIs(t, err, graph.ErrDrained)
		return state.Update{trail.Put("handled")}, nil
	}
	for want, fn := range map[string]graph.NodeFunc{
		"repeated": node.Retry(node.RetryPolicy{Initial: -1}, work),
		"handled":  node.Recover(handle, work),
	} {
		attempts = 0
		snap, err := build(t, func(b *graph.Builder) {
			b.Node("n", fn)
			b.Edge(graph.Start, "n")
		}).Thread(want).Invoke(t.Context(), note.Put("go"))
		require.NoError(t, err, want)
		require.Equal(t, []string{want}, trail.Get(snap))
	}
}

// TestADrainedSubgraphIsNoFailure proves that Retry does not repeat a subgraph that was drained, and that Recover does not
// handle its end.
func TestADrainedSubgraphIsNoFailure(t *testing.T) {
	t.Parallel()
	for name, middleware := range map[string]graph.Middleware{
		"retry": func(next graph.NodeFunc) graph.NodeFunc { return node.Retry(node.RetryPolicy{}, next) },
		"recover": func(next graph.NodeFunc) graph.NodeFunc {
			return node.Recover(func(_ context.Context, _ state.View, err error) (state.Update, error) {
				return state.Update{trail.Put("handled " + err.Error())}, nil
			}, next)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, drain := context.WithCancelCause(t.Context())
				inner := build(t, func(b *graph.Builder) {
					b.Node("one", func(context.Context, state.View) (state.Update, error) {
						drain(graph.ErrDrained)
						return state.Update{trail.Put("one")}, nil
					})
					b.Node("two", mark("two"))
					b.Edge(graph.Start, "one")
					b.Edge("one", "two")
				})
				attempts := 0
				counted := func(next graph.NodeFunc) graph.NodeFunc {
					return func(ctx context.Context, s state.View) (state.Update, error) {
						attempts++
						return next(ctx, s)
					}
				}
				th := build(t, func(b *graph.Builder) {
					b.SubgraphWith("sub", inner, graph.SubgraphOptions{Middleware: []graph.Middleware{middleware, counted}})
					b.Edge(graph.Start, "sub")
				}).Thread("t")
				begin := time.Now()
				_, err := th.Invoke(ctx, note.Put("go"))
				require.ErrorIs(t, err, graph.ErrDrained)
				require.Equal(t, 1, attempts)
				require.Equal(t, begin, time.Now(), "Retry waited")
				snap, err := th.Invoke(t.Context())
				require.NoError(t, err)
				require.Equal(t, []string{"one", "two"}, trail.Get(snap))
			})
		})
	}
}
