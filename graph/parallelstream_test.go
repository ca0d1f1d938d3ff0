package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Subgraphs that run beside each other tell their events at once, in time: for the race detector, too.
func TestEventsOfParallelSubgraphs(t *testing.T) {
	t.Parallel()
	count := state.Sum[int]("count")
	inner := graph.New("inner", count)
	for _, name := range []string{"a", "b", "c"} {
		inner.Node(name, func(context.Context, state.View) (state.Update, error) { return state.Update{count.Put(1)}, nil })
	}
	for _, edge := range [][2]string{{graph.Start, "a"}, {"a", "b"}, {"b", "c"}, {"c", graph.End}} {
		inner.Edge(edge[0], edge[1])
	}
	sub, err := inner.Compile(graph.Options{})
	require.NoError(t, err)
	outer := graph.New("outer", count)
	for _, name := range []string{"one", "two", "three", "four"} {
		outer.Subgraph(name, sub)
		outer.Edge(graph.Start, name)
		outer.Edge(name, graph.End)
	}
	g, err := outer.Compile(graph.Options{})
	require.NoError(t, err)
	for range 20 {
		finished := map[string]int{}
		var last *graph.Snapshot
		for ev, err := range g.Stream(t.Context(), count.Put(1)) {
			require.NoError(t, err)
			switch ev := ev.(type) {
			case graph.TaskFinished:
				finished[ev.Path]++
			case graph.RunEnded:
				if ev.Snapshot != nil {
					last = ev.Snapshot
				}
			}
		}
		for _, path := range []string{"one", "two", "three", "four"} {
			if finished[path] != 3 {
				t.Fatalf("%s told of %d tasks, want 3: %v", path, finished[path], finished)
			}
		}
		if last == nil || finished[""] != 4 {
			t.Fatalf("got %v and the snapshot %v", finished, last)
		}
	}
}
