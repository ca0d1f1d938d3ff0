package graph_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// damagedFirst lists a damaged thread before the others.
type damagedFirst struct{ *memcheckpoint.Store }

func (d damagedFirst) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		if !yield(checkpoint.ThreadInfo{ID: "a-damaged"}, checkpoint.ErrCorrupt) {
			return
		}
		d.Store.ListThreads(ctx, prefix)(yield)
	}
}

// TestADamagedThreadStopsNoLoopOfTheGuides proves that checkThreads and continueThreads, the loops over all threads in
// the guides, do not stop at a thread that cannot be read.
func TestADamagedThreadStopsNoLoopOfTheGuides(t *testing.T) {
	t.Parallel()
	s := damagedFirst{memcheckpoint.New(memcheckpoint.Options{})}
	version := func(second string) *graph.Graph {
		b := graph.New("g", trail)
		for _, node := range []string{"first", second} {
			b.Node(node, func(context.Context, state.View) (state.Update, error) { return state.Update{trail.Put(node)}, nil })
		}
		b.Node("late", func(context.Context, state.View) (state.Update, error) { return nil, nil })
		b.Defer("late")
		b.Edge(graph.Start, "first")
		b.Edge("first", second)
		b.Edge(second, "late")
		return compile(t, b, graph.Options{Checkpoints: s})
	}
	g := version("second")
	for _, id := range []string{"b", "c"} {
		_, err := g.Thread(id).With(graph.RunOptions{MaxSteps: 1}).Invoke(t.Context(), graph.Begin())
		require.ErrorIs(t, err, graph.ErrMaxSteps)
	}

	problems := map[string]error{}
	require.NoError(t, checkThreads(t.Context(), version("renamed"), s, func(thread string, problem error) { problems[thread] = problem }))
	require.Len(t, problems, 3)
	require.ErrorIs(t, problems["a-damaged"], checkpoint.ErrCorrupt)
	require.ErrorIs(t, problems["c"], graph.ErrUnknownNode)

	require.NoError(t, continueThreads(t.Context(), g, s))
	for _, id := range []string{"b", "c"} {
		snap, err := g.Thread(id).Snapshot(t.Context())
		require.NoError(t, err)
		assert.True(t, snap.Done(), id)
		assert.Equal(t, []string{"first", "second"}, trail.Get(snap), id)
	}
}
