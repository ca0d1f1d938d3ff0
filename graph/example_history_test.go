package graph_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// History yields the newest checkpoint first. Its query can select a page, a source or
// metadata.
func ExampleThread_History() {
	text := state.Last[string]("text")
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("wiki", text)
	b.Node("save", nothing)
	b.Node("index", nothing)
	b.Edge(graph.Start, "save")
	b.Edge("save", "index")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}
	ctx, page := context.Background(), g.Thread("home")
	for _, who := range []string{"ana", "bo"} {
		by := page.With(graph.RunOptions{Metadata: map[string]string{"by": who}})
		if _, err := by.Invoke(ctx, text.Put("by "+who)); err != nil {
			log.Fatal(err)
		}
	}

	show := func(q graph.HistoryQuery) (last string) {
		for info, err := range page.History(ctx, q) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf("%d %s by %s, then %v\n", info.Step, info.Source, info.Metadata["by"], info.Next)
			last = info.ID
		}
		return last
	}
	fmt.Println("the first page of it:")
	last := show(graph.HistoryQuery{Limit: 2})
	fmt.Println("the second:")
	show(graph.HistoryQuery{Limit: 2, Before: last})
	fmt.Println("what ana put in:")
	show(graph.HistoryQuery{Source: checkpoint.Input, Metadata: map[string]string{"by": "ana"}})
	// Output:
	// the first page of it:
	// 5 loop by bo, then []
	// 4 loop by bo, then [index]
	// the second:
	// 3 input by bo, then [save]
	// 2 loop by ana, then []
	// what ana put in:
	// 0 input by ana, then [save]
}

// Update corrects the address as if the node "parse" had returned it. The successors
// of "parse" are then due again.
func ExampleThread_Update() {
	address := state.Last[string]("address")
	label := state.Last[string]("label")

	b := graph.New("parcel", address, label)
	b.Node("parse", func(context.Context, state.View) (state.Update, error) {
		return state.Update{address.Put("Mian Street 1")}, nil
	})
	b.Node("print", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{label.Put("to: " + address.Get(s))}, nil
	})
	b.Edge(graph.Start, "parse")
	b.Edge("parse", "print")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, parcel := context.Background(), g.Thread("parcel-3")
	snap, err := parcel.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(label.Get(snap))

	snap, err = parcel.Update(ctx, "parse", address.Put("Main Street 1"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("due:", snap.Next)
	snap, err = parcel.Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(label.Get(snap))
	// Output:
	// to: Mian Street 1
	// due: [print]
	// to: Main Street 1
}

// UpdateNodes stores the results of two nodes as one superstep, so that the join which
// waits for both fires.
func ExampleThread_UpdateNodes() {
	scans := state.Append[string]("scans")
	verdict := state.Last[string]("verdict")
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("upload", scans, verdict)
	b.Node("virus", nothing)
	b.Node("license", nothing)
	b.Node("decide", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{verdict.Put(fmt.Sprint("accepted after ", scans.Get(s)))}, nil
	})
	b.Edge(graph.Start, "virus")
	b.Edge(graph.Start, "license")
	b.Join("decide", "virus", "license")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, file := context.Background(), g.Thread("file-5")
	snap, err := file.UpdateNodes(ctx,
		graph.NodeUpdate{Node: "virus", Update: state.Update{scans.Put("no virus")}},
		graph.NodeUpdate{Node: "license", Update: state.Update{scans.Put("MIT")}},
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("due:", snap.Next)
	snap, err = file.Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(verdict.Get(snap))
	// Output:
	// due: [decide]
	// accepted after [no virus MIT]
}

// Replay: a run at an earlier checkpoint repeats the nodes that were due there.
func ExampleThread_At() {
	rate := 10
	price := state.Last[int]("price")
	steps := state.Append[string]("steps")

	b := graph.New("quote", price, steps)
	b.Node("measure", func(context.Context, state.View) (state.Update, error) {
		return state.Update{steps.Put("measured")}, nil
	})
	b.Node("price", func(context.Context, state.View) (state.Update, error) {
		return state.Update{price.Put(rate), steps.Put("priced")}, nil
	})
	b.Edge(graph.Start, "measure")
	b.Edge("measure", "price")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, quote := context.Background(), g.Thread("quote-1")
	snap, err := quote.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(price.Get(snap), steps.Get(snap))

	rate = 12
	snap, err = quote.At(snap.Parent).Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(price.Get(snap), steps.Get(snap))
	// Output:
	// 10 [measured priced]
	// 12 [measured priced]
}

// Fork with a changed state: the example looks for the checkpoint at which "price" was due.
// Update stores a new checkpoint with the changed value, and the next run continues from the new one.
func ExampleThread_At_update() {
	weight := state.Last[int]("weight")
	price := state.Last[int]("price")

	b := graph.New("quote", weight, price)
	b.Node("measure", func(context.Context, state.View) (state.Update, error) {
		return state.Update{weight.Put(10)}, nil
	})
	b.Node("price", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{price.Put(3 * weight.Get(s))}, nil
	})
	b.Edge(graph.Start, "measure")
	b.Edge("measure", "price")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, quote := context.Background(), g.Thread("quote-1")
	snap, err := quote.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(price.Get(snap))

	var before string
	for info, err := range quote.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			log.Fatal(err)
		}
		if slices.Contains(info.Next, "price") {
			before = info.ID
			break
		}
	}
	if before == "" { // At("") is the newest checkpoint
		log.Fatal("no checkpoint is before the price")
	}
	if _, err := quote.At(before).Update(ctx, "", weight.Put(12)); err != nil { // "" means the node that ran last
		log.Fatal(err)
	}
	snap, err = quote.Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(price.Get(snap))
	// Output:
	// 30
	// 36
}

// Fork: the conversation continues from the first answer. The checkpoints of the other
// branch can still be read.
func ExampleThread_At_fork() {
	messages := state.Append[string]("messages")

	b := graph.New("chat", messages)
	b.Node("reply", func(_ context.Context, s state.View) (state.Update, error) {
		last, _ := messages.Last(s)
		return state.Update{messages.Put(last + "?")}, nil
	})
	b.Edge(graph.Start, "reply")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, chat := context.Background(), g.Thread("ana")
	first, err := chat.Invoke(ctx, messages.Put("tea"))
	if err != nil {
		log.Fatal(err)
	}
	second, err := chat.Invoke(ctx, messages.Put("milk"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := chat.At(first.ID).Invoke(ctx, messages.Put("sugar")); err != nil {
		log.Fatal(err)
	}

	now, err := chat.Snapshot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	left, err := chat.At(second.ID).Snapshot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(messages.Get(now))
	fmt.Println(messages.Get(left))
	// Output:
	// [tea tea? sugar sugar?]
	// [tea tea? milk milk?]
}
