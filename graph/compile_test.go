package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// TestCompileErrors: Compile reports every mistake at once, each with its place.
func TestCompileErrors(t *testing.T) {
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
		want []string // node and a part of the text
		is   error
	}{
		"no entry":       {fill: func(b *graph.Builder) { pass(b, "a") }, want: []string{" no entry", "a nothing leads to it"}},
		"empty":          {fill: func(*graph.Builder) {}, want: []string{" no entry"}},
		"nil function":   {fill: func(b *graph.Builder) { b.Node("a", nil); b.Edge(graph.Start, "a") }, want: []string{"a its function is nil"}},
		"nil subgraph":   {fill: func(b *graph.Builder) { b.Subgraph("a", nil); b.Edge(graph.Start, "a") }, want: []string{"a the subgraph is nil"}},
		"nil branch":     {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Branch("a", nil, "a") }, want: []string{"a its branch has no function"}},
		"nil dispatch":   {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.BranchMany("a", nil, "a") }, want: []string{"a its branch has no function"}},
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
		"join to nobody": {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a"); b.Join("x", "a") }, want: []string{"x a join leads to it"}, is: graph.ErrUnknownNode},
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
		"pause":          {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a") }, opts: graph.Options{PauseBefore: []string{"x"}, PauseAfter: []string{"y", graph.AllNodes}}, want: []string{"x a pause names it", "y a pause names it"}, is: graph.ErrUnknownNode},
		"limits":         {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a") }, opts: graph.Options{MaxSteps: -1}, want: []string{" cannot be negative"}},
		"no store":       {fill: func(b *graph.Builder) { pass(b, "a"); b.Edge(graph.Start, "a") }, opts: graph.Options{Checkpoints: (*memcheckpoint.Store)(nil)}, want: []string{" Checkpoints is a nil *memcheckpoint.Store"}},
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
				if be, ok := e.(*graph.BuildError); ok { //nolint:errorlint // every error of the tree is looked at
					got = append(got, be)
				}
			}
			if len(got) != len(c.want) {
				t.Fatalf("got %d mistakes: %v\nwant %q", len(got), err, c.want)
			}
			for _, w := range c.want {
				node, text, _ := strings.Cut(w, " ")
				if strings.HasPrefix(w, " ") {
					node, text = "", w[1:]
				}
				if !slices.ContainsFunc(got, func(e *graph.BuildError) bool {
					return e.Graph == "g" && e.Node == node && strings.Contains(e.Error(), text) && strings.HasPrefix(e.Error(), `graph "g": `)
				}) {
					t.Fatalf("got %v\nwant %q", err, w)
				}
			}
		})
	}
}

// TestCompileMiddleware: middleware around nothing is nothing, and found as that.
func TestCompileMiddleware(t *testing.T) {
	t.Parallel()
	fn := mark("a")
	for name, fn := range map[string]graph.NodeFunc{
		"Retry":       node.Retry(node.RetryPolicy{}, nil),
		"Timeout":     node.Timeout(time.Second, nil),
		"IdleTimeout": node.IdleTimeout(time.Second, nil),
		"Limit":       node.Limit(1, nil),
		"Cache":       node.Cache(func(state.View) string { return "" }, node.CachePolicy{}, nil),
		"Recover":     node.Recover(func(context.Context, state.View, error) (state.Update, error) { return nil, nil }, nil),
		"no Key":      node.Cache(nil, node.CachePolicy{}, fn),
		"no handler":  node.Recover(nil, fn),
		"two of them": node.Limit(1, node.Retry(node.RetryPolicy{}, nil)),
	} {
		b := graph.New("g", trail)
		b.Node("a", fn)
		b.Edge(graph.Start, "a")
		if _, err := b.Compile(graph.Options{}); err == nil || !strings.Contains(err.Error(), `node "a": its function is nil`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestCompileChannels: two channels of a name, and none.
func TestCompileChannels(t *testing.T) {
	t.Parallel()
	b := graph.New("g", state.Last[int]("x"), state.Last[string]("x"))
	b.Node("a", mark("a"))
	_, err := b.Compile(graph.Options{})
	require.ErrorIs(t, err, state.ErrDuplicate)
	require.ErrorContains(t, err, `"x"`)
	require.ErrorContains(t, err, "no entry")
	require.ErrorContains(t, err, `node "a"`) // all at once
	b = graph.New("g", state.Last[int](""))
	b.Node("a", mark("a"))
	b.Edge(graph.Start, "a")
	_, err = b.Compile(graph.Options{})
	require.ErrorIs(t, err, state.ErrName)
}

// TestCompileTwice: a builder may go on after Compile; what it made does not.
func TestCompileTwice(t *testing.T) {
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
	if one.Name() != "g" {
		t.Fatalf("got name %q", one.Name())
	}
}

// TestRouteErrors: a node, a branch or a caller that leads where it may not is
// told so, and by name.
func TestRouteErrors(t *testing.T) {
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
			for _, beside := range []bool{false, true} { // alone, its branches are run elsewhere
				g := build(t, stores["memory"](t), func(b *graph.Builder) {
					b.Node("a", func(context.Context, state.View) (state.Update, error) {
						return state.Update{c.node}, nil
					})
					b.Node("b", mark("b"))
					b.Node("c", mark("c"))
					b.Edge(graph.Start, "a")
					if beside {
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
				var re *graph.RunError
				if !errors.As(err, &re) || re.Graph != "test" || re.Thread != "t" {
					t.Fatalf("got %v", err)
				}
			}
		})
	}
	_, err := single(t, mark("n")).Invoke(t.Context(), graph.Begin(), graph.Continue())
	require.ErrorIs(t, err, graph.ErrSignal)
}
