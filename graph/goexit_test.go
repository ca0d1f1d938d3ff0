package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestGoexit: a node that ends its goroutine, as FailNow of package testing
// does, fails like one that panics.
func TestGoexit(t *testing.T) {
	t.Parallel()
	for _, beside := range []int{0, 1, 5} {
		for i, stream := range []bool{false, true, false, true} {
			async, parallel := graph.Async, i/2
			exits := true
			g := build(t, stores["memory"](t), func(b *graph.Builder) {
				b.Node("n", func(context.Context, state.View) (state.Update, error) {
					if exits {
						runtime.Goexit()
					}
					return nil, nil
				})
				b.Edge(graph.Start, "n")
				for i := range beside {
					b.Node(fmt.Sprint(i), mark("z"))
					b.Edge(graph.Start, fmt.Sprint(i))
				}
			})
			th := g.Thread("t").With(graph.RunOptions{Durability: &async, MaxParallel: parallel})
			var all sync.WaitGroup
			var err error
			returned := false
			all.Go(func() {
				if stream {
					for _, e := range th.Stream(t.Context(), note.Put("go")) {
						err = e
					}
				} else {
					_, err = th.Invoke(t.Context(), note.Put("go"))
				}
				returned = true
			})
			all.Wait()
			if returned {
				require.ErrorContains(t, err, "runtime.Goexit")
			} else if beside > 0 || stream {
				t.Errorf("%d beside, stream %v: the caller's goroutine ended", beside, stream)
			}
			exits = false
			if snap := done(t, th, note.Put("go")); trail.Len(snap) != beside { // the thread is free again
				t.Errorf("got %q", trail.Get(snap))
			}
		}
	}
}
