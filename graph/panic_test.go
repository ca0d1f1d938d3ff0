package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// TestPanics: a panic anywhere in the user's code is an error with its place;
// the thread is as it was, and goes on when the cause is gone.
func TestPanics(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		bad := true
		boom := func() {
			if bad {
				explode("boom")
			}
		}
		custom := state.NewChannel("custom", func(current, update int) (int, error) { boom(); return current + update, nil })
		failing := state.NewChannel("failing", func(current, update int) (int, error) {
			if bad {
				return 0, errBroken
			}
			return current + update, nil
		})
		kept := state.Keyed("kept", llm.ByID).Prune(func(m []llm.Message) []llm.Message { boom(); return m })
		fn := func(w ...state.Write) graph.NodeFunc {
			return func(context.Context, state.View) (state.Update, error) { return w, nil }
		}
		cases := map[string]struct {
			fill func(b *graph.Builder)
			text string
		}{
			"reducer":       {func(b *graph.Builder) { b.Node("n", fn(custom.Put(1))) }, `"custom"`},
			"reducer fails": {func(b *graph.Builder) { b.Node("n", fn(failing.Put(1))) }, `"failing"`},
			"pruner":        {func(b *graph.Builder) { b.Node("n", fn(kept.Put(llm.User("hi")))) }, `"kept"`},
			"branch": {func(b *graph.Builder) {
				b.Node("n", fn())
				b.Branch("n", func(state.View) (string, error) { boom(); return graph.End, nil }, graph.End)
			}, `node "n"`},
			"dispatch": {func(b *graph.Builder) {
				b.Node("n", fn())
				b.BranchMany("n", func(state.View) (state.Update, error) { boom(); return nil, nil }, graph.End)
			}, `node "n"`},
			"cache key": {func(b *graph.Builder) {
				b.Node("n", node.Cache(func(state.View) string { boom(); return "" }, node.CachePolicy{}, fn()))
			}, `node "n"`},
			"subgraph": {func(b *graph.Builder) {
				sub := graph.New("sub", trail)
				sub.Node("s", func(context.Context, state.View) (state.Update, error) { boom(); return nil, nil })
				sub.Edge(graph.Start, "s")
				b.Subgraph("n", compile(t, sub, graph.Options{}))
			}, `node "s"`},
			"branch below": {func(b *graph.Builder) {
				sub := graph.New("sub", trail)
				sub.Node("s", mark("s"))
				sub.Branch(graph.Start, func(state.View) (string, error) { boom(); return "s", nil }, "s")
				b.Subgraph("n", compile(t, sub, graph.Options{}))
			}, `node "n"`},
			"branch at start": {func(b *graph.Builder) {
				b.Node("n", fn())
				b.Branch(graph.Start, func(state.View) (string, error) { boom(); return "n", nil }, "n")
			}, "boom"},
		}
		for name, c := range cases {
			for _, beside := range []bool{false, true} {
				b := graph.New("g", trail, note, custom, failing, kept)
				c.fill(b)
				if name != "branch at start" {
					b.Edge(graph.Start, "n")
				}
				if beside {
					b.Node("z", mark("z"))
					b.Edge(graph.Start, "z")
				}
				g := compile(t, b, graph.Options{Checkpoints: s})
				th := g.Thread(words(name, beside))
				bad = true
				_, err := th.Invoke(t.Context(), note.Put("go"))
				require.ErrorContains(t, err, c.text)
				var p *graph.PanicError
				if name == "reducer fails" {
					require.ErrorIs(t, err, errBroken)
				} else {
					require.ErrorContains(t, err, "boom")
				}
				if errors.As(err, &p) && len(p.Stack) == 0 {
					t.Fatalf("%s: no stack", name)
				}
				_, err = th.Invoke(t.Context(), note.Put("go")) // again, with what is kept
				require.ErrorContains(t, err, c.text)
				if _, err = th.Invoke(t.Context()); !errors.Is(err, graph.ErrNoInput) {
					require.ErrorContains(t, err, c.text)
				}
				bad = false
				snap := done(t, th, note.Put("go"))
				if beside {
					if got := trail.Get(snap); len(got) == 0 || got[len(got)-1] != "z" {
						t.Fatalf("%s: got %q", name, got)
					}
				}
			}
		}
	})
}
