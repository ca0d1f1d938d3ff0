package graph_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// everyKind returns a graph with every kind of node and edge.
func everyKind(t *testing.T) *graph.Graph {
	sub := graph.New("sub", trail, turns)
	sub.Node("s-1", mark("s-1"))
	sub.Node("s;2#", mark("s;2#"))
	chain(sub, "s-1", "s;2#", graph.End)
	inner := compile(t, sub, graph.Options{})
	b := graph.New("drawn", trail, note)
	for _, n := range []string{"plan", "left", "right", "both", "end game", "lone"} {
		b.Node(n, mark(n))
	}
	b.Subgraph("sub", inner)
	b.SubgraphWith("memory", inner, graph.SubgraphOptions{Persist: "kept"})
	b.Edge(graph.Start, "plan")
	b.Branch("plan", func(state.View) (string, error) { return "left", nil }, "left", "right", graph.End)
	b.Destinations("left", "sub", "memory")
	b.Destinations(graph.Start, "lone")
	b.Edge("right", "both")
	b.Join("both", "left", "right")
	b.Join("end game", "sub", "memory")
	b.Defer("end game")
	b.Edge("both", graph.End)
	return compile(t, b, graph.Options{PauseBefore: []string{"right"}, PauseAfter: []string{"both"}})
}

// TestDrawingsMatchGoldenFiles proves that the description and the drawings of a graph
// equal golden files, and do not depend on the order of map iteration.
func TestDrawingsMatchGoldenFiles(t *testing.T) {
	t.Parallel()
	g := everyKind(t)
	golden(t, "mermaid.txt", g.Mermaid())
	golden(t, "dot.txt", g.DOT())
	data, err := json.MarshalIndent(g.Describe(), "", "  ")
	require.NoError(t, err)
	golden(t, "describe.json", string(data)+"\n")
	for range 20 { // repeat, since the order of map iteration is random
		other := everyKind(t)
		require.Equal(t, g.Mermaid(), other.Mermaid())
		require.Equal(t, g.DOT(), other.DOT())
	}
}
