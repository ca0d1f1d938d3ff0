package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A thread keeps its state. Each Invoke with input is a new turn.
func ExampleThread_Invoke() {
	messages := state.Append[string]("messages")

	b := graph.New("chat", messages)
	b.Node("reply", func(_ context.Context, s state.View) (state.Update, error) {
		last, _ := messages.Last(s)
		return state.Update{messages.Put("you said " + last)}, nil
	})
	b.Edge(graph.Start, "reply")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, ana := context.Background(), g.Thread("ana")
	if _, err := ana.Invoke(ctx, messages.Put("hi")); err != nil {
		log.Fatal(err)
	}
	snap, err := ana.Invoke(ctx, messages.Put("bye"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(messages.Get(snap), ", "))
	// Output: hi, you said hi, bye, you said bye
}

// The loop reads the parts of the reply and, at the end, the state. Leaving the loop
// early cancels the run.
func ExampleThread_Stream() {
	reply := state.Last[string]("reply")

	b := graph.New("chat", reply)
	b.Node("reply", func(ctx context.Context, _ state.View) (state.Update, error) {
		var text strings.Builder
		for _, token := range []string{"Good ", "morning", "!"} {
			graph.Emit(ctx, token)
			text.WriteString(token)
		}
		return state.Update{reply.Put(text.String())}, nil
	})
	b.Edge(graph.Start, "reply")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	for ev, err := range g.Thread("ana").Stream(context.Background(), graph.Begin()) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev := ev.(type) {
		case graph.Emitted:
			fmt.Printf("%q\n", ev.Value)
		case graph.RunEnded:
			fmt.Println("reply:", reply.Get(ev.Snapshot))
		}
	}
	// Output:
	// "Good "
	// "morning"
	// "!"
	// reply: Good morning!
}

// Snapshot reads a thread without running a node.
func ExampleThread_Snapshot() {
	total := state.Last[int]("total")
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("order", total)
	b.Node("pay", nothing)
	b.Node("ship", nothing)
	b.Edge(graph.Start, "pay")
	b.Edge("pay", "ship")
	g, err := b.Compile(graph.Options{
		Checkpoints: memcheckpoint.New(memcheckpoint.Options{}),
		PauseBefore: []string{"ship"},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := g.Thread("order-17").Invoke(ctx, total.Put(40)); err != nil {
		log.Fatal(err)
	}

	snap, err := g.Thread("order-17").Snapshot(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("step %d, total %d, due %v, done %t\n", snap.Step, total.Get(snap), snap.Next, snap.Done())

	_, err = g.Thread("order-18").Snapshot(ctx)
	fmt.Println("exists:", !errors.Is(err, checkpoint.ErrNotFound))
	// Output:
	// step 1, total 40, due [ship], done false
	// exists: false
}

// With sets options for some runs of a thread. The first run pauses after "fill" and
// stores the user's name. The second run has no such options.
func ExampleThread_With() {
	steps := state.Append[string]("steps")
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{steps.Put(what)}, nil
		}
	}

	b := graph.New("invoice", steps)
	b.Node("fill", did("filled"))
	b.Node("send", did("sent"))
	b.Edge(graph.Start, "fill")
	b.Edge("fill", "send")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, invoice := context.Background(), g.Thread("invoice-9")
	careful := invoice.With(graph.RunOptions{
		PauseAfter: []string{"fill"},
		Metadata:   map[string]string{"by": "ana"},
	})
	snap, err := careful.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(steps.Get(snap), snap.Pauses[0].Kind, snap.Pauses[0].Node, snap.Metadata["by"])

	snap, err = invoice.Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(steps.Get(snap))
	// Output:
	// [filled] after fill ana
	// [filled sent]
}

// A dry run pauses before the node that erases the rows.
func ExampleRunOptions() {
	rows := state.Sum[int]("rows")
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("cleanup", rows)
	b.Node("find", func(context.Context, state.View) (state.Update, error) {
		return state.Update{rows.Put(31)}, nil
	})
	b.Node("erase", nothing)
	b.Edge(graph.Start, "find")
	b.Edge("find", "erase")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	dry := g.Thread("sunday").With(graph.RunOptions{PauseBefore: []string{"erase"}})
	snap, err := dry.Invoke(context.Background(), graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("would", snap.Next, rows.Get(snap), "rows")
	// Output: would [erase] 31 rows
}

// A debugger stops before each node. Each run without input executes one superstep.
func ExampleRunOptions_pauseBefore() {
	steps := state.Append[string]("steps")
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{steps.Put(what)}, nil
		}
	}

	b := graph.New("invoice", steps)
	b.Node("fill", did("filled"))
	b.Node("send", did("sent"))
	b.Edge(graph.Start, "fill")
	b.Edge("fill", "send")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	slow := g.Thread("invoice-10").With(graph.RunOptions{PauseBefore: []string{graph.AllNodes}})
	snap, err := slow.Invoke(ctx, graph.Begin())
	for ; err == nil && !snap.Done(); snap, err = slow.Invoke(ctx) {
		fmt.Println("before", snap.Next, steps.Get(snap))
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("done", steps.Get(snap))
	// Output:
	// before [fill] []
	// before [send] [filled]
	// done [filled sent]
}

// The second of two concurrent runs on one thread fails before it runs a node.
func ExampleThread() {
	begun, proceed := make(chan bool), make(chan bool)

	b := graph.New("chat")
	b.Node("reply", func(context.Context, state.View) (state.Update, error) {
		begun <- true
		<-proceed
		return nil, nil
	})
	b.Edge(graph.Start, "reply")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, first := context.Background(), make(chan error)
	go func() {
		_, err := g.Thread("ana").Invoke(ctx, graph.Begin())
		first <- err
	}()
	<-begun
	_, err = g.Thread("ana").Invoke(ctx, graph.Begin())
	fmt.Println("second refused:", errors.Is(err, checkpoint.ErrConflict))
	close(proceed)
	fmt.Println("first:", <-first)
	// Output:
	// second refused: true
	// first: <nil>
}

// Delete removes every checkpoint. The id can then be used for a new thread.
func ExampleThread_Delete() {
	messages := state.Append[string]("messages")

	b := graph.New("chat", messages)
	b.Node("reply", func(context.Context, state.View) (state.Update, error) {
		return state.Update{messages.Put("hello")}, nil
	})
	b.Edge(graph.Start, "reply")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, ana := context.Background(), g.Thread("ana")
	if _, err := ana.Invoke(ctx, messages.Put("hi")); err != nil {
		log.Fatal(err)
	}
	if err := ana.Delete(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = ana.Snapshot(ctx)
	fmt.Println(errors.Is(err, checkpoint.ErrNotFound))
	// Output: true
}
