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

// TestThreadWithRemovedDueNodeIsUsable proves that a thread whose due node was removed can
// be read and updated and accepts new input, and that only a run of the node fails.
func TestThreadWithRemovedDueNodeIsUsable(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		old := trailGraph(t, graph.Options{Checkpoints: store, PauseBefore: []string{"b"}}, "a", "b")
		for _, id := range []string{"resume", "input", "update"} {
			invoke(t, old.Thread(id), trail.Put("in"))
		}
		g := trailGraph(t, graph.Options{Checkpoints: store}, "a", "c")
		snap := snapshot(t, g.Thread("resume"))
		assert.Equal(t, []string{"b"}, snap.Next)
		assert.False(t, snap.Done())
		_, err := g.Thread("resume").Invoke(t.Context())
		assert.ErrorIs(t, err, graph.ErrUnknownNode)
		_, err = g.Thread("resume").At(snap.ID).Invoke(t.Context())
		assert.ErrorIs(t, err, graph.ErrUnknownNode, "a fork would lose the due node")
		assert.Equal(t, snap.ID, snapshot(t, g.Thread("resume")).ID, "nothing is stored")
		assert.Equal(t, []string{"in", "a", "b"}, trail.Get(done(t, old.Thread("resume"))))
		done(t, g.Thread("input"), trail.Put("again"))
		update(t, g.Thread("update"), "a")
		assert.Equal(t, []string{"in", "a", "c"}, trail.Get(done(t, g.Thread("update"))))
	})
}

// TestRemovedStoredTargetFailsTheRun proves that a run fails if the stored result of a task
// schedules a node that was removed, and that the result is kept.
func TestRemovedStoredTargetFailsTheRun(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		thread := func(fails bool, target string) *graph.Thread {
			return build(t, store, func(b *graph.Builder) {
				b.Node("a", func(context.Context, state.View) (state.Update, error) {
					return state.Update{trail.Put("a"), graph.Goto(target)}, nil
				})
				b.Node("b", func(context.Context, state.View) (state.Update, error) {
					if fails {
						return nil, errBroken
					}
					return state.Update{trail.Put("b")}, nil
				})
				b.Node(target, mark(target))
				b.Edge(graph.Start, "a")
				b.Edge(graph.Start, "b")
				b.Destinations("a", target)
			}).Thread("t")
		}
		_, err := thread(true, "old").Invoke(t.Context(), trail.Put("in"))
		require.ErrorIs(t, err, errBroken)
		_, err = thread(false, "new").Invoke(t.Context())
		require.ErrorIs(t, err, graph.ErrUnknownNode)
		require.Equal(t, []string{"in", "a", "b", "old"}, trail.Get(done(t, thread(false, "old"))))
	})
}
