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

// Every mistake is reported, not only the first.
func ExampleBuilder_Compile() {
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("order", state.Last[int]("total"), state.Append[int]("total"))
	b.Node("price", nothing)
	b.Node("ship", nothing)
	b.Node("refund", nothing)
	b.Edge(graph.Start, "price")
	b.Edge("price", "shop")
	b.Branch("price", func(state.View) string { return "ship" }, "ship")
	_, err := b.Compile(graph.Options{})
	fmt.Println(err)
	fmt.Println("unknown node:", errors.Is(err, graph.ErrUnknownNode))
	// Output:
}

// BuildErrors are found one by one in what Compile returns.
func ExampleBuildError() {
	b := graph.New("order", state.Last[int]("total"))
	b.Edge(graph.Start, "price")
	_, err := b.Compile(graph.Options{})

	if mistake, ok := errors.AsType[*graph.BuildError](err); ok {
		fmt.Println(mistake.Graph, mistake.Node, errors.Is(mistake, graph.ErrUnknownNode))
	}
	// Output:
}
