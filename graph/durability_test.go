package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestDurabilityModesStoreCheckpoints proves how many checkpoints a run stores in each
// mode, and how many of them are in the store when each superstep begins.
func TestDurabilityModesStoreCheckpoints(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for mode, want := range map[graph.Durability]int{graph.Sync: 5, graph.Async: 5, graph.Exit: 1} {
			id := mode.String()
			var seen []int
			g := build(t, s, func(b *graph.Builder) {
				b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
					n := 0
					for _, err := range s.List(ctx, checkpoint.Query{Thread: id}) {
						if err != nil {
							return nil, err
						}
						n++
					}
					seen = append(seen, n)
					return state.Update{total.Put(1)}, nil
				})
				b.Edge(graph.Start, "n")
				b.Branch("n", func(v state.View) (string, error) {
					if total.Get(v) < 4 {
						return "n", nil
					}
					return graph.End, nil
				}, "n", graph.End)
			})
			th := in(g.Thread(id), mode)
			snap := done(t, th, note.Put("go"))
			all := history(t, th, graph.HistoryQuery{})
			require.Len(t, all, want, mode)
			require.Equal(t, snap.ID, all[want-1].ID, mode)
			require.Equal(t, 4, total.Get(snapshot(t, th)), mode)
			require.Len(t, seen, 4)
			for i, n := range seen {
				switch mode {
				case graph.Sync:
					require.Equal(t, i+1, n, "checkpoints that superstep %d finds in mode %v", i, mode)
				case graph.Async: // the last checkpoint may not be stored yet
					require.Contains(t, []int{i, i + 1}, n, "checkpoints that superstep %d finds in mode %v", i, mode)
				case graph.Exit:
					require.Zero(t, n, "checkpoints that superstep %d finds in mode %v", i, mode)
				}
			}
		}
	})
}

// TestExitStoresFinishedTasksAtPause proves that a run in mode Exit which pauses stores
// the results of its finished tasks in one checkpoint.
func TestExitStoresFinishedTasksAtPause(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := in(processGraph(t, "nested", s, func(string) {}).Thread("t"), graph.Exit)
		snap := invoke(t, th, note.Put("go"))
		require.Len(t, snap.Pauses, 2)
		require.Len(t, history(t, th, graph.HistoryQuery{}), 1)
		_, _, err := answered(t.Context(), th, "3a")
		require.NoError(t, err)
		require.Len(t, history(t, th, graph.HistoryQuery{}), 1)
		_, snap, err = answered(t.Context(), th, "3b")
		require.NoError(t, err)
		require.Equal(t, answerCases["nested"].trail, trail.Get(snap))
		require.Len(t, history(t, th, graph.HistoryQuery{}), 2)
	})
}

// TestSyncAndAsyncMakeOneHistory proves that Sync and Async store the same checkpoints.
func TestSyncAndAsyncMakeOneHistory(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		histories := map[graph.Durability][]string{}
		for _, mode := range []graph.Durability{graph.Sync, graph.Async} {
			g, err := crasher(s, 3, func(string, string, string) {})
			require.NoError(t, err)
			th := in(g.Thread(mode.String()), mode)
			done(t, th, note.Put("go"))
			for _, info := range history(t, th, graph.HistoryQuery{}) {
				line := fmt.Sprint(info.Step, info.Source, info.Next, trail.Get(snapshot(t, th.At(info.ID))))
				histories[mode] = append(histories[mode], line)
			}
		}
		require.NotEmpty(t, histories[graph.Sync])
		assert.Equal(t, histories[graph.Sync], histories[graph.Async])
	})
}
