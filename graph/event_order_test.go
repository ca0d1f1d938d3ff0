package graph_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestEventsOfAQuickRunAreInOrder proves that a consumer receives every event
// of a long run of quick supersteps, in order, whether it is slower or faster
// than the run.
func TestEventsOfAQuickRunAreInOrder(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		store checkpoint.Store
		steps int
	}{
		"without a thread": {nil, 20_000},
		"in a thread":      {memcheckpoint.New(memcheckpoint.Options{}), 2_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			emits := func(step int) bool { return step%7 == 0 || step%1000 < 20 }
			g := countingGraph(t, tt.store, tt.steps, emits)
			events := g.Stream(t.Context())
			if tt.store != nil {
				events = g.Thread("t").Stream(t.Context(), graph.Begin())
			}
			var want, got []string
			step, last := 0, time.Time{}
			for ev, err := range events {
				require.NoError(t, err)
				at, kind := ev.At(), superstepEvent(ev)
				require.False(t, at.Time.Before(last), "step %d: %T has an earlier time than the event before it", at.Step, ev)
				last = at.Time
				if kind == "" {
					continue
				}
				if kind == "step" {
					require.Equal(t, want, got, "events of superstep %d", step)
					step++
					got, want = []string{}, []string{"step", "start", "finish", "state"}
					if emits(step) {
						want = slices.Insert(want, 2, "emit")
					}
				}
				got = append(got, kind)
				switch ev := ev.(type) {
				case graph.Emitted:
					require.Equal(t, step, ev.Value)
				case graph.StateChanged:
					require.Equal(t, step, total.Get(ev.State))
				}
				// Delay the consumer in every second block of 500 supersteps.
				for range step % 50 * (step / 500 % 2) {
					runtime.Gosched()
				}
			}
			assert.Equal(t, want, got, "events of the last superstep")
			assert.Equal(t, tt.steps, step)
		})
	}
}

// countingGraph builds a graph of one node that runs in the given number of
// supersteps. It emits the number of the superstep if emits returns true.
func countingGraph(t *testing.T, s checkpoint.Store, steps int, emits func(step int) bool) *graph.Graph {
	b := graph.New("quick", total)
	b.Node("count", func(ctx context.Context, s state.View) (state.Update, error) {
		if step := total.Get(s) + 1; emits(step) {
			graph.Emit(ctx, step)
		}
		return state.Update{total.Put(1)}, nil
	})
	b.Edge(graph.Start, "count")
	b.Branch("count", func(s state.View) (string, error) {
		if total.Get(s) == steps {
			return graph.End, nil
		}
		return "count", nil
	}, "count", graph.End)
	return compile(t, b, graph.Options{Checkpoints: s, MaxSteps: steps + 1})
}

// superstepEvent returns a name for the event if it belongs to a superstep, and
// "" for any other event.
func superstepEvent(ev graph.Event) string {
	switch ev.(type) {
	case graph.StepStarted:
		return "step"
	case graph.TaskStarted:
		return "start"
	case graph.Emitted:
		return "emit"
	case graph.TaskFinished:
		return "finish"
	case graph.StateChanged:
		return "state"
	}
	return ""
}

// TestEventsOfSavedResultsAreComplete proves that a resumed run sends an event for each
// saved result before its first task, and that a consumer may leave the loop at any of
// these events.
func TestEventsOfSavedResultsAreComplete(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		const tasks = 1000
		fails := true
		g := build(t, s, func(b *graph.Builder) {
			b.Node("spread", func(context.Context, state.View) (state.Update, error) {
				var sends state.Update
				for i := range tasks {
					sends = append(sends, graph.Send("work", item.Put(i)))
				}
				return sends, nil
			})
			b.Node("work", func(_ context.Context, s state.View) (state.Update, error) {
				if fails && item.Get(s) == tasks-1 {
					return nil, errBroken
				}
				return state.Update{total.Put(1)}, nil
			})
			b.Edge(graph.Start, "spread")
			b.Destinations("spread", "work")
		})
		th := g.Thread("t")
		_, err := th.Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, errBroken)

		saved := 0
		for ev, err := range th.Stream(t.Context(), graph.Continue()) {
			require.NoError(t, err)
			if e, ok := ev.(graph.TaskFinished); ok && e.Saved {
				saved++
			}
			if saved == 300 {
				break
			}
		}
		require.Equal(t, 300, saved)

		fails, saved = false, 0
		var end *graph.Snapshot
		for ev, err := range th.Stream(t.Context(), graph.Continue()) {
			require.NoError(t, err)
			switch e := ev.(type) {
			case graph.TaskFinished:
				if e.Saved {
					saved++
				}
			case graph.RunEnded:
				end = e.Snapshot
			}
		}
		assert.Equal(t, tasks-1, saved, "saved results")
		require.NotNil(t, end)
		assert.Equal(t, tasks, total.Get(end))
	})
}

// TestThreadIsFreeWhenRunEndedArrives proves that a consumer which receives RunEnded can
// start the next run of the thread at once.
func TestThreadIsFreeWhenRunEndedArrives(t *testing.T) {
	t.Parallel()
	g := build(t, memcheckpoint.New(memcheckpoint.Options{}), func(b *graph.Builder) {
		b.Node("a", mark("a"))
		b.Edge(graph.Start, "a")
	})
	for i := range 100 {
		ended := false
		for ev, err := range g.Thread("t").Stream(t.Context(), trail.Put("in")) {
			require.NoError(t, err)
			if _, ended = ev.(graph.RunEnded); !ended {
				continue
			}
			snap, err := g.Thread("t").Invoke(t.Context(), trail.Put("again"))
			require.NoError(t, err, "round %d", i)
			require.Equal(t, 4*(i+1), trail.Len(snap))
			break
		}
		require.True(t, ended, "round %d: no RunEnded", i)
	}
}
