package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestTwoWritersNameEachOther proves that if two tasks write to a channel that accepts one
// write per superstep, the error names both tasks and says what to do.
func TestTwoWritersNameEachOther(t *testing.T) {
	t.Parallel()
	g := build(t, nil, func(b *graph.Builder) {
		for _, name := range []string{"ann", "bo"} {
			b.Node(name, func(context.Context, state.View) (state.Update, error) {
				return state.Update{note.Put(name)}, nil
			})
			b.Edge(graph.Start, name)
		}
	})
	_, err := g.Invoke(t.Context())
	require.ErrorIs(t, err, state.ErrConcurrentWrite)
	wantText(t, err, `"ann"`, `"bo"`, `"note"`, "LastWins")
}

// TestMaxStepsSaysWhatToDo proves that the error of a run that exceeds MaxSteps names the
// cycle of edges, if the graph has a cycle that cannot end.
func TestMaxStepsSaysWhatToDo(t *testing.T) {
	t.Parallel()
	again := choose(func(state.View) string { return "a" })
	for name, c := range map[string]struct {
		fill func(b *graph.Builder)
		want string // a regular expression, since a cycle may begin at any of its nodes
		not  string
	}{
		"cycle of one": {
			func(b *graph.Builder) { chain(b, "a", "b", "c"); b.Edge("a", "a") },
			`the edges a → a are a cycle .* branch .* Goto .* the next run continues`, "raise MaxSteps",
		},
		"cycle of three": {
			func(b *graph.Builder) { chain(b, "a", "b", "c", "a") },
			`the edges (a → b → c → a|b → c → a → b|c → a → b → c) are a cycle`, "raise MaxSteps",
		},
		"cycle after an entry": {
			func(b *graph.Builder) { chain(b, "a", "b", "c", "b") },
			`the edges (b → c → b|c → b → c) are a cycle`, "a → b",
		},
		"loop through a branch": {
			func(b *graph.Builder) {
				chain(b, "a", "b", "c")
				b.Branch("c", again, "a", graph.End)
			},
			`raise MaxSteps, or look for a loop .* the next run continues`, "cycle",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, s := range []checkpoint.Store{nil, newStore()} {
				g := build(t, s, func(b *graph.Builder) {
					for _, name := range []string{"a", "b", "c"} {
						b.Node(name, mark(name))
					}
					c.fill(b)
				})
				var err error
				if s == nil {
					_, err = g.Invoke(t.Context())
				} else {
					_, err = g.Thread("t").Invoke(t.Context(), trail.Put("in"))
				}
				require.ErrorIs(t, err, graph.ErrMaxSteps)
				require.Regexp(t, c.want, err.Error())
				assert.NotContains(t, err.Error(), c.not)
			}
		})
	}
}

// TestPanicNamesItsLine proves that the error of a panic has the file and line of the code
// that panicked, for a node, a branch and Output of a subgraph.
func TestPanicNamesItsLine(t *testing.T) {
	t.Parallel()
	var list []int
	for name, fill := range map[string]func(b *graph.Builder){
		"node": func(b *graph.Builder) {
			b.Node("a", func(context.Context, state.View) (state.Update, error) { panic("no") })
		},
		"index": func(b *graph.Builder) {
			b.Node("a", func(context.Context, state.View) (state.Update, error) { return nil, errors.New(string(rune(list[7]))) })
		},
		"branch": func(b *graph.Builder) {
			b.Node("a", mark("a"))
			b.Branch("a", func(state.View) (string, error) { panic("no") }, graph.End)
		},
		"mapping": func(b *graph.Builder) {
			sub := build(t, nil, func(b *graph.Builder) {
				b.Node("in", mark("in"))
				b.Edge(graph.Start, "in")
			})
			b.SubgraphWith("a", sub, graph.SubgraphOptions{Output: func(_, _ state.View) (state.Update, error) { panic("no") }})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := build(t, nil, func(b *graph.Builder) {
				fill(b)
				b.Edge(graph.Start, "a")
			})
			_, err := g.Invoke(t.Context())
			var failed *graph.NodeError
			require.ErrorAs(t, err, &failed)
			require.Regexp(t, `error_texts_test\.go:\d+`, err.Error())
		})
	}
}

// TestNilGraphIsAnError proves that runs of a nil graph, and the other methods below, return
// an error that tells the caller to check the error of Compile.
func TestNilGraphIsAnError(t *testing.T) {
	t.Parallel()
	var g *graph.Graph
	th := g.Thread("t")
	first := func(seq func(func(graph.Event, error) bool)) (err error) {
		for _, e := range seq {
			err = e
		}
		return err
	}
	infos := func(seq func(func(graph.Info, error) bool)) (err error) {
		for _, e := range seq {
			err = e
		}
		return err
	}
	ctx := t.Context()
	for name, use := range map[string]func() error{
		"Invoke":            func() error { _, err := g.Invoke(ctx); return err },
		"Stream":            func() error { return first(g.Stream(ctx)) },
		"With":              func() error { _, err := g.With(graph.RunOptions{}).Invoke(ctx); return err },
		"Waiting":           func() error { return infos(g.Waiting(ctx, "a", "")) },
		"Thread.Invoke":     func() error { _, err := th.Invoke(ctx); return err },
		"Thread.Stream":     func() error { return first(th.Stream(ctx)) },
		"Thread.With":       func() error { _, err := th.With(graph.RunOptions{}).Invoke(ctx); return err },
		"Thread.At":         func() error { _, err := th.At("x").Invoke(ctx); return err },
		"Thread.Snapshot":   func() error { _, err := th.Snapshot(ctx); return err },
		"Thread.History":    func() error { return infos(th.History(ctx, graph.HistoryQuery{})) },
		"Thread.Update":     func() error { _, err := th.Update(ctx, "a"); return err },
		"Thread.Delete":     func() error { return th.Delete(ctx) },
		"Subgraph.Snapshot": func() error { _, err := th.Subgraph("a").Snapshot(ctx); return err },
		"Subgraph.History":  func() error { return infos(th.Subgraph("a").History(ctx, graph.HistoryQuery{})) },
		"Subgraph.Update":   func() error { _, err := th.Subgraph("a").Update(ctx, "b"); return err },
		"Subgraph.Fork":     func() error { _, err := th.Subgraph("a").At("x").Fork(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantText(t, use(), "the graph is nil", "Compile")
		})
	}
	t.Run("Subgraph in a builder", func(t *testing.T) {
		t.Parallel()
		b := graph.New("outer")
		b.Subgraph("sub", g)
		b.Edge(graph.Start, "sub")
		_, err := b.Compile(graph.Options{})
		wantText(t, err, "the subgraph is nil", "Compile")
	})
	assert.Empty(t, g.Name())
	assert.Empty(t, g.Describe().Nodes)
	assert.NotPanics(t, func() { _ = g.String() + g.Mermaid() + g.DOT() })
}
