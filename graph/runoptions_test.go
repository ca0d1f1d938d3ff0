package graph_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// looping returns a graph that runs one node n times.
func looping(t *testing.T, s checkpoint.Store, n int, o graph.Options) *graph.Graph {
	b := graph.New("loop", total, note)
	b.Node("step", func(context.Context, state.View) (state.Update, error) { return state.Update{total.Put(1)}, nil })
	b.Branch("step", choose(func(v state.View) string {
		if total.Get(v) < n {
			return "step"
		}
		return graph.End
	}), "step", graph.End)
	b.Edge(graph.Start, "step")
	o.Checkpoints = s
	return compile(t, b, o)
}

// TestWithSetsMaxSteps proves that With sets MaxSteps for runs with and without a thread,
// and changes neither the graph nor the result of an earlier With.
func TestWithSetsMaxSteps(t *testing.T) {
	t.Parallel()
	g := looping(t, memcheckpoint.New(memcheckpoint.Options{}), 150, graph.Options{})
	_, err := g.Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrMaxSteps, "100 by default")
	more, few := g.With(graph.RunOptions{MaxSteps: 150}), g.With(graph.RunOptions{MaxSteps: 3})
	snap, err := more.Invoke(t.Context())
	require.NoError(t, err)
	require.Equal(t, 150, total.Get(snap))
	_, err = g.Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrMaxSteps)
	runBoth(t, few, func(err error) {
		require.ErrorIs(t, err, graph.ErrMaxSteps)
		require.ErrorContains(t, err, "3 ran")
	})

	_, err = few.Thread("t").Invoke(t.Context(), graph.Begin())
	require.ErrorIs(t, err, graph.ErrMaxSteps)
	require.Equal(t, 3, total.Get(snapshot(t, g.Thread("t"))))
	_, err = more.Thread("t").With(graph.RunOptions{MaxSteps: 7}).Invoke(t.Context())
	require.ErrorContains(t, err, "7 ran", "the options of the thread replace those of the graph")
	_, err = more.Thread("t").With(graph.RunOptions{}).Invoke(t.Context())
	require.ErrorContains(t, err, "100 ran")
	require.Equal(t, 150, total.Get(done(t, more.Thread("t"))))
	_, err = more.With(graph.RunOptions{MaxParallel: 1}).Invoke(t.Context())
	require.ErrorContains(t, err, "100 ran", "a With replaces the one before")
}

// TestWithSetsMaxParallel proves that With sets MaxParallel for runs with and without a
// thread.
func TestWithSetsMaxParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		g := build(t, memcheckpoint.New(memcheckpoint.Options{}), func(b *graph.Builder) {
			for i := range 9 {
				name := fmt.Sprint("n", i)
				b.Node(name, func(context.Context, state.View) (state.Update, error) {
					most.Store(max(most.Load(), now.Add(1)))
					time.Sleep(time.Second)
					now.Add(-1)
					return nil, nil
				})
				b.Edge(graph.Start, name)
			}
		})
		for limit, want := range map[int]int64{0: 9, 1: 1, 4: 4, 20: 9} {
			with := g.With(graph.RunOptions{MaxParallel: limit})
			most.Store(0)
			runBoth(t, with, func(err error) { require.NoError(t, err) })
			require.Equal(t, want, most.Load())
			most.Store(0)
			done(t, with.Thread(fmt.Sprint("t", limit)), note.Put("go"))
			require.Equal(t, want, most.Load())
		}
	})
}

// TestWithAppliesToThreads proves that the options of Graph.With apply to its threads.
func TestWithAppliesToThreads(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := build(t, s, func(b *graph.Builder) {
			b.Node("a", mark("a"))
			b.Node("b", mark("b"))
			chain(b, "a", "b")
		})
		exit := graph.Exit
		metadata := map[string]string{"tenant": "one"}
		before := []string{"b"}
		with := g.With(graph.RunOptions{PauseBefore: before, Durability: &exit, Metadata: metadata})
		metadata["tenant"], before[0] = "changed", "a"
		snap := invoke(t, with.Thread("t"), note.Put("go"))
		require.Equal(t, []string{"b"}, snap.Next)
		require.Equal(t, graph.PauseBefore, snap.Pauses[0].Kind)
		require.Equal(t, map[string]string{"tenant": "one"}, snap.Metadata)
		require.Len(t, history(t, g.Thread("t"), graph.HistoryQuery{Metadata: map[string]string{"tenant": "one"}}), 1, "Exit stores one checkpoint")
		wantTrail(t, done(t, g.Thread("t")), "a", "b")
		snap = invoke(t, g.With(graph.RunOptions{PauseAfter: []string{graph.AllNodes}}).Thread("u"), note.Put("go"))
		require.Equal(t, graph.PauseAfter, snap.Pauses[0].Kind)
		require.Equal(t, g.Name(), with.Name())
	})
}

// TestWithOptionsAreChecked proves that a run with invalid options fails with an error that
// names the option, and runs no node.
func TestWithOptionsAreChecked(t *testing.T) {
	t.Parallel()
	var ran counter
	g := build(t, memcheckpoint.New(memcheckpoint.Options{}), func(b *graph.Builder) {
		b.Node("a", func(context.Context, state.View) (state.Update, error) { ran.add("a"); return nil, nil })
		chain(b, "a")
	})
	bad := graph.Durability(9)
	for want, o := range map[string]graph.RunOptions{
		`a pause at "nobody"`: {PauseBefore: []string{"nobody"}},
		`a pause at "other"`:  {PauseAfter: []string{"a", "other"}},
		"MaxSteps is -1":      {MaxSteps: -1},
		"MaxParallel is -2":   {MaxParallel: -2},
		"durability(9)":       {Durability: &bad},
		"conflict policy 7":   {Conflict: 7},
	} {
		with := g.With(o)
		runBoth(t, with, func(err error) { require.ErrorContains(t, err, want) })
		_, err := with.Thread("t").Invoke(t.Context(), note.Put("go"))
		require.ErrorContains(t, err, want)
		_, err = g.Thread("t").With(o).Update(t.Context(), graph.Start, note.Put("x"))
		require.ErrorContains(t, err, want)
	}
	ran.want(t, "a", 0)
	runBoth(t, g.With(graph.RunOptions{PauseBefore: []string{"a"}}), func(err error) {
		require.ErrorIs(t, err, graph.ErrNoStore, "a run without a thread cannot pause")
	})
	var none *graph.Graph
	_, err := none.With(graph.RunOptions{}).Invoke(t.Context())
	require.ErrorContains(t, err, "the graph is nil")
}

// TestWithAppliesToSubgraph proves that the options of Graph.With also apply when the graph
// is a subgraph.
func TestWithAppliesToSubgraph(t *testing.T) {
	t.Parallel()
	s := memcheckpoint.New(memcheckpoint.Options{})
	around := func(sub *graph.Graph) *graph.Graph {
		b := graph.New("around", total, note)
		b.Subgraph("sub", sub)
		chain(b, "sub")
		return compile(t, b, graph.Options{Checkpoints: s})
	}
	loop := looping(t, nil, 5, graph.Options{})
	_, err := around(loop.With(graph.RunOptions{MaxSteps: 2})).Thread("limit").Invoke(t.Context(), note.Put("go"))
	require.ErrorIs(t, err, graph.ErrMaxSteps)
	require.ErrorContains(t, err, `node "sub"`)
	th := around(loop.With(graph.RunOptions{PauseAfter: []string{"step"}})).Thread("pause")
	snap := invoke(t, th, note.Put("go"))
	for range 4 {
		require.Equal(t, "sub/step", snap.Pauses[0].Path)
		snap = invoke(t, th)
	}
	require.True(t, snap.Done())
	require.Equal(t, 5, total.Get(snap))
	require.Equal(t, 5, total.Get(done(t, around(loop).Thread("none"), note.Put("go"))))
}
