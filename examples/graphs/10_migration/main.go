// Migration is a graph whose node was renamed while a thread waited at it, and whose
// channel then got another name and another type.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	Status  = state.Last[string]("status")
	Publish = graph.NewInterrupt[string, bool]("publish")
)

func publish(ctx context.Context, _ state.View) (state.Update, error) {
	yes, err := Publish.Wait(ctx, "publish?")
	if err != nil {
		return nil, err
	}
	return state.Update{Status.Put(fmt.Sprintf("published: %t", yes))}, nil
}

func build(name string, o graph.Options) (*graph.Graph, error) {
	b := graph.New("note", Status)
	b.Node(name, publish)
	b.Edge(graph.Start, name)
	return b.Compile(o)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	// docs:begin run
	store := memcheckpoint.New(memcheckpoint.Options{})
	old, err := build("submit", graph.Options{Checkpoints: store})
	if err != nil {
		return err
	}
	snap, err := old.Thread("note-1").Invoke(ctx, graph.Begin())
	if err != nil {
		return err
	}
	fmt.Println("waits at", snap.Pauses[0].Node)

	g, err := build("publish", graph.Options{
		Checkpoints: store,
		Migrations:  graph.Migrations{Nodes: map[string]string{"submit": "publish"}},
	})
	if err != nil {
		return err
	}
	for info, err := range g.Waiting(ctx, "publish", "") {
		if err != nil {
			return err
		}
		fmt.Println("thread", info.Thread, "is due at", info.Next)
	}
	snap, err = g.Thread("note-1").Invoke(ctx, Publish.Answer(snap.Pauses[0].ID, true))
	if err != nil {
		return err
	}
	fmt.Println(Status.Get(snap))
	// docs:end
	return readVerdict(ctx, store)
}
