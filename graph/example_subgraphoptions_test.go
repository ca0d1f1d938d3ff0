package graph_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The two graphs share no channel. Input and Output copy values between them.
func ExampleSubgraphOptions() {
	source := state.Last[string]("source")
	target := state.Last[string]("target")
	shout := graph.New("shout", source, target)
	shout.Node("shout", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{target.Put(strings.ToUpper(source.Get(s)) + "!")}, nil
	})
	shout.Edge(graph.Start, "shout")
	sub, err := shout.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	greeting := state.Last[string]("greeting")
	b := graph.New("greet", greeting)
	b.SubgraphWith("shout", sub, graph.SubgraphOptions{
		Input: func(parent state.View) (state.Update, error) {
			return state.Update{source.Put(greeting.Get(parent))}, nil
		},
		Output: func(_, sub state.View) (state.Update, error) {
			return state.Update{greeting.Put(target.Get(sub))}, nil
		},
	})
	b.Edge(graph.Start, "shout")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), greeting.Put("hello"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(greeting.Get(snap))
	// Output: HELLO!
}
