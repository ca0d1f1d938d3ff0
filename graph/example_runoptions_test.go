package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A run without a thread gets a higher MaxSteps than the compiled graph.
func ExampleGraph_With() {
	count := state.Sum[int]("count")
	b := graph.New("count", count)
	b.Node("add", func(context.Context, state.View) (state.Update, error) {
		return state.Update{count.Put(1)}, nil
	})
	b.Edge(graph.Start, "add")
	b.Branch("add", func(s state.View) (string, error) {
		if count.Get(s) < 500 {
			return "add", nil
		}
		return graph.End, nil
	}, "add", graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.With(graph.RunOptions{MaxSteps: 1000}).Invoke(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(count.Get(snap))
	// Output: 500
}

// The run ends while the join still waits, because the branch bypassed one of its
// sources.
func ExampleWaitingJoin() {
	parts := state.Append[string]("parts")
	b := graph.New("report", parts)
	for _, name := range []string{"text", "figures", "print"} {
		b.Node(name, func(context.Context, state.View) (state.Update, error) {
			return state.Update{parts.Put(name)}, nil
		})
	}
	b.Edge(graph.Start, "text")
	b.Branch(graph.Start, func(state.View) (string, error) { return graph.End, nil }, "figures", graph.End)
	b.Join("print", "text", "figures")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Thread("q3").Invoke(context.Background(), graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range snap.Waiting {
		fmt.Println(w.Target, "waits for", w.Awaiting, "and has", w.Arrived)
	}
	// Output: print waits for [figures] and has [text]
}
