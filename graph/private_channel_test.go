package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A private channel begins empty in every call, Input may write it, and its writes stay in the
// subgraph. This holds for every durability mode, and when a new build of the graph resumes the
// call, as in another process.
func TestPrivateChannelIsNotShared(t *testing.T) {
	t.Parallel()
	notes, total := state.Append[string]("notes"), state.Sum[int]("total")
	ready := graph.NewInterrupt[string, bool]("ready")
	for _, durability := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		t.Run(fmt.Sprint(durability), func(t *testing.T) {
			t.Parallel()
			store := memcheckpoint.New(memcheckpoint.Options{})
			build := func() *graph.Graph {
				in := graph.New("in", notes, total)
				in.Node("one", func(_ context.Context, s state.View) (state.Update, error) {
					return state.Update{notes.Put(fmt.Sprint("one sees ", notes.Get(s))), total.Put(1)}, nil
				})
				in.Node("two", func(ctx context.Context, s state.View) (state.Update, error) {
					if _, err := ready.Wait(ctx, ""); err != nil {
						return nil, err
					}
					return state.Update{notes.Put(fmt.Sprint("two sees ", len(notes.Get(s)))), total.Put(1)}, nil
				})
				in.Edge(graph.Start, "one")
				in.Edge("one", "two")
				sub, err := in.Compile(graph.Options{})
				require.NoError(t, err)
				b := graph.New("out", notes, total)
				b.SubgraphWith("in", sub, graph.SubgraphOptions{
					Private: []state.Handle{notes},
					Input: func(parent state.View) (state.Update, error) {
						return state.Update{notes.Put(fmt.Sprint("input sees ", notes.Get(parent)))}, nil
					},
					Output: func(_, sub state.View) (state.Update, error) {
						return state.Update{notes.Put(fmt.Sprint("output sees ", len(notes.Get(sub))))}, nil
					},
				})
				b.Edge(graph.Start, "in")
				g, err := b.Compile(graph.Options{Checkpoints: store})
				require.NoError(t, err)
				return g
			}
			run := graph.RunOptions{Durability: &durability}
			snap, err := build().Thread("1").With(run).Invoke(t.Context(), notes.Put("mine"), total.Put(10))
			require.NoError(t, err)
			open, err := ready.Open(snap)
			require.NoError(t, err)
			require.Len(t, open, 1)
			sub, err := build().Thread("1").Subgraph("in").Snapshot(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []string{"input sees [mine]", "one sees [input sees [mine]]"}, notes.Get(sub))
			snap, err = build().Thread("1").With(run).Invoke(t.Context(), ready.Answer(open[0].ID, true))
			require.NoError(t, err)
			assert.Equal(t, []string{"mine", "output sees 3"}, notes.Get(snap))
			assert.Equal(t, 12, total.Get(snap))
		})
	}
}

// A private channel of a persistent subgraph keeps its value from call to call.
func TestPrivateChannelOfAPersistentSubgraphIsKept(t *testing.T) {
	t.Parallel()
	notes, other := state.Append[string]("notes"), state.Last[int]("other")
	in := graph.New("in", notes)
	in.Node("note", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{notes.Put(fmt.Sprint("sees ", len(notes.Get(s))))}, nil
	})
	in.Edge(graph.Start, "note")
	sub, err := in.Compile(graph.Options{})
	require.NoError(t, err)
	var kept []string
	b := graph.New("out", notes)
	b.SubgraphWith("in", sub, graph.SubgraphOptions{
		Persist: "in", Private: []state.Handle{notes, other}, // the subgraph does not have other
		Output: func(_, sub state.View) (state.Update, error) { kept = notes.Get(sub); return nil, nil },
	})
	b.Edge(graph.Start, "in")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	for range 2 {
		snap, err := g.Thread("1").Invoke(t.Context(), notes.Put("of the parent"))
		require.NoError(t, err)
		assert.NotContains(t, notes.Get(snap), "sees 0")
	}
	assert.Equal(t, []string{"sees 0", "sees 1"}, kept)
}

// A private channel of the subgraph may have the name of another channel of the parent.
func TestPrivateChannelMayHaveTheNameOfAnother(t *testing.T) {
	t.Parallel()
	outer, inner := state.Append[string]("notes"), state.LastWins[int]("notes")
	total := state.Sum[int]("total")
	in := graph.New("in", inner)
	in.Node("double", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{inner.Put(2 * inner.Get(s))}, nil
	})
	in.Edge(graph.Start, "double")
	sub, err := in.Compile(graph.Options{})
	require.NoError(t, err)
	build := func(private ...state.Handle) (*graph.Graph, error) {
		b := graph.New("out", outer, total)
		b.SubgraphWith("in", sub, graph.SubgraphOptions{
			Private: private,
			Input: func(parent state.View) (state.Update, error) {
				return state.Update{inner.Put(len(outer.Get(parent)))}, nil
			},
			Output: func(_, sub state.View) (state.Update, error) {
				return state.Update{total.Put(inner.Get(sub)), outer.Put("done")}, nil
			},
		})
		b.Edge(graph.Start, "in")
		return b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	}
	_, err = build()
	require.ErrorContains(t, err, `each have a channel "notes" of their own`)
	for _, private := range []state.Handle{outer, inner} {
		g, err := build(private)
		require.NoError(t, err)
		snap, err := g.Thread("1").Invoke(t.Context(), outer.Put("a"), outer.Put("b"))
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b", "done"}, outer.Get(snap))
		assert.Equal(t, 4, total.Get(snap))
	}
}
