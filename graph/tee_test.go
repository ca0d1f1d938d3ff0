package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

func pieces(last error, all ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, w := range all {
			if !yield(w, nil) {
				return
			}
		}
		if last != nil {
			yield("", last)
		}
	}
}

func TestTee(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	b := graph.New("tee", state.Last[int]("n"))
	b.Node("talk", func(ctx context.Context, _ state.View) (state.Update, error) {
		for w, err := range graph.Tee(ctx, pieces(nil, "a", "b", "c")) {
			if err != nil {
				return nil, err
			}
			if w == "b" {
				break // what is not asked for is not emitted
			}
		}
		for _, err := range graph.Tee(ctx, pieces(broken, "d")) {
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	b.Edge(graph.Start, "talk")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	var seen string
	var last error
	for ev, err := range g.Stream(t.Context()) {
		if e, ok := ev.(graph.Emitted); ok {
			seen += fmt.Sprint(e.Node, " ", e.Value, "; ")
		}
		last = err
	}
	if want := "talk a; talk b; talk d; "; seen != want || !errors.Is(last, broken) {
		t.Errorf("got %q and %v, want %q", seen, last, want)
	}
}

// A node passes on what it reads piece by piece, and the caller sees each piece
// when the node does.
func ExampleTee() {
	b := graph.New("report", state.Last[string]("text"))
	b.Node("write", func(ctx context.Context, _ state.View) (state.Update, error) {
		for _, err := range graph.Tee(ctx, pieces(nil, "warp", "and", "weft")) {
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range g.Stream(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if e, ok := ev.(graph.Emitted); ok {
			fmt.Println(e.Node, e.Value)
		}
	}
	// Output:
	// write warp
	// write and
	// write weft
}
