package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// TestForkLeavesEarlierBranchUnchanged proves that a run, an update and input at an
// earlier checkpoint each make a branch, and that the earlier branch can still be read
// and resumed.
func TestForkLeavesEarlierBranchUnchanged(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := diamond(t, s).Thread("t")
		done(t, th, trail.Put("in"))
		main := history(t, th, graph.HistoryQuery{})
		require.Len(t, main, 4)
		// Run again from the checkpoint after node a.
		require.Equal(t, []string{"in", "a", "b", "c", "d"}, trail.Get(done(t, th.At(main[1].ID))))
		// Update the checkpoint after node a, and resume.
		edit := update(t, th.At(main[1].ID), "a", trail.Put("edit"))
		require.Equal(t, main[1].ID, edit.Parent)
		require.Equal(t, main[1].Step+1, edit.Step)
		require.Equal(t, []string{"in", "a", "edit", "b", "c", "d"}, trail.Get(done(t, th)))
		// Begin a new turn at the first checkpoint.
		require.Equal(t, []string{"in", "turn", "a", "b", "c", "d"}, trail.Get(done(t, th.At(main[0].ID), trail.Put("turn"))))
		// Resume the first checkpoint with a write.
		require.Equal(t, []string{"in", "more", "a", "b", "c", "d"}, trail.Get(done(t, th.At(main[0].ID), trail.Put("more"), graph.Continue())))
		all := history(t, th, graph.HistoryQuery{})
		require.Equal(t, main, all[:4], "the first branch")
		var sources []checkpoint.Source
		for _, info := range all[4:] {
			sources = append(sources, info.Source)
		}
		require.Equal(t, "[fork loop loop update loop loop input loop loop loop fork loop loop loop]", fmt.Sprint(sources))
		for i, want := range [][]string{{"in"}, {"in", "a"}, {"in", "a", "b", "c"}, {"in", "a", "b", "c", "d"}} {
			require.Equal(t, want, trail.Get(snapshot(t, th.At(main[i].ID))))
		}
		// A run at the end of the first branch makes that branch the newest again.
		require.Equal(t, []string{"in", "a", "b", "c", "d"}, trail.Get(done(t, th.At(main[3].ID))))
		require.Equal(t, []string{"in", "a", "b", "c", "d"}, trail.Get(snapshot(t, th)))
		_, err := th.At("nobody").Invoke(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
		_, err = th.At("nobody").Snapshot(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
	})
}

// TestHistoryFilters proves which checkpoints each filter of a history selects.
func TestHistoryFilters(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := diamond(t, s)
		th := g.Thread("t")
		done(t, th.With(graph.RunOptions{Metadata: map[string]string{"user": "ann", "kind": "x"}}), note.Put("one"))
		done(t, th.With(graph.RunOptions{Metadata: map[string]string{"user": "bob"}}), note.Put("two"))
		update(t, th.With(graph.RunOptions{Metadata: map[string]string{"user": "ann"}}), "a", note.Put("three"))
		all := history(t, th, graph.HistoryQuery{})
		steps := func(q graph.HistoryQuery) string {
			var out []int
			for _, info := range history(t, th, q) {
				out = append(out, info.Step)
			}
			return fmt.Sprint(out)
		}
		for want, q := range map[string]graph.HistoryQuery{
			"[0 1 2 3 4 5 6 7 8]": {},
			"[6 7 8]":             {Limit: 3},
			"[0 1 2]":             {Before: all[3].ID},
			"[1 2]":               {Before: all[3].ID, Limit: 2},
			"[0 4]":               {Source: checkpoint.Input},
			"[8]":                 {Source: checkpoint.Edited},
			"[0 1 2 3 8]":         {Metadata: map[string]string{"user": "ann"}},
			"[0 1 2 3]":           {Metadata: map[string]string{"user": "ann", "kind": "x"}},
			"[4 5 6 7]":           {Run: all[4].Run},
			"[5 6]":               {Run: all[4].Run, Source: checkpoint.Loop, Before: all[7].ID},
			"[]":                  {Metadata: map[string]string{"user": "eve"}},
		} {
			assert.Equal(t, want, steps(q), "%+v", q)
		}
		require.Equal(t, all[0].Run, all[3].Run)
		require.NotEqual(t, all[0].Run, all[4].Run)
		require.Equal(t, "ann", all[0].Metadata["user"])
		for _, err := range th.History(t.Context(), graph.HistoryQuery{Before: "nobody"}) {
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
		}
	})
}

// TestDeleteRemovesOneThread proves that Delete removes only the checkpoints of its
// thread, can be repeated, and that the thread can then begin again.
func TestDeleteRemovesOneThread(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := diamond(t, s)
		th, other := g.Thread("t"), g.Thread("other")
		done(t, th, note.Put("one"))
		done(t, other, note.Put("stays"))
		for range 2 {
			require.NoError(t, th.Delete(t.Context()))
		}
		_, err := th.Snapshot(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
		require.Empty(t, history(t, th, graph.HistoryQuery{}))
		require.Len(t, history(t, other, graph.HistoryQuery{}), 4)
		_, err = th.Invoke(t.Context())
		require.ErrorIs(t, err, graph.ErrNoInput)
		require.Equal(t, []string{"a", "b", "c", "d"}, trail.Get(done(t, th, note.Put("again"))))
		_, err = g.Thread("").Invoke(t.Context(), note.Put("x"))
		require.ErrorIs(t, err, checkpoint.ErrInvalid)
	})
}

// TestDeleteAtACheckpointFails proves that a handle on one checkpoint cannot delete the
// thread.
func TestDeleteAtACheckpointFails(t *testing.T) {
	t.Parallel()
	th := trailGraph(t, graph.Options{Checkpoints: stores["memory"](t)}, "a").Thread("t")
	snap := done(t, th, trail.Put("in"))
	require.ErrorIs(t, th.At(snap.ID).Delete(t.Context()), checkpoint.ErrInvalid)
	snapshot(t, th)
}
