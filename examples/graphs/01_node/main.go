// Node is the smallest graph: one node that reads a channel and writes another one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	Topic = state.Last[string]("topic")
	Draft = state.Last[string]("draft")
)

func write(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Draft.Put("All there is to know about " + Topic.Get(s))}, nil
}

func main() {
	b := graph.New("note", Topic, Draft)
	b.Node("write", write)
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), Topic.Put("tea"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Draft.Get(snap))
}
