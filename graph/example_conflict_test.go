package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A user sends a second message while the first run is answering. The second run
// cancels the first run, and the message of the first run stays stored.
func ExampleConflictPolicy() {
	messages := state.Append[string]("messages")
	answering := make(chan struct{}, 1)
	b := graph.New("chat", messages)
	b.Node("answer", func(ctx context.Context, s state.View) (state.Update, error) {
		if last, _ := messages.Last(s); last == "Write a novel." {
			answering <- struct{}{}
			<-ctx.Done() // a slow model
			return nil, context.Cause(ctx)
		}
		return state.Update{messages.Put("Paris.")}, nil
	})
	b.Edge(graph.Start, "answer")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	thread := g.Thread("user-42")

	first := make(chan error)
	go func() {
		_, err := thread.Invoke(context.Background(), messages.Put("Write a novel."))
		first <- err
	}()
	<-answering
	interrupt := thread.With(graph.RunOptions{Conflict: graph.ConflictInterrupt})
	snap, err := interrupt.Invoke(context.Background(), messages.Put("No: name the capital of France."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("superseded:", errors.Is(<-first, graph.ErrSuperseded))
	for _, m := range messages.Get(snap) {
		fmt.Println(m)
	}
	// Output:
	// superseded: true
	// Write a novel.
	// No: name the capital of France.
	// Paris.
}
