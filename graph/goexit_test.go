package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestGoexitFailsTheNode proves that a node which calls runtime.Goexit, like
// testing.T.FailNow, fails, and that its thread can run again. If Invoke runs a single task
// on the caller's goroutine, the caller's goroutine ends instead.
func TestGoexitFailsTheNode(t *testing.T) {
	t.Parallel()
	for _, siblings := range []int{0, 1, 5} {
		for _, parallel := range []int{0, 1} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d siblings, MaxParallel %d, stream %t", siblings, parallel, stream), func(t *testing.T) {
					t.Parallel()
					goexit(t, siblings, parallel, stream)
				})
			}
		}
	}
}

func goexit(t *testing.T, siblings, parallel int, stream bool) {
	t.Helper()
	async, exits := graph.Async, true
	g := build(t, stores["memory"](t), func(b *graph.Builder) {
		b.Node("n", func(context.Context, state.View) (state.Update, error) {
			if exits {
				runtime.Goexit()
			}
			return nil, nil
		})
		b.Edge(graph.Start, "n")
		for i := range siblings {
			b.Node(fmt.Sprint(i), mark("z"))
			b.Edge(graph.Start, fmt.Sprint(i))
		}
	})
	th := g.Thread("t").With(graph.RunOptions{Durability: &async, MaxParallel: parallel})
	var wg sync.WaitGroup
	var err error
	returned := false
	wg.Go(func() {
		if stream {
			for _, e := range th.Stream(t.Context(), note.Put("go")) {
				err = e
			}
		} else {
			_, err = th.Invoke(t.Context(), note.Put("go"))
		}
		returned = true
	})
	wg.Wait()
	if returned {
		require.ErrorContains(t, err, "runtime.Goexit")
	} else {
		require.True(t, siblings == 0 && !stream, "the caller's goroutine ended")
	}
	exits = false
	assert.Len(t, trail.Get(done(t, th, note.Put("go"))), siblings)
}

// TestGoexitIsAnErrorForHooks proves that if a node of a subgraph calls runtime.Goexit, the hooks of the
// task, the superstep and the run get an error, both in the subgraph and in its parent.
func TestGoexitIsAnErrorForHooks(t *testing.T) {
	t.Parallel()
	build := func(name string) *graph.Builder {
		b := graph.New(name, note)
		b.Edge(graph.Start, "n")
		return b
	}
	inner := build("inner")
	inner.Node("n", func(context.Context, state.View) (state.Update, error) {
		runtime.Goexit()
		return nil, nil
	})
	outer := build("outer")
	outer.Subgraph("n", compile(t, inner, graph.Options{}))
	var log hookLog
	for name, o := range map[string]graph.Options{"without a thread": {}, "with a thread": {Checkpoints: stores["memory"](t)}} {
		o.Hooks = log.hooks()
		g := compile(t, outer, o)
		var wg sync.WaitGroup
		wg.Go(func() {
			if o.Checkpoints == nil {
				_, _ = g.Invoke(t.Context(), note.Put("go"))
			} else {
				_, _ = g.Thread("t").Invoke(t.Context(), note.Put("go"))
			}
		})
		wg.Wait()
		ends := slices.DeleteFunc(log.take(), func(line string) bool { return !strings.HasPrefix(line, "end") })
		require.Len(t, ends, 6, name)
		for _, line := range ends {
			assert.Contains(t, line, "error true", name)
		}
	}
}
