package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// A store that loses the next call of PutWrites.
type forgetful struct {
	checkpoint.Store
	forget bool
}

func (f *forgetful) PutWrites(ctx context.Context, k checkpoint.Key, w []checkpoint.Write) error {
	if f.forget {
		f.forget = false
		return errFault
	}
	return f.Store.PutWrites(ctx, k, w)
}

// TestPauseAfterIsNotSkippedByACrash proves that a run which crashed between a commit
// and the record of the pause after it pauses when it is resumed, once.
func TestPauseAfterIsNotSkippedByACrash(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		store := &forgetful{Store: s, forget: true}
		b := graph.New("test", note, trail)
		b.Node("a", mark("a"))
		b.Node("b", mark("b"))
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		g, err := b.Compile(graph.Options{Checkpoints: store, PauseAfter: []string{"a"}})
		require.NoError(t, err)
		th := g.Thread("t")
		_, err = th.Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, errFault)

		snap, err := th.Invoke(t.Context())
		require.NoError(t, err)
		require.Len(t, snap.Pauses, 1)
		assert.Equal(t, graph.PauseAfter, snap.Pauses[0].Kind)
		snap, err = th.Invoke(t.Context())
		require.NoError(t, err)
		assert.True(t, snap.Done())
		assert.Equal(t, []string{"a", "b"}, trail.Get(snap))
	})
}
