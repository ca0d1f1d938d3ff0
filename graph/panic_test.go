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

// TestPanicInAnyUserFunctionIsAnError proves that a panic in a reducer, a branch, a
// cache key or a subgraph is an error that names its place, that the run can be
// repeated, and that the thread completes once the cause is removed.
func TestPanicInAnyUserFunctionIsAnError(t *testing.T) {
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
		pruned := state.Keyed("pruned", llm.ByID).Prune(func(m []llm.Message) []llm.Message { boom(); return m })
		fn := func(w ...state.Write) graph.NodeFunc {
			return func(context.Context, state.View) (state.Update, error) { return w, nil }
		}
		cases := map[string]struct {
			fill func(b *graph.Builder)
			text string
		}{
			"reducer":       {func(b *graph.Builder) { b.Node("n", fn(custom.Put(1))) }, `"custom"`},
			"reducer fails": {func(b *graph.Builder) { b.Node("n", fn(failing.Put(1))) }, `"failing"`},
			"pruner":        {func(b *graph.Builder) { b.Node("n", fn(pruned.Put(llm.User("hi")))) }, `"pruned"`},
			"branch": {func(b *graph.Builder) {
				b.Node("n", fn())
				b.Branch("n", func(state.View) (string, error) { boom(); return graph.End, nil }, graph.End)
			}, `node "n"`},
			"branch to many": {func(b *graph.Builder) {
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
			"branch of a subgraph": {func(b *graph.Builder) {
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
			for _, sibling := range []bool{false, true} {
				b := graph.New("g", trail, note, custom, failing, pruned)
				c.fill(b)
				if name != "branch at start" {
					b.Edge(graph.Start, "n")
				}
				if sibling {
					b.Node("z", mark("z"))
					b.Edge(graph.Start, "z")
				}
				th := compile(t, b, graph.Options{Checkpoints: s}).Thread(words(name, sibling))
				bad = true
				_, err := th.Invoke(t.Context(), note.Put("go"))
				requirePlace(t, err, name, c.text)
				_, err = th.Invoke(t.Context(), note.Put("go")) // begin a new turn
				require.ErrorContains(t, err, c.text, name)
				if _, err = th.Invoke(t.Context()); !errors.Is(err, graph.ErrNoInput) {
					require.ErrorContains(t, err, c.text, name)
				}
				bad = false
				snap := done(t, th, note.Put("go"))
				if sibling {
					got := trail.Get(snap)
					require.NotEmpty(t, got, name)
					require.Equal(t, "z", got[len(got)-1], name)
				}
			}
		}
	})
}

// requirePlace requires the error of a case to name its place and to have a stack.
func requirePlace(t *testing.T, err error, name, text string) {
	t.Helper()
	require.ErrorContains(t, err, text, name)
	if name == "reducer fails" {
		require.ErrorIs(t, err, errBroken)
		return
	}
	require.ErrorContains(t, err, "boom", name)
	var panicked *graph.PanicError
	if errors.As(err, &panicked) {
		require.NotEmpty(t, panicked.Stack, name)
	}
}

// TestPanicNamesTheLineOfTheUser proves that the location of a panic inside a function of Weft is the line
// that called the function, and that the location of another panic is its own line.
func TestPanicNamesTheLineOfTheUser(t *testing.T) {
	t.Parallel()
	undeclared := state.Last[string]("undeclared")
	var nobody *verdict
	for name, fn := range map[string]graph.NodeFunc{
		"an undeclared channel": func(_ context.Context, v state.View) (state.Update, error) { undeclared.Get(v); return nil, nil },
		"a nil pointer":         func(context.Context, state.View) (state.Update, error) { nobody.Approved = true; return nil, nil },
		"a panic":               func(context.Context, state.View) (state.Update, error) { panic("boom") },
		"in a decorator":        node.Retry(node.RetryPolicy{}, func(_ context.Context, v state.View) (state.Update, error) { undeclared.Get(v); return nil, nil }),
	} {
		b := graph.New("test", note)
		b.Node("n", fn)
		chain(b, "n")
		_, err := compile(t, b, graph.Options{}).Invoke(t.Context(), note.Put("go"))
		var p *graph.PanicError
		require.ErrorAs(t, err, &p, name)
		require.Contains(t, p.Location, "graph/panic_test.go:", name)
	}
}

// TestPanicOfWeftAloneNamesItsOwnLine proves that the location of a panic is in Weft's code, and not at the caller of the
// run, if only Weft's code runs in the node.
func TestPanicOfWeftAloneNamesItsOwnLine(t *testing.T) {
	t.Parallel()
	b := graph.New("test", note)
	b.Node("n", node.Cache(state.Last[string]("undeclared").Get, node.CachePolicy{}, mark("n")))
	chain(b, "n")
	_, err := compile(t, b, graph.Options{}).Invoke(t.Context(), note.Put("go"))
	var p *graph.PanicError
	require.ErrorAs(t, err, &p)
	require.NotContains(t, p.Location, "_test.go")
}
