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
	Draft = state.Last[string]("draft") // of both graphs
	Words = state.Last[int]("words")    // of the subgraph only
)

func count(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Words.Put(len(strings.Fields(Draft.Get(s))))}, nil
}

func sign(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Draft.Put(fmt.Sprintf("%s (%d words)", Draft.Get(s), Words.Get(s)))}, nil
}

func main() {
	sub := graph.New("review", Draft, Words)
	sub.Node("count", count)
	sub.Node("sign", sign)
	sub.Edge(graph.Start, "count")
	sub.Edge("count", "sign")
	review, err := sub.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("note", Draft)
	b.Subgraph("review", review)
	b.Edge(graph.Start, "review")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), Draft.Put("Tea is old"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Draft.Get(snap))
}

// docs:end
