package broadcast_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/broadcast"
	"github.com/weft-go/weft/state"
)

// A reader that loses its connection after two events continues with the next one.
func ExampleBroadcast() {
	b := graph.New("count")
	b.Node("count", func(ctx context.Context, _ state.View) (state.Update, error) {
		for i := range 3 {
			graph.Emit(ctx, i)
		}
		return nil, nil
	})
	b.Edge(graph.Start, "count")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	run := context.Background() // the context of a request would end with its connection
	shared := broadcast.New(0)
	go shared.Run(g.Stream(run)) //nolint:errcheck // the readers receive the error

	next := 0
	for e, err := range shared.Events(context.Background(), next) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Number, e.Event)
		if next = e.Number + 1; next == 2 {
			break // the connection is lost
		}
	}
	fmt.Println("again, from", next)
	for e, err := range shared.Events(context.Background(), next) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Number, e.Event)
	}
	// Output:
	// 0 step 0: the run starts
	// 1 step 1: runs count
	// again, from 2
	// 2 step 1: count: starts
	// 3 step 1: count: emits 0
	// 4 step 1: count: emits 1
	// 5 step 1: count: emits 2
	// 6 step 1: count: finishes with []
	// 7 step 1: the state changes
	// 8 step 1: the run ends
}

// A Broadcast keeps the newest events. A reader that asks for an older event gets an
// error and the number of the event at which it can continue.
func ExampleBroadcast_Events() {
	b := graph.New("count")
	b.Node("count", func(ctx context.Context, _ state.View) (state.Update, error) {
		for i := range 10 {
			graph.Emit(ctx, i)
		}
		return nil, nil
	})
	b.Edge(graph.Start, "count")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	shared := broadcast.New(4)
	if err := shared.Run(g.Stream(context.Background())); err != nil {
		log.Fatal(err)
	}

	for e, err := range shared.Events(context.Background(), 0) {
		if errors.Is(err, graph.ErrMissed) {
			fmt.Println("continue from", e.Number)
		}
	}
	// Output: continue from 12
}
