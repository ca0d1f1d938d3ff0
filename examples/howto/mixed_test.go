package howto_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A branch goes to one simple path, or to two parallel paths that are joined. The join waits only
// for its own two sources, and the edge from "simple" runs "merge" without the join.
func Example_branchAndJoin() {
	question, found := state.Last[string]("question"), state.Append[string]("found")
	find := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) { return state.Update{found.Put(what)}, nil }
	}

	b := graph.New("answer", question, found)
	b.Node("simple", find("a known answer"))
	b.Node("search", find("a page"))
	b.Node("lookup", find("a record"))
	b.Node("merge", func(_ context.Context, s state.View) (state.Update, error) {
		fmt.Println(question.Get(s), "->", found.Get(s))
		return nil, nil
	})
	b.BranchMany(graph.Start, func(s state.View) (state.Update, error) {
		if question.Get(s) == "hello" {
			return state.Update{graph.Goto("simple")}, nil
		}
		return state.Update{graph.Goto("search"), graph.Goto("lookup")}, nil
	}, "simple", "search", "lookup")
	b.Edge("simple", "merge")
	b.Join("merge", "search", "lookup")
	b.Edge("merge", graph.End)
	g := must(b.Compile(graph.Options{}))

	must(g.Invoke(context.Background(), question.Put("hello")))
	must(g.Invoke(context.Background(), question.Put("who owns it?")))
	// Output:
	// hello -> [a known answer]
	// who owns it? -> [a record a page]
}
