// Subgraph is a graph with a node that runs another graph.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin graph
var (
	Draft  = state.Last[string]("draft")    // both graphs have it
	Faults = state.Append[string]("faults") // only the subgraph has it
)

func find(_ context.Context, s state.View) (state.Update, error) {
	if strings.Contains(Draft.Get(s), "teh") {
		return state.Update{Faults.Put("teh")}, nil
	}
	return nil, nil
}

func mend(_ context.Context, s state.View) (state.Update, error) {
	draft := Draft.Get(s)
	for _, fault := range Faults.All(s) {
		draft = strings.ReplaceAll(draft, fault, "the")
	}
	return state.Update{Draft.Put(draft)}, nil
}

func build() (*graph.Graph, error) {
	sub := graph.New("review", Draft, Faults)
	sub.Node("find", find)
	sub.Node("mend", mend)
	sub.Edge(graph.Start, "find")
	sub.Edge("find", "mend")
	review, err := sub.Compile(graph.Options{})
	if err != nil {
		return nil, err
	}
	b := graph.New("note", Draft)
	b.Subgraph("review", review)
	b.Edge(graph.Start, "review")
	return b.Compile(graph.Options{})
}

// docs:end

func main() {
	g, err := build()
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), Draft.Put("Tea is teh best"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Draft.Get(snap))
}
