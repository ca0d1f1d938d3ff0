package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A run that pauses has every kind of event. A pause is not an error.
func ExampleEvent() {
	total := state.Last[int]("total")
	approve := graph.NewInterrupt[int, bool]("approve")

	b := graph.New("order", total)
	b.Node("add", func(ctx context.Context, _ state.View) (state.Update, error) {
		graph.Emit(ctx, "adding up")
		return state.Update{total.Put(120)}, nil
	})
	b.Node("pay", func(ctx context.Context, s state.View) (state.Update, error) {
		_, err := approve.Wait(ctx, total.Get(s))
		return nil, err
	})
	b.Edge(graph.Start, "add")
	b.Edge("add", "pay")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	for ev, err := range g.Thread("order-17").Stream(context.Background(), graph.Begin()) {
		if err != nil {
			log.Fatal(err)
		}
		if len(ev.At().Path) > 0 {
			continue // an event of a subgraph, whose state has channels of its own
		}
		fmt.Printf("%d ", ev.At().Step)
		switch ev := ev.(type) {
		case graph.RunStarted:
			fmt.Println("run starts, resumed:", ev.Resumed)
		case graph.StepStarted:
			fmt.Println("step:", ev.Tasks)
		case graph.TaskStarted:
			fmt.Println("  task", ev.At().Task, "starts")
		case graph.Emitted:
			fmt.Println("  task", ev.At().Task, "says:", ev.Value)
		case graph.TaskFinished:
			fmt.Println("  task", ev.At().Task, "ends with", len(ev.Update), "writes, asked:", ev.Asked, "error:", ev.Err)
		case graph.StateChanged:
			fmt.Println("total is", total.Get(ev.State))
		case graph.Checkpointed:
			fmt.Println("stored, has a parent:", ev.Parent != "")
		case graph.Paused:
			fmt.Println("waits:", ev.Pauses[0].Interrupt, string(ev.Pauses[0].Prompt))
		case graph.RunEnded:
			fmt.Println("run ends, done:", ev.Snapshot.Done())
		}
	}
	// Output:
	// 0 run starts, resumed: false
	// 0 stored, has a parent: false
	// 1 step: [add]
	// 1   task add starts
	// 1   task add says: adding up
	// 1   task add ends with 1 writes, asked: false error: <nil>
	// 1 stored, has a parent: true
	// 1 total is 120
	// 2 step: [pay]
	// 2   task pay starts
	// 2   task pay ends with 0 writes, asked: true error: <nil>
	// 1 waits: approve 120
	// 1 run ends, done: false
}

// NewView makes a state of the update of one task. The channels of the graph read the written values from it.
func ExampleTaskFinished_update() {
	total, notes := state.Sum[int]("total"), state.Append[string]("notes")

	b := graph.New("order", total, notes)
	b.Node("add", func(context.Context, state.View) (state.Update, error) {
		return state.Update{total.Put(20), notes.Put("added 20")}, nil
	})
	b.Edge(graph.Start, "add")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for ev, err := range g.Stream(context.Background(), total.Put(100)) {
		if err != nil {
			log.Fatal(err)
		}
		if done, ok := ev.(graph.TaskFinished); ok && done.Err == nil {
			wrote, err := state.NewView([]state.Handle{total, notes}, done.Update...)
			if err != nil {
				log.Fatal(err)
			}
			values, err := state.Values(wrote) // by the name of the channel, as JSON
			if err != nil {
				log.Fatal(err)
			}
			keys := slices.Sorted(maps.Keys(values))
			fmt.Println(done.At().Node, keys, total.Get(wrote), notes.Get(wrote))
		}
	}
	// Output: add [notes total] 20 [added 20]
}

// A stream contains the events of subgraphs. Place.Path says to which subgraph an event
// belongs.
func ExamplePlace() {
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	inner := graph.New("checks")
	inner.Node("virus", nothing)
	inner.Node("size", nothing)
	inner.Edge(graph.Start, "virus")
	inner.Edge("virus", "size")
	checks, err := inner.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("upload")
	b.Subgraph("check", checks)
	b.Node("store", nothing)
	b.Edge(graph.Start, "check")
	b.Edge("check", "store")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for ev, err := range g.Stream(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		if _, ok := ev.(graph.TaskStarted); ok {
			at := ev.At()
			fmt.Printf("path %q, node %q\n", at.Path, at.Node)
		}
	}
	// Output:
	// path "", node "check"
	// path "check", node "virus"
	// path "check", node "size"
	// path "", node "store"
}

// The events of a resumed run begin with the stored results of the earlier run.
func ExampleTaskFinished() {
	ready := false
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("report")
	b.Node("sales", nothing)
	b.Node("stock", func(context.Context, state.View) (state.Update, error) {
		if !ready {
			return nil, errors.New("stocktaking")
		}
		return nil, nil
	})
	b.Edge(graph.Start, "sales")
	b.Edge(graph.Start, "stock")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	ctx, report := context.Background(), g.Thread("may")
	_, err = report.Invoke(ctx, graph.Begin())
	fmt.Println(err)

	ready = true
	for ev, err := range report.Stream(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if done, ok := ev.(graph.TaskFinished); ok {
			fmt.Printf("%s, saved: %t\n", done.At().Task, done.Saved)
		}
	}
	// Output:
	// graph "report": thread "may": node "stock": stocktaking
	// sales, saved: true
	// stock, saved: false
}
