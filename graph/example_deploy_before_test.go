package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var bookLog = state.Append[string]("bookLog")

// books compiles a graph that adds up a report and books it. The second version has the node "tax" between the two
// nodes. The booking fails while the ledger is closed.
func books(store checkpoint.Store, taxed, closed bool) *graph.Graph {
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) { return state.Update{bookLog.Put(what)}, nil }
	}
	b := graph.New("books", bookLog)
	b.Node("add", did("added"))
	b.Node("book", func(context.Context, state.View) (state.Update, error) {
		if closed {
			return nil, errors.New("the ledger is closed")
		}
		return state.Update{bookLog.Put("booked")}, nil
	})
	b.Edge(graph.Start, "add")
	if taxed {
		b.Node("tax", did("taxed"))
		b.Edge("add", "tax")
		b.Edge("tax", "book")
	} else {
		b.Edge("add", "book")
	}
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		log.Fatal(err)
	}
	return g
}

// The new version has the node "tax" before the node "book". In an old thread, "book" is already due, so "tax" would not
// run. An update on behalf of "add" makes "tax" due instead.
func ExampleThread_Update_newNode() {
	ctx, store := context.Background(), memcheckpoint.New(memcheckpoint.Options{})
	_, err := books(store, false, true).Thread("report-7").Invoke(ctx, graph.Begin())
	fmt.Println(err)

	g := books(store, true, false)
	for info, err := range g.Waiting(ctx, "book", "") {
		if err != nil {
			log.Fatal(err)
		}
		if _, err := g.Thread(info.Thread).Update(ctx, "add"); err != nil {
			log.Fatal(err)
		}
	}
	snap, err := g.Thread("report-7").Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bookLog.Get(snap))
	// Output:
	// graph "books": thread "report-7": node "book": the ledger is closed
	// [added taxed booked]
}
