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

// The node runs again when its question is answered. Because of Once, the mail is not
// sent a second time.
func ExampleOnce() {
	outcome := state.Last[string]("outcome")
	confirm := graph.NewInterrupt[string, bool]("confirm")
	sendMail := func(context.Context) (string, error) {
		fmt.Println("sending mail")
		return "msg-77", nil
	}

	b := graph.New("signup", outcome)
	b.Node("invite", func(ctx context.Context, _ state.View) (state.Update, error) {
		id, err := graph.Once(ctx, "mail", sendMail)
		if err != nil {
			return nil, err
		}
		ok, err := confirm.Wait(ctx, "did the user follow the link in "+id+"?")
		if err != nil {
			return nil, err
		}
		return state.Update{outcome.Put(fmt.Sprintf("%s confirmed: %t", id, ok))}, nil
	})
	b.Edge(graph.Start, "invite")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, user := context.Background(), g.Thread("ana")
	snap, err := user.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	snap, err = user.Invoke(ctx, confirm.Answer(snap.Pauses[0].ID, true))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Get(snap))
	// Output:
	// sending mail
	// msg-77 confirmed: true
}

// The bank books the payment, but its reply is lost. The second attempt has the same
// key, so the bank does not book it again.
func ExampleIdempotencyKey() {
	receipt := state.Last[int]("receipt")
	booked := map[string]int{} // the receipts of the bank by idempotency key
	lost := true
	pay := func(key string) (int, error) {
		if _, known := booked[key]; !known {
			booked[key] = len(booked) + 1
		}
		if lost {
			lost = false
			return 0, errors.New("connection reset")
		}
		return booked[key], nil
	}

	b := graph.New("checkout", receipt)
	b.Node("pay", func(ctx context.Context, _ state.View) (state.Update, error) {
		no, err := pay(graph.IdempotencyKey(ctx))
		if err != nil {
			return nil, err
		}
		return state.Update{receipt.Put(no)}, nil
	})
	b.Edge(graph.Start, "pay")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, order := context.Background(), g.Thread("order-17")
	_, err = order.Invoke(ctx, graph.Begin())
	fmt.Println(err)
	snap, err := order.Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("receipt %d, %d payment\n", receipt.Get(snap), len(booked))
	// Output:
	// graph "checkout": thread "order-17": node "pay": connection reset
	// receipt 1, 1 payment
}

// A log function gets the name of the calling node from the context.
func ExampleFromContext() {
	logf := func(ctx context.Context, format string, args ...any) {
		prefix := "server"
		if at, ok := graph.FromContext(ctx); ok {
			prefix = fmt.Sprintf("%s/%s/%s step %d", at.Graph, at.Thread, at.Task, at.Step)
		}
		fmt.Printf(prefix+": "+format+"\n", args...)
	}

	b := graph.New("import")
	b.Node("fetch", func(ctx context.Context, _ state.View) (state.Update, error) {
		logf(ctx, "got %d rows", 12)
		return nil, nil
	})
	b.Edge(graph.Start, "fetch")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	logf(ctx, "ready")
	if _, err := g.Thread("monday").Invoke(ctx, graph.Begin()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// server: ready
	// import/monday/fetch step 1: got 12 rows
}

// A node emits its progress while it runs.
func ExampleEmit() {
	type Progress struct{ Done, Of int }

	b := graph.New("convert")
	b.Node("pages", func(ctx context.Context, _ state.View) (state.Update, error) {
		for page := range 3 {
			graph.Emit(ctx, Progress{page + 1, 3})
		}
		return nil, nil
	})
	b.Edge(graph.Start, "pages")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for ev, err := range g.Stream(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		if e, ok := ev.(graph.Emitted); ok {
			if p, ok := e.Value.(Progress); ok {
				fmt.Printf("%s: page %d of %d\n", e.At().Node, p.Done, p.Of)
			}
		}
	}
	// Output:
	// pages: page 1 of 3
	// pages: page 2 of 3
	// pages: page 3 of 3
}
