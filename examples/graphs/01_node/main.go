// Node is the smallest graph: one node that reads a channel and writes another one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

func main() {
	topic, draft := state.Last[string]("topic"), state.Last[string]("draft")
	b := graph.New("note", topic, draft)
	b.Node("write", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{draft.Put("All there is to know about " + topic.Get(s))}, nil
	})
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), topic.Put("tea"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(draft.Get(snap))
}
