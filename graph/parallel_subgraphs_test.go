package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestEventsOfParallelSubgraphs proves that a stream has all events of subgraphs that run
// concurrently. The race detector finds shared memory.
func TestEventsOfParallelSubgraphs(t *testing.T) {
	t.Parallel()
	inner := graph.New("inner", total)
	for _, name := range []string{"a", "b", "c"} {
		inner.Node(name, func(context.Context, state.View) (state.Update, error) { return state.Update{total.Put(1)}, nil })
	}
	chain(inner, "a", "b", "c", graph.End)
	sub := compile(t, inner, graph.Options{})
	paths := []string{"one", "two", "three", "four"}
	outer := graph.New("outer", total)
	for _, path := range paths {
		outer.Subgraph(path, sub)
		chain(outer, path, graph.End)
	}
	g := compile(t, outer, graph.Options{})
	for range 20 {
		finished := map[string]int{}
		var last *graph.Snapshot
		for ev, err := range g.Stream(t.Context(), total.Put(1)) {
			require.NoError(t, err)
			switch ev := ev.(type) {
			case graph.TaskFinished:
				finished[ev.At().Path]++
			case graph.RunEnded:
				if ev.Snapshot != nil {
					last = ev.Snapshot
				}
			}
		}
		for _, path := range paths {
			require.Equal(t, 3, finished[path], "finished tasks of %s", path)
		}
		require.Equal(t, len(paths), finished[""], "finished tasks of the outer graph")
		require.NotNil(t, last)
	}
}

// TestBusyPersistentStateFailsEveryRun proves that every run fails if two tasks of one
// superstep use the same Persist name, also when tasks run one after another.
func TestBusyPersistentStateFailsEveryRun(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		inner := trailGraph(t, graph.Options{}, "note")
		b := graph.New("outer", trail)
		for _, name := range []string{"a", "b"} {
			b.SubgraphWith(name, inner, graph.SubgraphOptions{Persist: "m"})
			b.Edge(graph.Start, name)
		}
		g := compile(t, b, graph.Options{Checkpoints: store, MaxParallel: 1})
		for range 3 {
			_, err := g.Thread("t").Invoke(t.Context(), graph.Begin())
			require.ErrorIs(t, err, graph.ErrPersistentBusy)
		}
	})
}
