// Testing is a node that asks before it publishes. Its test shows how to test a node.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	Draft   = state.Last[string]("draft")
	Status  = state.Last[string]("status")
	Publish = graph.NewInterrupt[string, bool]("publish")
)

// publish publishes the draft if it is not empty and the answer is yes.
func publish(ctx context.Context, s state.View) (state.Update, error) {
	draft := strings.TrimSpace(Draft.Get(s))
	if draft == "" {
		return state.Update{Status.Put("nothing to publish")}, nil
	}
	yes, err := Publish.Wait(ctx, draft)
	if err != nil {
		return nil, err
	}
	if !yes {
		return state.Update{Status.Put("rejected")}, nil
	}
	return state.Update{Status.Put("published")}, nil
}

func build(o graph.Options) (*graph.Graph, error) {
	b := graph.New("note", Draft, Status)
	b.Node("publish", publish)
	b.Edge(graph.Start, "publish")
	return b.Compile(o)
}

func main() {
	g, err := build(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	snap, err := g.Invoke(context.Background(), Draft.Put(" "))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Status.Get(snap))
}
