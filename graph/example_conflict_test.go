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

// Two people edit an order. The second one read the order before the first one saved, so the second save is refused.
func ExampleHooks_held() {
	address := state.LastWins[string]("address")
	b := graph.New("order", address)
	b.Node("save", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "save")
	b.Edge("save", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	order := g.Thread("order-7")
	read, err := order.Invoke(context.Background(), address.Put("Elm Street 1"))
	if err != nil {
		log.Fatal(err)
	}
	errOld := errors.New("the order was changed after you had opened it")
	unchanged := func(ctx context.Context, _ graph.Running) error {
		newest, err := order.Snapshot(ctx)
		if err == nil && newest.ID != read.ID {
			err = errOld
		}
		return err
	}
	save := order.With(graph.RunOptions{Conflict: graph.ConflictWait, Hooks: &graph.Hooks{Held: unchanged}})
	for _, text := range []string{"Elm Street 2", "Oak Street 5"} {
		_, err := save.Invoke(context.Background(), address.Put(text))
		fmt.Println(text, "is refused:", errors.Is(err, errOld))
	}
	// Output:
	// Elm Street 2 is refused: false
	// Oak Street 5 is refused: true
}
