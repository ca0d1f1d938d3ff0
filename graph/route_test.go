package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestInvalidTargetsFailTheRun proves that the run fails if a node, a branch or a caller
// uses an undeclared target, an unknown target or a write that is not allowed, and that
// the error names its place.
func TestInvalidTargetsFailTheRun(t *testing.T) {
	t.Parallel()
	strange := state.Last[int]("strange")
	cases := map[string]struct {
		node   state.Write
		branch func(state.View) string
		caller state.Write
		want   error
		text   []string
	}{
		"goto":            {node: graph.Goto("b"), want: graph.ErrRoute, text: []string{`node "a"`, `"b"`}},
		"goto nowhere":    {node: graph.Goto("x"), want: graph.ErrUnknownNode, text: []string{`node "a"`, `"x"`}},
		"send":            {node: graph.Send("b"), want: graph.ErrRoute, text: []string{`node "a"`, `"b"`}},
		"send to the end": {node: graph.Send(graph.End), want: graph.ErrSignal, text: []string{`node "a"`}},
		"to no parent":    {node: graph.ToParent(note.Put("x")), want: graph.ErrSignal, text: []string{`node "a"`, "no parent"}},
		"answer":          {node: ask.Answer("x", "y"), want: graph.ErrSignal, text: []string{`node "a"`}},
		"begin":           {node: graph.Begin(), want: graph.ErrSignal, text: []string{`node "a"`}},
		"channel":         {node: strange.Put(1), want: state.ErrUnknownChannel, text: []string{`node "a"`, `"strange"`}},
		"sent channel":    {node: graph.Send("c", strange.Put(1)), want: state.ErrUnknownChannel, text: []string{`"strange"`}},
		"branch":          {branch: func(state.View) string { return "b" }, want: graph.ErrRoute, text: []string{`node "a"`, "branch", `"b"`}},
		"branch nowhere":  {branch: func(state.View) string { return "" }, want: graph.ErrUnknownNode, text: []string{`node "a"`, "branch"}},
		"branch reads":    {branch: func(v state.View) string { return string(rune(strange.Get(v))) }, want: state.ErrUnknownChannel, text: []string{`node "a"`, "branch", `"strange"`}},
		"caller goto":     {caller: graph.Goto("x"), want: graph.ErrUnknownNode, text: []string{`"x"`}},
		"caller send":     {caller: graph.Send("x"), want: graph.ErrUnknownNode, text: []string{`"x"`}},
		"caller parent":   {caller: graph.ToParent(note.Put("x")), want: graph.ErrSignal},
		"caller channel":  {caller: strange.Put(1), want: state.ErrUnknownChannel, text: []string{`"strange"`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, sibling := range []bool{false, true} { // the engine has separate code for a single task
				g := build(t, stores["memory"](t), func(b *graph.Builder) {
					b.Node("a", func(context.Context, state.View) (state.Update, error) {
						return state.Update{c.node}, nil
					})
					b.Node("b", mark("b"))
					b.Node("c", mark("c"))
					b.Edge(graph.Start, "a")
					if sibling {
						b.Edge(graph.Start, "b")
					}
					b.Destinations(graph.Start, "b", "c")
					b.Destinations("a", "c", graph.End)
					if c.branch != nil {
						b.Branch("a", choose(c.branch), "c")
					}
				})
				input := []state.Write{note.Put("go")}
				if c.caller != (state.Write{}) {
					input = []state.Write{c.caller}
				}
				_, err := g.Thread("t").Invoke(t.Context(), input...)
				require.ErrorIs(t, err, c.want)
				for _, text := range c.text {
					require.ErrorContains(t, err, text)
				}
				var failed *graph.RunError
				require.ErrorAs(t, err, &failed)
				require.Equal(t, "test", failed.Graph)
				require.Equal(t, "t", failed.Thread)
			}
		})
	}
	_, err := single(t, mark("n")).Invoke(t.Context(), graph.Begin(), graph.Continue())
	require.ErrorIs(t, err, graph.ErrSignal)
}

// TestGotoEndNeedsNoDeclaration proves that nodes and callers may go to the end, and that this schedules nothing.
func TestGotoEndNeedsNoDeclaration(t *testing.T) {
	t.Parallel()
	end := state.Update{graph.Goto(graph.End)}
	for _, declared := range []bool{false, true} {
		g := build(t, stores["memory"](t), func(b *graph.Builder) {
			b.Node("a", func(context.Context, state.View) (state.Update, error) { return append(end, trail.Put("a")), nil })
			b.Node("b", mark("b"))
			b.Edge(graph.Start, "a")
			b.Destinations(graph.Start, "b")
			if declared {
				b.Destinations("a", "b")
			}
		})
		require.Equal(t, []string{"a"}, trail.Get(done(t, g.Thread("t"), graph.Begin())))
		require.Equal(t, []string{"a"}, trail.Get(done(t, g.Thread("t"), end...)))
	}
	many := build(t, nil, func(b *graph.Builder) {
		b.Node("a", mark("a"))
		b.Node("b", mark("b"))
		b.Edge(graph.Start, "a")
		b.BranchMany("a", func(state.View) (state.Update, error) { return end, nil }, "b")
	})
	snap, err := many.Invoke(t.Context(), graph.Begin())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, trail.Get(snap))
}

// TestUnknownTargetOfCallerFails proves that a run fails if its caller's Goto names a node
// that the graph does not have, on a new thread and on a thread with a checkpoint.
func TestUnknownTargetOfCallerFails(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		th := trailGraph(t, graph.Options{Checkpoints: store}, "a").Thread("t")
		for range 2 {
			for _, name := range []string{"typo", "", graph.Start} {
				for _, w := range []state.Write{graph.Goto(name), graph.Send(name)} {
					_, err := th.Invoke(t.Context(), w)
					assert.ErrorIs(t, err, graph.ErrUnknownNode, "%s", w)
				}
			}
			invoke(t, th, trail.Put("in"))
		}
	})
}
