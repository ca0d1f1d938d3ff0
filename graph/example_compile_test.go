package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

func ExampleNew() {
	name := state.Last[string]("name")
	greeting := state.Last[string]("greeting")

	b := graph.New("hello", name, greeting)
	b.Node("greet", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{greeting.Put("hello " + name.Get(s))}, nil
	})
	b.Edge(graph.Start, "greet")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background(), name.Put("Ana"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(greeting.Get(snap))
	// Output: hello Ana
}

// Compile reports all mistakes at once.
func ExampleBuilder_Compile() {
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("order", state.Last[int]("total"), state.Append[int]("total"))
	b.Node("price", nothing)
	b.Node("ship", nothing)
	b.Node("refund", nothing)
	b.Edge(graph.Start, "price")
	b.Edge("price", "shop")
	b.Branch("price", func(state.View) (string, error) { return "ship", nil }, "ship")
	_, err := b.Compile(graph.Options{})
	fmt.Println(err)
	// Output:
	// graph "order": state: channel "total": two channels have this name: last of int and append of []int
	// graph "order": node "price": an edge leads to "shop": the graph has no such node; did you mean "ship"?
	// graph "order": node "price": it has an edge, which always fires, and a branch or destinations beside it; if that is intended, call AllowEdgesAndBranches("price")
}

// The error of Compile names the node whose edge leads to an unknown node.
func ExampleBuildError() {
	price := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("order")
	b.Node("price", price)
	b.Edge(graph.Start, "price")
	b.Edge("price", "ship")
	_, err := b.Compile(graph.Options{})

	if mistake, ok := errors.AsType[*graph.BuildError](err); ok {
		fmt.Println(mistake.Graph, mistake.Node, errors.Is(mistake, graph.ErrUnknownNode))
	}
	// Output: order price true
}
