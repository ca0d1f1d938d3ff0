package graph_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestEventOrder: of a long quick run every event comes, and in its order, with a
// reader that is at times slower than the run and at times quicker, and with nodes
// that emit in between.
func TestEventOrder(t *testing.T) {
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
			b := graph.New("quick", total)
			b.Node("count", func(ctx context.Context, s state.View) (state.Update, error) {
				if step := total.Get(s) + 1; emits(step) {
					graph.Emit(ctx, step)
				}
				return state.Update{total.Put(1)}, nil
			})
			b.Edge(graph.Start, "count")
			b.Branch("count", func(s state.View) (string, error) {
				if total.Get(s) == tt.steps {
					return graph.End, nil
				}
				return "count", nil
			}, "count", graph.End)
			g := compile(t, b, graph.Options{Checkpoints: tt.store, MaxSteps: tt.steps + 1})
			events := g.Stream(t.Context())
			if tt.store != nil {
				events = g.Thread("t").Stream(t.Context(), graph.Begin())
			}
			var want, got []string
			step, last := 0, time.Time{}
			for ev, err := range events {
				if err != nil {
					t.Fatal(err)
				}
				at, kind := ev.At(), eventKind(ev)
				if at.Time.Before(last) {
					t.Fatalf("step %d: the time of %T is before that of the event before it", at.Step, ev)
				}
				last = at.Time
				if kind == "" {
					continue
				}
				if kind == "step" {
					if !slices.Equal(got, want) {
						t.Fatalf("step %d: got %q, want %q", step, got, want)
					}
					step++
					got, want = got[:0], append(want[:0], "step", "start", "finish", "state")
					if emits(step) {
						want = slices.Insert(want, 2, "emit")
					}
				}
				if e, ok := ev.(graph.Emitted); ok && e.Value != step {
					t.Fatalf("got %v, want %d", e.Value, step)
				}
				got = append(got, kind)
				if s, ok := ev.(graph.StateChanged); ok && total.Get(s.State) != step {
					t.Fatalf("step %d: got the state of %d", step, total.Get(s.State))
				}
				for range step % 50 * (step / 500 % 2) {
					runtime.Gosched()
				}
			}
			if step != tt.steps || !slices.Equal(got, want) {
				t.Errorf("got %d supersteps, the last %q, want %d, %q", step, got, tt.steps, want)
			}
		})
	}
}

// eventKind is empty for what is not of a superstep.
func eventKind(ev graph.Event) string {
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

// TestManyEventsAtOnce: what the run tells before its first task is read whole, however
// much it is, and may be left in the middle.
func TestManyEventsAtOnce(t *testing.T) {
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
		if _, err := th.Invoke(t.Context(), note.Put("go")); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		read := func(leave int) (kept []int, last int) {
			for ev, err := range th.Stream(t.Context(), graph.Continue()) {
				if err != nil && !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
				if e, ok := ev.(graph.TaskFinished); ok && e.Saved {
					kept = append(kept, len(e.Update))
				}
				if e, ok := ev.(graph.RunEnded); ok {
					last = total.Get(e.Snapshot)
				}
				if len(kept) == leave {
					break
				}
			}
			return kept, last
		}
		read(300)
		fails = false
		if kept, last := read(-1); len(kept) != tasks-1 || last != tasks {
			t.Errorf("got %d kept results, and %d in the end, want %d and %d", len(kept), last, tasks-1, tasks)
		}
	})
}
