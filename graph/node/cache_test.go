package node_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// TestCacheReturnsWholeUpdateUntilTTL proves that a cached update contains its writes
// and targets, that failures are not cached, and that an entry expires after its TTL.
func TestCacheReturnsWholeUpdateUntilTTL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs counter
		fail := true
		g := build(t, func(b *graph.Builder) {
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
		run := func(key string) {
			snap, err := g.Invoke(t.Context(), note.Put(key))
			require.NoError(t, err)
			require.Equal(t, []string{key, "to", "sent7"}, trail.Get(snap))
		}
		_, err := g.Invoke(t.Context(), note.Put("a"))
		require.ErrorIs(t, err, errBroken)
		fail = false
		for range 3 {
			run("a")
			run("b")
		}
		runs.want(t, "a", 2)
		runs.want(t, "b", 1)
		time.Sleep(time.Minute)
		run("a")
		runs.want(t, "a", 3)
	})
}

// TestSharedCacheSeparatesNodes proves that two nodes with one cache do not see each
// other's entries, that the least recently used entry is evicted, that Clear removes
// all entries, and that concurrent runs may use the cache.
func TestSharedCacheSeparatesNodes(t *testing.T) {
	t.Parallel()
	var runs counter
	cache := node.NewSharedCache(3)
	g := build(t, func(b *graph.Builder) {
		for _, n := range []string{"x", "y"} {
			b.Node(n, node.Cache(note.Get, node.CachePolicy{Cache: cache}, func(_ context.Context, v state.View) (state.Update, error) {
				runs.add(n + note.Get(v))
				return state.Update{trail.Put(n)}, nil
			}))
		}
		b.Edge(graph.Start, "x")
		b.Edge("x", "y")
	})
	run := func(key string) {
		snap, err := g.Invoke(t.Context(), note.Put(key))
		if assert.NoError(t, err) {
			assert.Equal(t, []string{"x", "y"}, trail.Get(snap))
		}
	}
	run("1") // the cache holds x1 and y1
	run("1")
	run("2") // the cache holds y1, x2 and y2
	run("1") // x1 runs again and evicts y1
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
