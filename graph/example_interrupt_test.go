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

// The node runs twice: first it asks the question, then it receives the answer.
func ExampleInterrupt_Wait() {
	amount := state.Last[int]("amount")
	outcome := state.Last[string]("outcome")
	approve := graph.NewInterrupt[string, bool]("approve")

	b := graph.New("expenses", amount, outcome)
	b.Node("pay", func(ctx context.Context, s state.View) (state.Update, error) {
		ok, err := approve.Wait(ctx, fmt.Sprintf("pay %d EUR?", amount.Get(s)))
		if err != nil {
			return nil, err // there is no answer yet, so the run pauses
		}
		if !ok {
			return state.Update{outcome.Put("rejected")}, nil
		}
		return state.Update{outcome.Put("paid")}, nil
	})
	b.Edge(graph.Start, "pay")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, claim := context.Background(), g.Thread("claim-8")
	snap, err := claim.Invoke(ctx, amount.Put(120))
	if err != nil {
		log.Fatal(err) // a pause is not an error
	}
	open, err := approve.Open(snap)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(open[0].Prompt)

	snap, err = claim.Invoke(ctx, approve.Answer(open[0].ID, true))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Get(snap))
	// Output:
	// pay 120 EUR?
	// paid
}

// Any process can list the open questions of a thread. A prompt has the type that the
// interrupt declares.
func ExampleInterrupt_Open() {
	type Change struct {
		File string
		Adds int
	}
	approve := graph.NewInterrupt[Change, bool]("approve")

	b := graph.New("deploy")
	for _, c := range []Change{{"dns.zone", 1}, {"firewall.conf", 12}} {
		b.Node("apply "+c.File, func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err := approve.Wait(ctx, c)
			return nil, err
		})
		b.Edge(graph.Start, "apply "+c.File)
	}
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := g.Thread("release-3").Invoke(ctx, graph.Begin()); err != nil {
		log.Fatal(err)
	}

	snap, err := g.Thread("release-3").Snapshot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	open, err := approve.Open(snap)
	if err != nil {
		log.Fatal(err)
	}
	for _, q := range open {
		fmt.Printf("%s: +%d lines\n", q.Prompt.File, q.Prompt.Adds)
	}
	// Output:
	// dns.zone: +1 lines
	// firewall.conf: +12 lines
}

// False, zero and "" are valid answers. A question with an answer is no longer open.
func ExampleInterrupt_Answer() {
	discount := state.Last[int]("discount")
	ask := graph.NewInterrupt[string, int]("discount")

	b := graph.New("order", discount)
	b.Node("price", func(ctx context.Context, _ state.View) (state.Update, error) {
		percent, err := ask.Wait(ctx, "discount in percent?")
		if err != nil {
			return nil, err
		}
		return state.Update{discount.Put(percent)}, nil
	})
	b.Edge(graph.Start, "price")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, order := context.Background(), g.Thread("order-17")
	snap, err := order.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	id := snap.Pauses[0].ID
	snap, err = order.Invoke(ctx, ask.Answer(id, 0))
	if err != nil {
		log.Fatal(err)
	}
	percent, written := discount.Lookup(snap)
	fmt.Println(percent, written, snap.Done())

	_, err = order.Invoke(ctx, ask.Answer(id, 10))
	fmt.Println(errors.Is(err, graph.ErrNoQuestion))
	// Output:
	// 0 true true
	// true
}

// A node that asks several questions gives each of them a key. The node asks two questions
// before it returns, so both are open at the same time. They can be answered in any order.
func ExampleInterrupt_WaitKey() {
	booking := state.Last[string]("booking")
	ask := graph.NewInterrupt[string, string]("ask")

	b := graph.New("travel", booking)
	b.Node("book", func(ctx context.Context, _ state.View) (state.Update, error) {
		day, err1 := ask.WaitKey(ctx, "day", "which day?")
		seat, err2 := ask.WaitKey(ctx, "seat", "window or aisle?")
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return state.Update{booking.Put(day + ", " + seat)}, nil
	})
	b.Edge(graph.Start, "book")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, trip := context.Background(), g.Thread("trip")
	snap, err := trip.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	answers := map[string]string{"seat": "window", "day": "Monday"}
	for !snap.Done() {
		open, err := ask.Open(snap)
		if err != nil {
			log.Fatal(err)
		}
		q := open[len(open)-1]
		fmt.Println(len(open), "open, answering:", q.Prompt)
		if snap, err = trip.Invoke(ctx, ask.Answer(q.ID, answers[q.Key])); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(booking.Get(snap))
	// Output:
	// 2 open, answering: window or aisle?
	// 1 open, answering: which day?
	// Monday, window
}
