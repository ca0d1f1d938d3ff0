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
// subgraph. This holds for every durability mode, and when another process resumes the call.
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
