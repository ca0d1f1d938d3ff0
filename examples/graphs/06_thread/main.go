// Thread is a graph that keeps its state under an id, from one call to the next.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin graph
var (
	Topic = state.Last[string]("topic")
	Notes = state.Append[string]("notes")
)

func write(_ context.Context, s state.View) (state.Update, error) {
	return state.Update{Notes.Put(fmt.Sprintf("%d: %s", Notes.Len(s)+1, Topic.Get(s)))}, nil
}

func build(store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New("note", Topic, Notes)
	b.Node("write", write)
	b.Edge(graph.Start, "write")
	return b.Compile(graph.Options{Checkpoints: store})
}

// docs:end

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	// docs:begin run
	g, err := build(memcheckpoint.New(memcheckpoint.Options{}))
	if err != nil {
		return err
	}
	ada := g.Thread("ada")
	if _, err := ada.Invoke(ctx, Topic.Put("tea")); err != nil {
		return err
	}
	if _, err := g.Thread("bob").Invoke(ctx, Topic.Put("coffee")); err != nil {
		return err
	}
	snap, err := ada.Invoke(ctx, Topic.Put("milk"))
	if err != nil {
		return err
	}
	fmt.Println(Notes.Get(snap))
	// docs:end
	return nil
}
