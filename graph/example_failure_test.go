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

// One of two nodes fails. The result of the other one is stored, and the next run, in
// this process or another one, runs only the failed node.
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

// A NodeError names the node that failed. It wraps the error that the node returned.
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

// If a method of a thread fails, it returns a RunError.
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

// A panic in a node fails the run. The error has the stack of the panic.
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

// Wait returns an error when the node has to pause. Code that handles errors must return
// this error unchanged.
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
