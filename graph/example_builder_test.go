package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Two edges from one node run both targets in parallel. A node that several edges reach
// in one superstep runs once.
func ExampleBuilder_Edge() {
	steps := state.Append[string]("steps")
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{steps.Put(what)}, nil
		}
	}

	b := graph.New("order", steps)
	b.Node("pay", did("paid"))
	b.Node("reserve", did("reserved"))
	b.Node("ship", did("shipped"))
	b.Edge(graph.Start, "pay")
	b.Edge(graph.Start, "reserve")
	b.Edge("pay", "ship")
	b.Edge("reserve", "ship")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(steps.Get(snap))
	// Output: [paid reserved shipped]
}

// Join runs "decide" once both paths have completed, although one path is longer. If
// there were two edges to "decide" instead, it would run twice.
func ExampleBuilder_Join() {
	steps := state.Append[string]("steps")
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{steps.Put(what)}, nil
		}
	}

	b := graph.New("loan", steps)
	b.Node("identity", did("identity checked"))
	b.Node("income", did("payslips read"))
	b.Node("risk", did("risk scored"))
	b.Node("decide", did("decided"))
	b.Edge(graph.Start, "identity")
	b.Edge(graph.Start, "income")
	b.Edge("income", "risk")
	b.Join("decide", "identity", "risk")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range steps.All(snap) {
		fmt.Println(step)
	}
	// Output:
	// identity checked
	// payslips read
	// risk scored
	// decided
}

// The branch function sees the writes of its node.
func ExampleBuilder_Branch() {
	lines := state.Append[int]("lines")
	total := state.Last[int]("total")
	outcome := state.Last[string]("outcome")
	says := func(text string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{outcome.Put(text)}, nil
		}
	}

	b := graph.New("order", lines, total, outcome)
	b.Node("add", func(_ context.Context, s state.View) (state.Update, error) {
		sum := 0
		for _, price := range lines.All(s) {
			sum += price
		}
		return state.Update{total.Put(sum)}, nil
	})
	b.Node("review", says("waits for review"))
	b.Node("ship", says("shipped"))
	b.Edge(graph.Start, "add")
	b.Branch("add", func(s state.View) (string, error) {
		if total.Get(s) > 1000 {
			return "review", nil
		}
		return "ship", nil
	}, "review", "ship")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for _, prices := range [][]int{{20, 30}, {900, 400}} {
		snap, err := g.Invoke(context.Background(), lines.Put(prices...))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(total.Get(snap), outcome.Get(snap))
	}
	// Output:
	// 50 shipped
	// 1300 waits for review
}

// BranchMany chooses any number of targets. Goto runs a node with the state of the
// graph, and Send runs it with the sent values.
func ExampleBuilder_BranchMany() {
	to := state.Append[string]("to")
	urgent := state.Last[bool]("urgent")
	sent := state.Append[string]("sent")

	b := graph.New("notify", to, urgent, sent)
	b.Node("resolve", func(context.Context, state.View) (state.Update, error) {
		return state.Update{to.Put("ana", "bo")}, nil // the people who are on call
	})
	b.Node("mail", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{sent.Put("mail to " + to.Get(s)[0])}, nil
	})
	b.Node("page", func(context.Context, state.View) (state.Update, error) {
		return state.Update{sent.Put("page")}, nil
	})
	b.Edge(graph.Start, "resolve")
	b.BranchMany("resolve", func(s state.View) (state.Update, error) {
		var out state.Update
		if urgent.Get(s) {
			out = append(out, graph.Goto("page"))
		}
		for _, who := range to.All(s) {
			out = append(out, graph.Send("mail", to.Put(who)))
		}
		return out, nil
	}, "page", "mail")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	for _, is := range []bool{false, true} {
		snap, err := g.Invoke(context.Background(), urgent.Put(is))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q\n", sent.Get(snap))
	}
	// Output:
	// ["mail to ana" "mail to bo"]
	// ["page" "mail to ana" "mail to bo"]
}

// The edge audits every order, and the branch also insures expensive orders.
func ExampleBuilder_AllowEdgesAndBranches() {
	total := state.Last[int]("total")
	steps := state.Append[string]("steps")
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{steps.Put(what)}, nil
		}
	}

	b := graph.New("order", total, steps)
	b.Node("accept", did("accepted"))
	b.Node("audit", did("audited"))
	b.Node("insure", did("insured"))
	b.Edge(graph.Start, "accept")
	b.Edge("accept", "audit")
	b.Branch("accept", func(s state.View) (string, error) {
		if total.Get(s) > 1000 {
			return "insure", nil
		}
		return graph.End, nil
	}, "insure", graph.End)
	b.AllowEdgesAndBranches("accept")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background(), total.Put(5000))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(steps.Get(snap))
	// Output: [accepted audited insured]
}

// The deferred node "report" runs when no other work remains.
func ExampleBuilder_Defer() {
	open := state.Last[int]("open")
	steps := state.Append[string]("steps")

	b := graph.New("inbox", open, steps)
	b.Node("work", func(_ context.Context, s state.View) (state.Update, error) {
		left := open.Get(s) - 1
		return state.Update{open.Put(left), steps.Put(fmt.Sprintf("%d open", left))}, nil
	})
	b.Node("report", func(context.Context, state.View) (state.Update, error) {
		return state.Update{steps.Put("reported")}, nil
	})
	b.Edge(graph.Start, "work")
	b.Edge(graph.Start, "report")
	b.Defer("report")
	b.Branch("work", func(s state.View) (string, error) {
		if open.Get(s) > 0 {
			return "work", nil
		}
		return graph.End, nil
	}, "work", graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background(), open.Put(3))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", steps.Get(snap))
	// Output: ["2 open" "1 open" "0 open" "reported"]
}
