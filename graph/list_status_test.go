package graph_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestStoresListTheNodesAtWhichGraphsStop proves that in each durability mode, a store lists the nodes
// of the root graph that ask, fail and pause, and does not list a thread that has resumed.
func TestStoresListTheNodesAtWhichGraphsStop(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		inner := build(t, nil, func(b *graph.Builder) {
			b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
				n, err := askItem.Wait(ctx, 1)
				return state.Update{total.Put(n)}, err
			})
			b.Edge(graph.Start, "ask")
		})
		g := build(t, s, func(b *graph.Builder) {
			b.Subgraph("review", inner)
			b.Node("beside", func(_ context.Context, v state.View) (state.Update, error) {
				if note.Get(v) == "fail" {
					return nil, errors.New("no connection")
				}
				return nil, nil
			})
			b.Node("last", mark("last"))
			b.Edge(graph.Start, "review")
			b.Edge(graph.Start, "beside")
			b.Join("last", "review", "beside")
		})
		for _, mode := range modes {
			paused, failed, static := mode.String()+"-paused", mode.String()+"-failed", mode.String()+"-static"
			snap := invoke(t, in(g.Thread(paused), mode), note.Put("go"))
			require.Len(t, snap.Pauses, 1)
			_, err := in(g.Thread(failed), mode).Invoke(t.Context(), note.Put("fail"))
			require.ErrorContains(t, err, "no connection")
			invoke(t, g.Thread(static).With(graph.RunOptions{Durability: &mode, PauseBefore: []string{"beside"}}), note.Put("go"))
			// The failure may end the run before the other task has asked.
			asked := slices.DeleteFunc(statuses(t, s, checkpoint.Paused, mode), func(s string) bool { return s == "review "+failed })
			assert.Equal(t, []string{"beside " + static, "review " + paused}, asked)
			assert.Equal(t, []string{"beside " + failed}, statuses(t, s, checkpoint.Failed, mode))

			done(t, in(g.Thread(paused), mode), askItem.Answer(snap.Pauses[0].ID, 2))
			assert.NotContains(t, statuses(t, s, checkpoint.Paused, mode), "review "+paused)
		}
	})
}

// TestStoresListWhyATaskThatWasRetriedStops proves that if a task asks in one run and fails in another,
// a store lists the task only by its newest outcome, and does not list a failed task while an executor runs
// it again.
func TestStoresListWhyATaskThatWasRetriedStops(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		b := graph.New("test", note)
		failing := false
		b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
			if failing {
				return nil, errBroken
			}
			_, err := askItem.Wait(ctx, 1)
			if err == nil {
				_, err = askItem.WaitKey(ctx, "second", 2)
			}
			return nil, err
		})
		chain(b, "n")
		here := compile(t, b, graph.Options{Checkpoints: s})
		far := compile(t, b, graph.Options{Checkpoints: s, Executor: elsewhere(func(ctx context.Context, sets []graph.TaskSet) error {
			assert.Empty(t, statuses(t, s, checkpoint.Failed, graph.Sync), "while the task is retried")
			return here.RunTasks(ctx, sets[0])
		})})
		for name, g := range map[string]*graph.Graph{"here": here, "far": far} {
			thread := graph.Sync.String() + "-" + name
			want := func(paused, failed bool) {
				t.Helper()
				for status, listed := range map[checkpoint.Status]bool{checkpoint.Paused: paused, checkpoint.Failed: failed} {
					var entries []string
					if listed {
						entries = []string{"n " + thread}
					}
					assert.Equal(t, entries, statuses(t, s, status, graph.Sync), status)
				}
			}
			th := in(g.Thread(thread), graph.Sync)
			snap := invoke(t, th, note.Put("go"))
			require.Len(t, snap.Pauses, 1)
			want(true, false)
			failing = true
			_, err := th.Invoke(t.Context(), askItem.Answer(snap.Pauses[0].ID, 1))
			require.ErrorContains(t, err, errBroken.Error())
			want(false, true)
			failing = false
			snap = invoke(t, th)
			require.Len(t, snap.Pauses, 1)
			want(true, false)
			snap = done(t, th, askItem.Answer(snap.Pauses[0].ID, 2))
			require.True(t, snap.Done())
			want(false, false)
		}
	})
}

// statuses returns the listed nodes and threads of one mode.
func statuses(t *testing.T, s checkpoint.Store, status checkpoint.Status, mode graph.Durability) []string {
	t.Helper()
	var found []string
	for one, err := range s.(checkpoint.StatusLister).ListStatus(t.Context(), checkpoint.StatusQuery{Status: status}) {
		require.NoError(t, err)
		if strings.HasPrefix(one.Thread, mode.String()) {
			found = append(found, one.Node+" "+one.Thread)
		}
	}
	return found
}
