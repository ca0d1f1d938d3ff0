package graph_test

import (
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// single compiles a graph with one node, "n", and without a store.
func single(t testing.TB, fn graph.NodeFunc) *graph.Graph {
	t.Helper()
	return build(t, nil, func(b *graph.Builder) {
		b.Node("n", fn)
		b.Edge(graph.Start, "n")
	})
}

// lone returns a thread of a graph with one node, "n".
func lone(t testing.TB, s checkpoint.Store, fn graph.NodeFunc) *graph.Thread {
	t.Helper()
	return build(t, s, func(b *graph.Builder) {
		b.Node("n", fn)
		b.Edge(graph.Start, "n")
	}).Thread("t")
}

// trailGraph compiles a graph whose nodes run one after another and append their names
// to the trail.
func trailGraph(t testing.TB, o graph.Options, names ...string) *graph.Graph {
	t.Helper()
	b := graph.New("test", trail, total, note, item)
	for _, name := range names {
		b.Node(name, mark(name))
	}
	chain(b, names...)
	return compile(t, b, o)
}

// diamond compiles a graph that runs a, then b and c in one superstep, then d.
func diamond(t testing.TB, s checkpoint.Store) *graph.Graph {
	t.Helper()
	return build(t, s, func(b *graph.Builder) {
		for _, n := range []string{"a", "b", "c", "d"} {
			b.Node(n, mark(n))
		}
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("a", "c")
		b.Join("d", "b", "c")
	})
}
