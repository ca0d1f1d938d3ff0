package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A customer writes again while a refund waits for a person. The message is added, and the question stays open.
func ExampleContinue_openQuestion() {
	messages := state.Append[string]("messages")
	refund := graph.NewInterrupt[string, bool]("refund")
	b := graph.New("desk", messages)
	b.Node("refund", func(ctx context.Context, s state.View) (state.Update, error) {
		yes, err := refund.Wait(ctx, "refund order A7?")
		if err != nil {
			return nil, err
		}
		last, _ := messages.Last(s)
		return state.Update{messages.Put(fmt.Sprintf("refunded: %t; I have read %q", yes, last))}, nil
	})
	b.Edge(graph.Start, "refund")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	ctx, thread := context.Background(), g.Thread("customer-7")
	snap, err := thread.Invoke(ctx, messages.Put("I want my money back."))
	if err != nil {
		log.Fatal(err)
	}
	question := snap.Pauses[0].ID

	snap, err = thread.Invoke(ctx, graph.Continue(), messages.Put("To my old account, please."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("still open:", snap.Pauses[0].ID == question)

	snap, err = thread.Invoke(ctx, refund.Answer(question, true))
	if err != nil {
		log.Fatal(err)
	}
	last, _ := messages.Last(snap)
	fmt.Println(last)
	// Output:
	// still open: true
	// refunded: true; I have read "To my old account, please."
}
