package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	draftText    = state.Last[string]("draftText")
	draftApprove = graph.NewInterrupt[string, bool]("draftApprove")
)

// newsletter returns a graph with a subgraph that writes a draft, asks for approval and
// sends the draft.
func newsletter() *graph.Graph {
	inner := graph.New("draft", draftText)
	inner.Node("write", func(context.Context, state.View) (state.Update, error) {
		return state.Update{draftText.Put("Dear all,")}, nil
	})
	inner.Node("approve", func(ctx context.Context, s state.View) (state.Update, error) {
		_, err := draftApprove.Wait(ctx, draftText.Get(s))
		return nil, err
	})
	inner.Node("send", func(_ context.Context, s state.View) (state.Update, error) {
		fmt.Println("sent:", draftText.Get(s))
		return nil, nil
	})
	inner.Edge(graph.Start, "write")
	inner.Edge("write", "approve")
	inner.Edge("approve", "send")
	sub, err := inner.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("newsletter", draftText)
	b.Subgraph("draft", sub)
	b.Edge(graph.Start, "draft")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	return g
}

// An editor changes the draft inside the subgraph instead of approving it. The question
// is withdrawn, and the thread resumes after the node "approve".
func ExampleSubgraphThread_Update() {
	ctx, thread := context.Background(), newsletter().Thread("may")
	if _, err := thread.Invoke(ctx, graph.Begin()); err != nil {
		log.Fatal(err)
	}
	if _, err := thread.Subgraph("draft").Update(ctx, "approve", draftText.Put("Dear readers,")); err != nil {
		log.Fatal(err)
	}
	if _, err := thread.Invoke(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: sent: Dear readers,
}

// A subgraph has its own state and history. Fork makes it resume from an older
// checkpoint.
func ExampleSubgraphThread_Fork() {
	ctx, thread := context.Background(), newsletter().Thread("june")
	if _, err := thread.Invoke(ctx, graph.Begin()); err != nil {
		log.Fatal(err)
	}
	sub := thread.Subgraph("draft")
	first := ""
	for info, err := range sub.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Source, info.Next)
		first = info.ID
	}
	if _, err := sub.At(first).Fork(ctx); err != nil {
		log.Fatal(err)
	}
	snap, err := sub.Snapshot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the next run begins with", snap.Next)
	// Output:
	// loop [approve]
	// input [write]
	// the next run begins with [write]
}
