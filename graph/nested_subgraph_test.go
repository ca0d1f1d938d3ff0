package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// nest adds nodes around a subgraph that contains depth-1 further levels. Two
// nodes of the innermost level ask a question in the same superstep.
func nest(b *graph.Builder, did func(string), depth int) {
	b.Node("before", reporting("before", did))
	b.Subgraph("sub", level(did, 1, depth))
	b.Node("after", reporting("after", did))
	chain(b, "before", "sub", "after")
}

// reporting returns a node that calls did and appends its name to the trail.
func reporting(name string, did func(string)) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		did(name)
		return state.Update{trail.Put(name)}, nil
	}
}

// level builds the graph of level n. A private channel counts the executions of its first and its
// last node, which fail if the count is wrong.
func level(did func(string), n, depth int) *graph.Graph {
	private := state.Sum[int](fmt.Sprint("private", n))
	b := graph.New(fmt.Sprint("level", n), trail, private)
	count := func(name string, want int) graph.NodeFunc {
		return func(_ context.Context, v state.View) (state.Update, error) {
			did(name)
			if got := private.Get(v); got != want {
				return nil, fmt.Errorf("%s: got private %d, want %d", name, got, want)
			}
			return state.Update{trail.Put(name), private.Put(1)}, nil
		}
	}
	b.Node(fmt.Sprint("in", n), count(fmt.Sprint("in", n), 0))
	b.Node(fmt.Sprint("out", n), count(fmt.Sprint("out", n), 1))
	b.Edge(graph.Start, fmt.Sprint("in", n))
	if n < depth {
		b.Subgraph("sub", level(did, n+1, depth))
		b.Edge(fmt.Sprint("in", n), "sub")
		b.Edge("sub", fmt.Sprint("out", n))
	} else {
		for _, q := range []string{"a", "b"} {
			name := fmt.Sprint(n, q)
			b.Node(name, asking(name, did))
			b.Edge(fmt.Sprint("in", n), name)
		}
		b.Join(fmt.Sprint("out", n), fmt.Sprint(n, "a"), fmt.Sprint(n, "b"))
	}
	g, err := b.Compile(graph.Options{})
	if err != nil {
		panic(err) // a child process calls this too, without a testing.T
	}
	return g
}

// TestPauseNamesPathOfNestedQuestion proves that the pause of a question in a nested
// subgraph has its path and the node of the root graph.
func TestPauseNamesPathOfNestedQuestion(t *testing.T) {
	t.Parallel()
	g := processGraph(t, "nested", stores["memory"](t), func(string) {})
	s := invoke(t, g.Thread("t"), note.Put("go"))
	require.Len(t, s.Pauses, 2)
	for i, path := range []string{"sub/sub/sub/3a", "sub/sub/sub/3b"} {
		p := s.Pauses[i]
		assert.Equal(t, path, p.Path)
		assert.Equal(t, "sub", p.Node)
		assert.Equal(t, graph.Question, p.Kind)
		assert.Equal(t, "ask", p.Interrupt)
	}
}
