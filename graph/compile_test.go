package graph_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestCompileReportsEveryMistake proves that Compile reports all mistakes at once, each
// with its graph and node.
func TestCompileReportsEveryMistake(t *testing.T) {
	t.Parallel()
	pass := func(b *graph.Builder, names ...string) {
		for _, n := range names {
			b.Node(n, mark(n))
		}
	}
	enter := func(b *graph.Builder, names ...string) {
		pass(b, names...)
		for _, n := range names {
			b.Edge(graph.Start, n)
		}
	}
	route := func(state.View) (string, error) { return "", nil }
	sub := func(h ...state.Handle) *graph.Graph {
		b := graph.New("sub", h...)
		pass(b, "s")
		b.Edge(graph.Start, "s")
		return compile(t, b, graph.Options{})
	}
	cases := map[string]struct {
		fill func(b *graph.Builder)
		opts graph.Options
		want []string // the node, a space, and a part of the text of each mistake
		is   error
	}{
		"no entry":       {fill: func(b *graph.Builder) { pass(b, "a") }, want: []string{" no entry", "a nothing leads to it"}},
		"empty":          {fill: func(*graph.Builder) {}, want: []string{" no entry"}},
		"nil function":   {fill: func(b *graph.Builder) { b.Node("a", nil); b.Edge(graph.Start, "a") }, want: []string{"a its function is nil"}},
		"nil subgraph":   {fill: func(b *graph.Builder) { b.Subgraph("a", nil); b.Edge(graph.Start, "a") }, want: []string{"a the subgraph is nil"}},
		"nil branch":     {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Branch("a", nil, "a") }, want: []string{"a the function of its branch is nil"}},
		"nil dispatch":   {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.BranchMany("a", nil, "a") }, want: []string{"a the function of its branch is nil"}},
		"two of a name":  {fill: func(b *graph.Builder) { pass(b, "a", "a"); b.Edge(graph.Start, "a") }, want: []string{"a two nodes"}},
		"reserved":       {fill: func(b *graph.Builder) { pass(b, graph.End); enter(b, "a") }, want: []string{graph.End + " reserved", graph.End + " nothing leads"}},
		"bad names":      {fill: func(b *graph.Builder) { enter(b, "a", "x/y", "x\n", "x[0]", "\xff") }, want: []string{"x/y the name has", "x\n control character", "x[0] the name has", "\xff not UTF-8"}},
		"unnamed":        {fill: func(b *graph.Builder) { enter(b, "a", "") }, want: []string{" needs a name"}},
		"unknown edge":   {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Edge("a", "x") }, want: []string{`a an edge leads to "x"`}, is: graph.ErrUnknownNode},
		"unknown from":   {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Edge("x", "a") }, want: []string{"x no such node"}, is: graph.ErrUnknownNode},
		"unknown defer":  {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Defer("x") }, want: []string{"x no such node"}, is: graph.ErrUnknownNode},
		"unknown branch": {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Branch("a", route, "x", "y") }, want: []string{`a a branch leads to "x"`, `a a branch leads to "y"`}, is: graph.ErrUnknownNode},
		"unknown route":  {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Destinations("a", "x") }, want: []string{`a a destination leads to "x"`}, is: graph.ErrUnknownNode},
		"no target":      {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Branch("a", route) }, want: []string{"a a branch names no target"}},
		"unreachable":    {fill: func(b *graph.Builder) { pass(b, "a", "b", "c"); b.Edge(graph.Start, "a"); b.Edge("b", "c") }, want: []string{"b nothing leads", "c nothing leads"}},
		"undeclared goto": {fill: func(b *graph.Builder) {
			b.Node("a", func(context.Context, state.View) (state.Update, error) { return state.Update{graph.Goto("b")}, nil })
			pass(b, "b")
			b.Edge(graph.Start, "a")
		}, want: []string{`b add an edge; if a Goto or Send of node x leads to it, Destinations(x, "b"); if only a caller's Goto does, Destinations(graph.Start, "b")`}},
		"join to nobody": {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Join("x", "a") }, want: []string{"x a join names it"}, is: graph.ErrUnknownNode},
		"join of nobody": {fill: func(b *graph.Builder) {
			pass(b, "a", "b")
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Join("b", "a", "x")
		}, want: []string{`b waits for "x"`}, is: graph.ErrUnknownNode},
		"join of none": {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Join("a") }, want: []string{"a a join without sources"}},
		"join never": {fill: func(b *graph.Builder) {
			pass(b, "a", "b", "c")
			b.Edge(graph.Start, "a")
			b.Edge("a", "b")
			b.Join("b", "a", "c")
		}, want: []string{"c nothing leads", `b its join can never fire: nothing leads to "c"`}},
		"edge and branch": {fill: func(b *graph.Builder) {
			pass(b, "a")
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			b.Branch("a", route, "a")
		}, want: []string{`a AllowEdgesAndBranches("a")`}},
		"edge and route": {fill: func(b *graph.Builder) {
			pass(b, "a")
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			b.Destinations("a", "a")
		}, want: []string{`a AllowEdgesAndBranches("a")`}},
		"pause":          {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a") }, opts: graph.Options{PauseBefore: []string{"x"}, PauseAfter: []string{"y", graph.AllNodes}}, want: []string{"x PauseBefore or PauseAfter names it", "y PauseBefore or PauseAfter names it"}, is: graph.ErrUnknownNode},
		"limits":         {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a") }, opts: graph.Options{MaxSteps: -1}, want: []string{" cannot be negative"}},
		"no store":       {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a") }, opts: graph.Options{Checkpoints: (*memcheckpoint.Store)(nil)}, want: []string{" Checkpoints is a nil *memcheckpoint.Store"}},
		"no execute":     {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a") }, opts: graph.Options{Executor: &graph.Executor{}}, want: []string{" Executor has no function Execute"}},
		"durability":     {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a") }, opts: graph.Options{Durability: 9}, want: []string{" unknown durability(9)"}},
		"channels apart": {fill: func(b *graph.Builder) { b.Subgraph("a", sub(state.Append[string]("trail"))); b.Edge(graph.Start, "a") }, want: []string{`a channel "trail" of their own`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := graph.New("g", trail)
			c.fill(b)
			_, err := b.Compile(c.opts)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			var got []*graph.BuildError
			for _, e := range unwrapAll(err) {
				if be, ok := e.(*graph.BuildError); ok { //nolint:errorlint // unwrapAll returns all wrapped errors
					got = append(got, be)
				}
			}
			require.Len(t, got, len(c.want), "%v", err)
			for _, w := range c.want {
				node, text, _ := strings.Cut(w, " ")
				require.True(t, slices.ContainsFunc(got, func(e *graph.BuildError) bool {
					return e.Graph == "g" && e.Node == node && strings.Contains(e.Error(), text) && strings.HasPrefix(e.Error(), `graph "g": `)
				}), "want %q in %v", w, err)
			}
		})
	}
}

// TestCompileChecksChannelNames proves that Compile reports two channels with one name and
// a channel without a name, together with mistakes of nodes.
func TestCompileChecksChannelNames(t *testing.T) {
	t.Parallel()
	b := graph.New("g", state.Last[int]("x"), state.Last[string]("x"))
	b.Node("a", mark("a"))
	_, err := b.Compile(graph.Options{})
	require.ErrorIs(t, err, state.ErrDuplicate)
	require.ErrorContains(t, err, `"x"`)
	require.ErrorContains(t, err, "no entry")
	require.ErrorContains(t, err, `node "a"`)
	b = graph.New("g", state.Last[int](""))
	b.Node("a", mark("a"))
	b.Edge(graph.Start, "a")
	_, err = b.Compile(graph.Options{})
	require.ErrorIs(t, err, state.ErrName)
}

// TestBuilderMayChangeAfterCompile proves that a change of the builder does not change a
// compiled graph.
func TestBuilderMayChangeAfterCompile(t *testing.T) {
	t.Parallel()
	b := graph.New("g", trail)
	b.Node("a", mark("a"))
	b.Edge(graph.Start, "a")
	one := compile(t, b, graph.Options{})
	b.Node("b", mark("b"))
	b.Edge("a", "b")
	two := compile(t, b, graph.Options{})
	for g, want := range map[*graph.Graph][]string{one: {"a"}, two: {"a", "b"}} {
		snap, err := g.Invoke(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, trail.Get(snap))
	}
	require.Equal(t, "g", one.Name())
}
