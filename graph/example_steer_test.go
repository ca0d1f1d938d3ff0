package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Goto accepts only targets that Destinations declares. Any other target is an error.
func ExampleBuilder_Destinations() {
	queue := state.Last[string]("queue")
	nothing := func(context.Context, state.View) (state.Update, error) { return nil, nil }

	b := graph.New("tickets", queue)
	b.Node("triage", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{graph.Goto(queue.Get(s))}, nil
	})
	b.Node("billing", nothing)
	b.Node("legal", nothing)
	b.Edge(graph.Start, "triage")
	b.Destinations("triage", "billing")
	b.Destinations(graph.Start, "legal")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	_, err = g.Invoke(context.Background(), queue.Put("billing"))
	fmt.Println(err)
	_, err = g.Invoke(context.Background(), queue.Put("legal"))
	fmt.Println(errors.Is(err, graph.ErrRoute))
	fmt.Println(err)
	// Output:
	// <nil>
	// true
	// graph "tickets": node "triage": target "legal": not among the targets that were declared: ["billing"] are; add "legal" to them
}

// The node looks up the credit score and chooses the next node.
func ExampleGoto() {
	customer := state.Last[string]("customer")
	steps := state.Append[string]("steps")
	creditOf := func(_ context.Context, name string) (int, error) {
		return map[string]int{"ana": 700, "bo": 300}[name], nil
	}
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{steps.Put(what)}, nil
		}
	}

	b := graph.New("order", customer, steps)
	b.Node("credit", func(ctx context.Context, s state.View) (state.Update, error) {
		score, err := creditOf(ctx, customer.Get(s))
		if err != nil {
			return nil, err
		}
		next := "prepay"
		if score > 500 {
			next = "invoice"
		}
		return state.Update{steps.Put(fmt.Sprint("score ", score)), graph.Goto(next)}, nil
	})
	b.Node("invoice", did("invoiced"))
	b.Node("prepay", did("asked for prepayment"))
	b.Edge(graph.Start, "credit")
	b.Destinations("credit", "invoice", "prepay")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for _, name := range []string{"ana", "bo"} {
		snap, err := g.Invoke(context.Background(), customer.Put(name))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(strings.Join(steps.Get(snap), ", "))
	}
	// Output:
	// score 700, invoiced
	// score 300, asked for prepayment
}

// The caller runs a node that no edge leads to.
func ExampleGoto_caller() {
	steps := state.Append[string]("steps")
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{steps.Put(what)}, nil
		}
	}

	b := graph.New("order", steps)
	b.Node("place", did("placed"))
	b.Node("cancel", did("cancelled"))
	b.Edge(graph.Start, "place")
	b.Destinations(graph.Start, "cancel")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, order := context.Background(), g.Thread("order-17")
	if _, err := order.Invoke(ctx, graph.Begin()); err != nil {
		log.Fatal(err)
	}
	snap, err := order.Invoke(ctx, graph.Goto("cancel"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(steps.Get(snap))
	// Output: [placed cancelled]
}

// Fan-out: one task per document runs in parallel. The results are in the order of the
// sends, whichever task ends first.
func ExampleSend() {
	documents := state.Append[string]("documents")
	text := state.Last[string]("text")
	words := state.Append[int]("words")

	b := graph.New("index", documents, text, words)
	b.Node("split", func(_ context.Context, s state.View) (state.Update, error) {
		var tasks state.Update
		for _, d := range documents.All(s) {
			tasks = append(tasks, graph.Send("count", text.Put(d)))
		}
		return tasks, nil
	})
	b.Node("count", func(_ context.Context, s state.View) (state.Update, error) {
		// A sent task sees only the sent values, so documents is empty here.
		return state.Update{words.Put(len(strings.Fields(text.Get(s))))}, nil
	})
	b.Edge(graph.Start, "split")
	b.Destinations("split", "count")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background(), documents.Put("a short one", "one", "this is the longest"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(words.Get(snap))
	// Output: [3 1 4]
}

// A task of SendOver sees the whole state. The documents are stored once, and each task
// stores only its number.
func ExampleSendOver() {
	documents := state.Append[string]("documents")
	number := state.Last[int]("number")
	words := state.Append[int]("words")

	b := graph.New("index", documents, number, words)
	b.Node("split", func(_ context.Context, s state.View) (state.Update, error) {
		var tasks state.Update
		for i := range documents.Get(s) {
			tasks = append(tasks, graph.SendOver("count", number.Put(i)))
		}
		return tasks, nil
	})
	b.Node("count", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{words.Put(len(strings.Fields(documents.Get(s)[number.Get(s)])))}, nil
	})
	b.Edge(graph.Start, "split")
	b.Destinations("split", "count")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background(), documents.Put("a short one", "one", "this is the longest"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(words.Get(snap))
	// Output: [3 1 4]
}

// Begin starts a new turn without input. The last Invoke has no Begin, so it resumes the
// thread, in which nothing is due.
func ExampleBegin() {
	reports := state.Sum[int]("reports")

	b := graph.New("nightly", reports)
	b.Node("report", func(context.Context, state.View) (state.Update, error) {
		return state.Update{reports.Put(1)}, nil
	})
	b.Edge(graph.Start, "report")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, job := context.Background(), g.Thread("job")
	for range 3 {
		snap, err := job.Invoke(ctx, graph.Begin())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(reports.Get(snap))
	}
	snap, err := job.Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reports.Get(snap))
	// Output:
	// 1
	// 2
	// 3
	// 3
}

// Continue corrects the draft and resumes the paused run. Without Continue, the write
// would begin a new turn, and the node would write the draft again.
func ExampleContinue() {
	draft := state.Last[string]("draft")
	sent := state.Append[string]("sent")

	b := graph.New("reply", draft, sent)
	b.Node("write", func(context.Context, state.View) (state.Update, error) {
		return state.Update{draft.Put("We are sory.")}, nil
	})
	b.Node("send", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{sent.Put(draft.Get(s))}, nil
	})
	b.Edge(graph.Start, "write")
	b.Edge("write", "send")
	g, err := b.Compile(graph.Options{
		Checkpoints: memcheckpoint.New(memcheckpoint.Options{}),
		PauseBefore: []string{"send"},
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx, ticket := context.Background(), g.Thread("ticket-7")
	snap, err := ticket.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("draft:", draft.Get(snap))
	snap, err = ticket.Invoke(ctx, graph.Continue(), draft.Put("We are sorry."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent:", sent.Get(snap))
	// Output:
	// draft: We are sory.
	// sent: [We are sorry.]
}
