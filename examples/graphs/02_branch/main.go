// Branch is a graph in which a function of the state chooses the next node.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin graph
var (
	Topic = state.Last[string]("topic")
	Draft = state.Last[string]("draft")
)

func write(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Draft.Put("All there is to know about " + Topic.Get(s))}, nil
}

func shorten(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Draft.Put("About " + Topic.Get(s))}, nil
}

func tooLong(s state.View) (string, error) {
	if len(Draft.Get(s)) > 30 {
		return "shorten", nil
	}
	return graph.End, nil
}

func main() {
	b := graph.New("note", Topic, Draft)
	b.Node("write", write)
	b.Node("shorten", shorten)
	b.Edge(graph.Start, "write")
	b.Branch("write", tooLong, "shorten", graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, topic := range []string{"tea", "growing tea"} {
		snap, err := g.Invoke(context.Background(), Topic.Put(topic))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(Draft.Get(snap))
	}
}

// docs:end
