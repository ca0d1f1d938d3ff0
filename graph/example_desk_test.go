package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

var (
	deskRequest = state.Last[string]("request")
	deskOrder   = state.Last[string]("order")
	deskLog     = state.Append[string]("log")

	deskRefund = graph.NewInterrupt[string, bool]("refund")
)

// deskTriage sends one task for each order in the request.
func deskTriage(_ context.Context, s state.View) (state.Update, error) {
	var out state.Update
	for _, word := range strings.Fields(deskRequest.Get(s)) {
		if strings.HasPrefix(word, "A-") {
			out = append(out, graph.Send("refund", deskOrder.Put(word)))
		}
	}
	if len(out) == 0 {
		return state.Update{graph.Goto("answer")}, nil
	}
	return out, nil
}

// deskPay refunds an order if a person agrees.
func deskPay(ctx context.Context, s state.View) (state.Update, error) {
	order := deskOrder.Get(s)
	ok, err := deskRefund.Wait(ctx, "refund "+order+"?")
	if err != nil {
		return nil, err
	}
	if !ok {
		return state.Update{deskLog.Put(order + " refused")}, nil
	}
	return state.Update{deskLog.Put(order + " refunded")}, nil
}

func deskAnswer(context.Context, state.View) (state.Update, error) {
	return state.Update{deskLog.Put("answered")}, nil
}

// openDesk opens the store and compiles the graph. Each process of the service calls
// it when it starts.
func openDesk(ctx context.Context, path string) (*graph.Graph, *sqlitecheckpoint.Store, error) {
	store, err := sqlitecheckpoint.Open(ctx, path, sqlitecheckpoint.Options{})
	if err != nil {
		return nil, nil, err
	}
	b := graph.New("desk", deskRequest, deskOrder, deskLog)
	b.Node("triage", deskTriage)
	b.Node("refund", node.Retry(node.RetryPolicy{}, deskPay))
	b.Node("answer", deskAnswer)
	b.Edge(graph.Start, "triage")
	b.Destinations("triage", "refund", "answer")
	b.Edge("refund", "answer")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return g, store, nil
}

// A thread asks two questions, and the store is closed, as at the end of a process. With the
// store and the graph opened again, the open questions are listed and answered one after
// another.
func Example_supportDesk() {
	folder, err := os.MkdirTemp("", "desk")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	ctx, path := context.Background(), filepath.Join(folder, "desk.db")

	g, store, err := openDesk(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	request := deskRequest.Put("please refund A-17 and A-18")
	snap, err := g.Thread("ticket-7").Invoke(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(snap.Pauses), "questions are open")
	if err := store.Close(); err != nil {
		log.Fatal(err)
	}

	g, store, err = openDesk(ctx, path)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	snap, err = g.Thread("ticket-7").Snapshot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	open, err := deskRefund.Open(snap)
	if err != nil {
		log.Fatal(err)
	}
	for i, q := range open {
		agreed := i == 0
		fmt.Println(q.Prompt, agreed)
		if snap, err = g.Thread("ticket-7").Invoke(ctx, deskRefund.Answer(q.ID, agreed)); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%q\n", deskLog.Get(snap))
	// Output:
	// 2 questions are open
	// refund A-17? true
	// refund A-18? false
	// ["A-17 refunded" "A-18 refused" "answered"]
}
