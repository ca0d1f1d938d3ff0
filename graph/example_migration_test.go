package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	releaseLog = state.Append[string]("releaseLog")
	releaseOK  = graph.NewInterrupt[string, string]("releaseOK")
)

// release compiles a graph of one node. Each version gives the node another name.
func release(store checkpoint.Store, node string, m graph.Migrations) *graph.Graph {
	b := graph.New("release", releaseLog)
	b.Node(node, func(ctx context.Context, _ state.View) (state.Update, error) {
		by, err := releaseOK.Wait(ctx, "Release it?")
		return state.Update{releaseLog.Put("released by " + by)}, err
	})
	b.Edge(graph.Start, node)
	g, err := b.Compile(graph.Options{Checkpoints: store, Migrations: m})
	if err != nil {
		log.Fatal(err)
	}
	return g
}

// A thread waits at a node that is then renamed. Its question keeps its id.
func ExampleMigrations() {
	ctx, store := context.Background(), memcheckpoint.New(memcheckpoint.Options{})
	snap, err := release(store, "ask", graph.Migrations{}).Thread("v1.2").Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	question := snap.Pauses[0].ID

	g := release(store, "approve", graph.Migrations{Nodes: map[string]string{"ask": "approve"}})
	snap, err = g.Thread("v1.2").Invoke(ctx, releaseOK.Answer(question, "Ada"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(releaseLog.Get(snap))
	// Output: [released by Ada]
}

// A migration may be deleted when no thread waits under the former name any more.
func ExampleGraph_Waiting() {
	ctx, store := context.Background(), memcheckpoint.New(memcheckpoint.Options{})
	g := release(store, "ask", graph.Migrations{})
	for _, id := range []string{"v1.2", "v1.3"} {
		if _, err := g.Thread(id).Invoke(ctx, graph.Begin()); err != nil {
			log.Fatal(err)
		}
	}
	for info, err := range g.Waiting(ctx, "ask", "") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Thread, info.Next)
	}
	// Output:
	// v1.2 [ask]
	// v1.3 [ask]
}
