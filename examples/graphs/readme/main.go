// Readme is the graph that README.md shows: it orders cups if a person agrees.
package main

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// docs:begin graph
var (
	Cups    = state.Last[int]("cups")
	Log     = state.Append[string]("log")
	Approve = graph.NewInterrupt[string, bool]("approve")
)

func order(ctx context.Context, s state.View) (state.Update, error) {
	ok, err := Approve.Wait(ctx, fmt.Sprintf("order %d cups?", Cups.Get(s)))
	return state.Update{Log.Put(fmt.Sprintf("ordered: %t", ok))}, err // without an answer, err pauses the run
}

func needed(s state.View) (string, error) {
	if Cups.Get(s) > 0 {
		return "order", nil
	}
	return graph.End, nil
}

func main() {
	b := graph.New("shop", Cups, Log)
	b.Node("order", order)
	b.Branch(graph.Start, needed, "order", graph.End)
	g := must(b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	thread := g.Thread("order-1")
	snap := must(thread.Invoke(context.Background(), Cups.Put(12)))
	fmt.Printf("%s\n", snap.Pauses[0].Prompt)
	snap = must(thread.Invoke(context.Background(), Approve.Answer(snap.Pauses[0].ID, true)))
	fmt.Println(Log.Get(snap))
}

// docs:end

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
