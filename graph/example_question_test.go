package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Each sent task asks a question. When one question is answered, its task completes. The
// other tasks wait and do not run again.
func ExampleInterrupt_Wait_sent() {
	invoices := state.Append[string]("invoices")
	invoice := state.Last[string]("invoice")
	paid := state.Append[string]("paid")
	approve := graph.NewInterrupt[string, bool]("approve")

	b := graph.New("invoices", invoices, invoice, paid)
	b.Node("split", func(_ context.Context, s state.View) (state.Update, error) {
		var tasks state.Update
		for _, no := range invoices.All(s) {
			tasks = append(tasks, graph.Send("pay", invoice.Put(no)))
		}
		return tasks, nil
	})
	b.Node("pay", func(ctx context.Context, s state.View) (state.Update, error) {
		ok, err := approve.Wait(ctx, "pay "+invoice.Get(s)+"?")
		if err != nil || !ok {
			return nil, err
		}
		return state.Update{paid.Put(invoice.Get(s))}, nil
	})
	b.Edge(graph.Start, "split")
	b.Destinations("split", "pay")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, batch := context.Background(), g.Thread("batch-5")
	snap, err := batch.Invoke(ctx, invoices.Put("A-1", "A-2", "A-3"))
	if err != nil {
		log.Fatal(err)
	}
	for !snap.Done() {
		open, err := approve.Open(snap)
		if err != nil {
			log.Fatal(err)
		}
		last := open[len(open)-1]
		fmt.Println(len(open), "open, answering:", last.Prompt)
		if snap, err = batch.Invoke(ctx, approve.Answer(last.ID, true)); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("paid:", paid.Get(snap))
	// Output:
	// 3 open, answering: pay A-3?
	// 2 open, answering: pay A-2?
	// 1 open, answering: pay A-1?
	// paid: [A-1 A-2 A-3]
}

// The parent's thread lists and answers the question of a subgraph. The subgraph resumes
// at the node that asked: the node "draft" does not run again.
func ExampleInterrupt_Wait_subgraph() {
	letter := state.Last[string]("letter")
	release := graph.NewInterrupt[string, bool]("release")

	write := graph.New("write", letter)
	write.Node("draft", func(context.Context, state.View) (state.Update, error) {
		fmt.Println("drafting")
		return state.Update{letter.Put("Dear Ana")}, nil
	})
	write.Node("check", func(ctx context.Context, s state.View) (state.Update, error) {
		_, err := release.Wait(ctx, letter.Get(s))
		return nil, err
	})
	write.Edge(graph.Start, "draft")
	write.Edge("draft", "check")
	writer, err := write.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	b := graph.New("mail", letter)
	b.Subgraph("write", writer)
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, thread := context.Background(), g.Thread("letter-4")
	snap, err := thread.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	q := snap.Pauses[0]
	fmt.Printf("%s at %s: %s\n", q.Interrupt, q.Path, q.Prompt)

	snap, err = thread.Invoke(ctx, release.Answer(q.ID, true))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(letter.Get(snap), snap.Done())
	// Output:
	// drafting
	// release at write/check: "Dear Ana"
	// Dear Ana true
}

// One subgraph runs for each document, and each asks a question. Pause.Path identifies
// the document of a question.
func ExampleInterrupt_Wait_sentSubgraph() {
	document := state.Last[string]("document")
	signed := state.Append[string]("signed")
	sign := graph.NewInterrupt[string, string]("sign")

	inner := graph.New("signing", document, signed)
	inner.Node("ask", func(ctx context.Context, s state.View) (state.Update, error) {
		who, err := sign.Wait(ctx, document.Get(s))
		if err != nil {
			return nil, err
		}
		return state.Update{signed.Put(document.Get(s) + " by " + who)}, nil
	})
	inner.Edge(graph.Start, "ask")
	signing, err := inner.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b := graph.New("deal", document, signed)
	b.Subgraph("signing", signing)
	b.BranchMany(graph.Start, func(state.View) (state.Update, error) {
		return state.Update{
			graph.Send("signing", document.Put("contract")),
			graph.Send("signing", document.Put("annex")),
		}, nil
	}, "signing")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, deal := context.Background(), g.Thread("deal-1")
	snap, err := deal.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	for !snap.Done() {
		q := snap.Pauses[0]
		fmt.Printf("%s: %s\n", q.Path, q.Prompt)
		if snap, err = deal.Invoke(ctx, sign.Answer(q.ID, "Ana")); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%q\n", signed.Get(snap))
	// Output:
	// signing[0]/ask: "contract"
	// signing[1]/ask: "annex"
	// ["contract by Ana" "annex by Ana"]
}

// One run can contain the answers to several questions.
func ExampleThread_Invoke_answers() {
	contract := state.Append[string]("contract")
	sign := graph.NewInterrupt[string, string]("sign")
	asks := func(party string) graph.NodeFunc {
		return func(ctx context.Context, _ state.View) (state.Update, error) {
			name, err := sign.Wait(ctx, "signature of the "+party)
			if err != nil {
				return nil, err
			}
			return state.Update{contract.Put(party + ": " + name)}, nil
		}
	}

	b := graph.New("contract", contract)
	b.Node("buyer", asks("buyer"))
	b.Node("seller", asks("seller"))
	b.Edge(graph.Start, "buyer")
	b.Edge(graph.Start, "seller")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx, thread := context.Background(), g.Thread("contract-2")
	snap, err := thread.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	names := map[string]string{"buyer": "Ana", "seller": "Bo"}
	var answers state.Update
	for _, q := range snap.Pauses {
		answers = append(answers, sign.Answer(q.ID, names[q.Node]))
	}
	snap, err = thread.Invoke(ctx, answers...)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(contract.Get(snap))
	// Output: [buyer: Ana seller: Bo]
}
