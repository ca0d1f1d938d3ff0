package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// nest fills b with nodes around a subgraph that holds another, depth levels
// down. The innermost asks two questions at once.
func nest(b *graph.Builder, did func(string), depth int) {
	b.Node("before", told("before", did))
	b.Subgraph("sub", level(did, 1, depth))
	b.Node("after", told("after", did))
	chain(b, "before", "sub", "after")
}

func told(name string, did func(string)) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		did(name)
		return state.Update{trail.Put(name)}, nil
	}
}

// level is the graph of one level. Its private channel counts the steps that
// its own nodes make.
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
		panic(err)
	}
	return g
}

// TestNestedPath: a question three levels down says where it is asked.
func TestNestedPath(t *testing.T) {
	t.Parallel()
	g := processGraph(t, "nested", stores["memory"](t), func(string) {})
	s := invoke(t, g.Thread("t"), note.Put("go"))
	for i, want := range []string{"sub/sub/sub/3a", "sub/sub/sub/3b"} {
		if p := s.Pauses[i]; p.Path != want || p.Node != "sub" || p.Kind != graph.Question || p.Interrupt != "ask" {
			t.Fatalf("got %+v, want path %q", p, want)
		}
	}
}
