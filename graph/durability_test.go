package graph_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestDurability: what is stored when, in each mode.
func TestDurability(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		seen := map[graph.Durability][]int{}
		for _, mode := range modes {
			id := mode.String()
			g := build(t, s, func(b *graph.Builder) {
				b.Node("n", func(_ context.Context, v state.View) (state.Update, error) {
					n := 0
					for _, err := range s.List(t.Context(), checkpoint.Query{Thread: id}) {
						if err != nil {
							return nil, err
						}
						n++
					}
					seen[mode] = append(seen[mode], n)
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
			want := map[graph.Durability]int{graph.Sync: 5, graph.Async: 5, graph.Exit: 1}[mode]
			if len(all) != want || all[len(all)-1].ID != snap.ID || total.Get(snapshot(t, th)) != 4 {
				t.Fatalf("%v: got %d checkpoints, want %d", mode, len(all), want)
			}
			for i, n := range seen[mode] {
				// The step i sees i+1 checkpoints stored; under Async the last may
				// be on its way.
				ok := n == i+1
				switch mode {
				case graph.Async:
					ok = n == i+1 || n == i
				case graph.Exit:
					ok = n == 0
				}
				if !ok {
					t.Fatalf("%v: step %d saw %d checkpoints", mode, i, n)
				}
			}
		}
	})
}

// TestExitPauses: under Exit a pause, and a failure, store what finished.
func TestExitPauses(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := in(processGraph(t, "nested", s, func(string) {}).Thread("t"), graph.Exit)
		snap := invoke(t, th, note.Put("go"))
		if n := len(history(t, th, graph.HistoryQuery{})); n != 1 || len(snap.Pauses) != 2 {
			t.Fatalf("got %d checkpoints and pauses %v", n, snap.Pauses)
		}
		if _, _, err := answered(t.Context(), th, "3a"); err != nil {
			t.Fatal(err)
		}
		if n := len(history(t, th, graph.HistoryQuery{})); n != 1 {
			t.Fatalf("got %d checkpoints", n)
		}
		_, snap, err := answered(t.Context(), th, "3b")
		require.NoError(t, err)
		require.Equal(t, answerCases["TestNestedAnswers"].trail, trail.Get(snap))
		if n := len(history(t, th, graph.HistoryQuery{})); n != 2 {
			t.Fatalf("got %d checkpoints", n)
		}
	})
}

// TestModesAgree: Sync and Async make one history of states. That all modes end
// in one state, whatever happens between, is for TestModel and TestP9.
func TestModesAgree(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		want := []string{}
		for _, mode := range []graph.Durability{graph.Sync, graph.Async} {
			g, err := crasher(s, 3, func(string, string, string) {})
			require.NoError(t, err)
			th := in(g.Thread(mode.String()), mode)
			done(t, th, note.Put("go"))
			for i, info := range history(t, th, graph.HistoryQuery{}) {
				got := fmt.Sprint(info.Step, info.Source, info.Next, trail.Get(snapshot(t, th.At(info.ID))))
				if mode == graph.Sync {
					want = append(want, got)
				} else if got != want[i] {
					t.Fatalf("checkpoint %d: got %s, want %s", i, got, want[i])
				}
			}
		}
	})
}
