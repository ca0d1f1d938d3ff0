package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestNodeFunctionsOutsideNode proves that functions which need the context of a node fail
// or do nothing with any other context.
func TestNodeFunctionsOutsideNode(t *testing.T) {
	t.Parallel()
	_, err := ask.Wait(t.Context(), "?")
	require.ErrorIs(t, err, graph.ErrNotInNode)
	_, err = graph.Once(t.Context(), "k", func(context.Context) (int, error) { return 1, nil })
	require.ErrorIs(t, err, graph.ErrNotInNode)
	_, ok := graph.FromContext(t.Context())
	require.False(t, ok)
	require.Empty(t, graph.IdempotencyKey(t.Context()))
	require.Zero(t, graph.RemainingSteps(t.Context()))
	require.NotPanics(t, func() { graph.Emit(t.Context(), 1) })
}

// TestCompletedNodeLosesItsContext proves that a goroutine which outlives its node no longer
// has the context of a node.
func TestCompletedNodeLosesItsContext(t *testing.T) {
	t.Parallel()
	kept := make(chan context.Context, 1)
	g := single(t, func(ctx context.Context, _ state.View) (state.Update, error) {
		kept <- ctx
		return nil, nil
	})
	for _, err := range g.Stream(t.Context()) {
		require.NoError(t, err)
	}
	ctx := <-kept
	require.NotPanics(t, func() { graph.Emit(ctx, "late") })
	_, ok := graph.FromContext(ctx)
	assert.False(t, ok)
	_, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
	assert.ErrorIs(t, err, graph.ErrNotInNode)
}

// TestWaitNeedsAStore proves that a question fails with ErrNoStore in a graph without a
// store, and in a run without a thread.
func TestWaitNeedsAStore(t *testing.T) {
	t.Parallel()
	fill := func(b *graph.Builder) {
		b.Node("n", asking("n", func(string) {}))
		b.Edge(graph.Start, "n")
	}
	g := build(t, nil, fill)
	_, err := g.Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrNoStore)
	require.ErrorContains(t, err, `node "n"`)
	_, err = g.Thread("t").Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrNoStore)
	_, err = build(t, stores["memory"](t), fill).Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrNoStore)
}
