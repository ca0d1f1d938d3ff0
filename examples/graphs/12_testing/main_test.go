package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
)

// docs:begin test
// alone returns a new thread of a graph that has only this node.
func alone(t *testing.T) *graph.Thread {
	b := graph.New("test", Draft, Status)
	b.Node("publish", publish)
	b.Edge(graph.Start, "publish")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g.Thread(t.Name())
}

func TestNothingToPublish(t *testing.T) {
	t.Parallel()
	snap, err := alone(t).Invoke(t.Context(), Draft.Put(" "))
	require.NoError(t, err)
	require.Equal(t, "nothing to publish", Status.Get(snap))
}

func TestRejected(t *testing.T) {
	t.Parallel()
	thread := alone(t)
	snap, err := thread.Invoke(t.Context(), Draft.Put("Tea is old"))
	require.NoError(t, err)
	open, err := Publish.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 1)

	snap, err = thread.Invoke(t.Context(), Publish.Answer(open[0].ID, false))
	require.NoError(t, err)
	require.Equal(t, "rejected", Status.Get(snap))
}

// docs:end
