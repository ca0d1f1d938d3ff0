package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// The middleware wraps the node that runs the subgraph, and the node inside it.
func ExampleMiddleware() {
	text := state.Last[string]("text")
	inner := graph.New("inner", text)
	inner.Node("greet", func(context.Context, state.View) (state.Update, error) {
		return state.Update{text.Put("hello")}, nil
	})
	inner.Edge(graph.Start, "greet")
	sub, err := inner.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("outer", text)
	b.Subgraph("sub", sub)
	b.Edge(graph.Start, "sub")

	trace := func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			at, _ := graph.FromContext(ctx)
			fmt.Println("begin", at.Graph, at.Node)
			update, err := next(ctx, s)
			fmt.Println("end", at.Graph, at.Node, err)
			return update, err
		}
	}
	g, err := b.Compile(graph.Options{Middleware: []graph.Middleware{trace}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := g.Invoke(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// begin outer sub
	// begin inner greet
	// end inner greet <nil>
	// end outer sub <nil>
}

// A retry around a subgraph resumes it at the node that failed.
func ExampleSubgraphOptions_middleware() {
	steps := state.Append[string]("steps")
	busy := true
	inner := graph.New("inner", steps)
	inner.Node("prepare", func(context.Context, state.View) (state.Update, error) {
		fmt.Println("prepare")
		return state.Update{steps.Put("prepared")}, nil
	})
	inner.Node("call", func(context.Context, state.View) (state.Update, error) {
		fmt.Println("call")
		if busy {
			busy = false
			return nil, errors.New("the service is busy")
		}
		return state.Update{steps.Put("called")}, nil
	})
	inner.Edge(graph.Start, "prepare")
	inner.Edge("prepare", "call")
	sub, err := inner.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	b := graph.New("outer", steps)
	b.SubgraphWith("sub", sub, graph.SubgraphOptions{Middleware: []graph.Middleware{
		func(next graph.NodeFunc) graph.NodeFunc {
			return node.Retry(node.RetryPolicy{Initial: -1}, next)
		},
	}})
	b.Edge(graph.Start, "sub")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Thread("order-7").Invoke(context.Background(), graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(steps.Get(snap))
	// Output:
	// prepare
	// call
	// call
	// [prepared called]
}
