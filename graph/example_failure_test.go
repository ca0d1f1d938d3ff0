package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// One of two suppliers is down. What the other said is kept, and the next run,
// which may be another process's, asks only the one that failed.
func ExampleThread_Invoke_failure() {
	offers := state.Append[string]("offers")
	down := true

	b := graph.New("offers", offers)
	b.Node("acme", func(context.Context, state.View) (state.Update, error) {
		fmt.Println("asking acme")
		return state.Update{offers.Put("acme: 40")}, nil
	})
	b.Node("bolt", func(context.Context, state.View) (state.Update, error) {
		if down {
			return nil, errors.New("503 service unavailable")
		}
		return state.Update{offers.Put("bolt: 38")}, nil
	})
	b.Edge(graph.Start, "acme")
	b.Edge(graph.Start, "bolt")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, request := context.Background(), g.Thread("request-6")
	snap, err := request.Invoke(ctx, graph.Begin())
	fmt.Println(err)
	fmt.Println(offers.Get(snap), "still due:", snap.Next)

	down = false
	snap, err = request.Invoke(ctx)
	fmt.Println(offers.Get(snap), err)
	// Output:
	// asking acme
	// graph "offers": thread "request-6": node "bolt": 503 service unavailable
	// [acme: 40] still due: [bolt]
	// [acme: 40 bolt: 38] <nil>
}

// What failed, where, and why, without reading the text of an error.
func ExampleNodeError() {
	errQuota := errors.New("quota exceeded")

	b := graph.New("translate")
	b.Node("german", func(context.Context, state.View) (state.Update, error) {
		return nil, fmt.Errorf("translate: %w", errQuota)
	})
	b.Edge(graph.Start, "german")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	_, err = g.Invoke(context.Background())
	if failed, ok := errors.AsType[*graph.NodeError](err); ok {
		fmt.Println("node:", failed.Node)
	}
	fmt.Println("quota:", errors.Is(err, errQuota))
	// Output:
	// node: german
	// quota: true
}

// A RunError is what every use of a thread returns.
func ExampleRunError() {
	b := graph.New("chat")
	b.Node("reply", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "reply")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	_, err = g.Thread("ana").Invoke(context.Background())
	if failed, ok := errors.AsType[*graph.RunError](err); ok {
		fmt.Println(failed.Graph, failed.Thread, errors.Is(err, graph.ErrNoInput))
	}
	// Output: chat ana true
}

// A panic ends its node and not the program. The stack is that of the panic.
func ExamplePanicError() {
	prices := map[string][]int{}

	b := graph.New("order")
	b.Node("price", func(context.Context, state.View) (state.Update, error) {
		_ = prices["tea"][0]
		return nil, nil
	})
	b.Edge(graph.Start, "price")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	_, err = g.Invoke(context.Background())
	if p, ok := errors.AsType[*graph.PanicError](err); ok {
		fmt.Println(p.Value)
		fmt.Println("has a stack:", len(p.Stack) > 0)
	}
	// Output:
	// runtime error: index out of range [0] with length 0
	// has a stack: true
}

// The old price is better than none.
func ExampleRecover() {
	price := state.Last[int]("price").Default(func() int { return 99 })
	stale := state.Last[bool]("stale")

	b := graph.New("shop", price, stale)
	fetch := func(context.Context, state.View) (state.Update, error) {
		return nil, errors.New("no route to host")
	}
	keep := func(_ context.Context, _ state.View, err error) (state.Update, error) {
		fmt.Println("kept the old price:", err)
		return state.Update{stale.Put(true)}, nil
	}
	b.Node("fetch", node.Recover(keep, fetch))
	b.Edge(graph.Start, "fetch")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	fmt.Println(price.Get(snap), stale.Get(snap), err)
	// Output:
	// kept the old price: no route to host
	// 99 true <nil>
}

// A pause reaches a node as an error, which code that handles errors passes on.
func ExampleIsPause() {
	approve := graph.NewInterrupt[string, bool]("approve")
	logged := func(fn graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			update, err := fn(ctx, s)
			if err != nil && !graph.IsPause(err) {
				fmt.Println("failed:", err)
			}
			return update, err
		}
	}

	b := graph.New("deploy")
	b.Node("deploy", logged(func(ctx context.Context, _ state.View) (state.Update, error) {
		if _, err := approve.Wait(ctx, "deploy on a Friday?"); err != nil {
			return nil, err
		}
		return nil, errors.New("it is Friday")
	}))
	b.Edge(graph.Start, "deploy")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, release := context.Background(), g.Thread("release-3")
	snap, err := release.Invoke(ctx, graph.Begin())
	fmt.Println("paused:", len(snap.Pauses) == 1, err)
	_, err = release.Invoke(ctx, approve.Answer(snap.Pauses[0].ID, true))
	fmt.Println("error:", err != nil)
	// Output:
	// paused: true <nil>
	// failed: it is Friday
	// error: true
}
