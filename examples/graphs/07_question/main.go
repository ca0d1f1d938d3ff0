// Question is a graph that asks a person, pauses, and resumes with the answer.
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
	Draft   = state.Last[string]("draft")
	Status  = state.Last[string]("status")
	Publish = graph.NewInterrupt[string, bool]("publish")
)

func publish(ctx context.Context, s state.View) (state.Update, error) {
	yes, err := Publish.Wait(ctx, fmt.Sprintf("publish %q?", Draft.Get(s)))
	if err != nil {
		return nil, err // there is no answer yet: the run pauses
	}
	if !yes {
		return state.Update{Status.Put("rejected")}, nil
	}
	return state.Update{Status.Put("published")}, nil
}

// docs:end

func build(store checkpoint.Store) (*graph.Graph, error) {
	b := graph.New("note", Draft, Status)
	b.Node("publish", publish)
	b.Edge(graph.Start, "publish")
	return b.Compile(graph.Options{Checkpoints: store})
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	g, err := build(memcheckpoint.New(memcheckpoint.Options{}))
	if err != nil {
		return err
	}
	// docs:begin run
	thread := g.Thread("note-1")
	snap, err := thread.Invoke(ctx, Draft.Put("Tea is old"))
	if err != nil {
		return err
	}
	open, err := Publish.Open(snap)
	if err != nil {
		return err
	}
	fmt.Println(open[0].Prompt)

	snap, err = thread.Invoke(ctx, Publish.Answer(open[0].ID, true)) // in any process, at any time
	if err != nil {
		return err
	}
	fmt.Println(Status.Get(snap))
	// docs:end
	return nil
}
