package node_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// pieces yields the texts, and then the error unless it is nil.
func pieces(last error, texts ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, text := range texts {
			if !yield(text, nil) {
				return
			}
		}
		if last != nil {
			yield("", last)
		}
	}
}

// TestTeeEmitsWhatTheNodeReads proves that Tee emits each value when the node reads it,
// emits no value that the node does not read, and yields errors without emitting them.
func TestTeeEmitsWhatTheNodeReads(t *testing.T) {
	t.Parallel()
	g := build(t, func(b *graph.Builder) {
		b.Node("talk", func(ctx context.Context, _ state.View) (state.Update, error) {
			for text, err := range node.Tee(ctx, pieces(nil, "a", "b", "c")) {
				if err != nil {
					return nil, err
				}
				if text == "b" {
					break
				}
			}
			for _, err := range node.Tee(ctx, pieces(errBroken, "d")) {
				if err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		b.Edge(graph.Start, "talk")
	})
	var emitted []string
	var last error
	for ev, err := range g.Stream(t.Context()) {
		if e, ok := ev.(graph.Emitted); ok {
			emitted = append(emitted, fmt.Sprint(e.At().Node, " ", e.Value))
		}
		last = err
	}
	require.Equal(t, []string{"talk a", "talk b", "talk d"}, emitted)
	require.ErrorIs(t, last, errBroken)
}

// Tee emits every value that the node reads, so the caller can show the text as it grows.
func ExampleTee() {
	b := graph.New("report")
	b.Node("write", func(ctx context.Context, _ state.View) (state.Update, error) {
		for _, err := range node.Tee(ctx, pieces(nil, "warp", "and", "weft")) {
			if err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for ev, err := range g.Stream(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		if e, ok := ev.(graph.Emitted); ok {
			fmt.Println(e.At().Node, e.Value)
		}
	}
	// Output:
	// write warp
	// write and
	// write weft
}
