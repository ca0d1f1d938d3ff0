package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// bubbled runs the test once per store. With the store in memory it runs in a synctest
// bubble, which fails if a goroutine is left.
func bubbled(t *testing.T, test func(t *testing.T, s checkpoint.Store, memory bool)) {
	t.Parallel()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "memory" {
				synctest.Test(t, func(t *testing.T) { test(t, open(t), true) })
			} else {
				test(t, open(t), false)
			}
		})
	}
}

// TestCancelledRunKeepsWholeSupersteps cancels runs at random points. It proves that the
// newest checkpoint equals a checkpoint of an uninterrupted run, and that later runs reach
// the same final state.
func TestCancelledRunKeepsWholeSupersteps(t *testing.T) {
	s := seed(t)
	bubbled(t, func(t *testing.T, store checkpoint.Store, memory bool) {
		rounds := 1000
		if !memory {
			rounds = 40
		}
		var after atomic.Int64
		var cancel context.CancelFunc
		g, err := crasher(store, 3, func(string, string, string) {
			if after.Add(-1) == 0 {
				cancel()
			}
		})
		require.NoError(t, err)
		whole, states := g.Thread("whole"), [][]string{}
		done(t, whole, note.Put("go"))
		calls := -after.Load()
		for _, info := range history(t, whole, graph.HistoryQuery{}) {
			states = append(states, trail.Get(snapshot(t, whole.At(info.ID))))
		}
		rng := rand.New(rand.NewPCG(s, 1))
		for round := range rounds {
			th := in(g.Thread(fmt.Sprint(round)), modes[rng.IntN(3)])
			err := context.Canceled
			for first := true; err != nil; first = false {
				require.ErrorIs(t, err, context.Canceled)
				after.Store(1 + rng.Int64N(calls))
				var ctx context.Context
				ctx, cancel = context.WithCancel(t.Context())
				err = runInput(ctx, t, th, first, rng.IntN(2) == 0)
				cancel()
				sameAsOneOf(t, th, states)
			}
			require.Equal(t, states[len(states)-1], trail.Get(snapshot(t, th)))
			require.NoError(t, th.Delete(t.Context()))
		}
	})
}

// runInput runs the thread, with input if it has no checkpoint yet.
func runInput(ctx context.Context, t *testing.T, th *graph.Thread, first, stream bool) (err error) {
	var input []state.Write
	if _, serr := th.Snapshot(t.Context()); first || errors.Is(serr, checkpoint.ErrNotFound) {
		input = append(input, note.Put("go"))
	}
	if !stream {
		_, err = th.Invoke(ctx, input...)
		return err
	}
	for _, e := range th.Stream(ctx, input...) {
		err = e
	}
	return err
}

// sameAsOneOf checks that the trail of the thread's newest checkpoint equals the trail of
// the same step in states.
func sameAsOneOf(t *testing.T, th *graph.Thread, states [][]string) {
	t.Helper()
	for info, err := range th.History(t.Context(), graph.HistoryQuery{Limit: 1}) {
		require.NoError(t, err)
		require.Less(t, info.Step, len(states))
		got := trail.Get(snapshot(t, th.At(info.ID)))
		require.Equal(t, strings.Join(states[info.Step], " "), strings.Join(got, " "), "step %d", info.Step)
	}
}

// TestMixedOutcomesKeepWholeSupersteps runs threads that succeed, fail, panic, pause, are
// cancelled or lose their reader. It proves that no checkpoint contains only part of a
// superstep, and that no goroutine is left.
func TestMixedOutcomesKeepWholeSupersteps(t *testing.T) {
	s := seed(t)
	bubbled(t, func(t *testing.T, store checkpoint.Store, memory bool) {
		runs := 10000
		if !memory {
			runs = 300
		}
		m := &mixed{t: t, rng: rand.New(rand.NewPCG(s, 2))}
		m.g = build(t, store, func(b *graph.Builder) {
			for _, n := range []string{"a", "b", "c"} {
				b.Node(n, m.node(n))
				b.Edge(graph.Start, n)
			}
			b.Join("again", "a", "b", "c")
			b.Node("again", func(_ context.Context, v state.View) (state.Update, error) {
				if total.Get(v)%9 == 0 {
					return nil, nil
				}
				return state.Update{graph.Send("a"), graph.Goto("b"), graph.Goto("c")}, nil
			})
			b.Destinations("again", "a", "b", "c")
		})
		for i := range runs {
			m.run(i)
		}
		t.Logf("%d runs: %v", runs, m.ended.n)
	})
}

type mixed struct {
	t       *testing.T
	rng     *rand.Rand
	g       *graph.Graph
	trouble string // how node "b" ends
	cancel  context.CancelFunc
	ended   counter
}

func (m *mixed) node(name string) graph.NodeFunc {
	return func(ctx context.Context, _ state.View) (state.Update, error) {
		graph.Emit(ctx, name)
		if name == "b" {
			switch m.trouble {
			case "fail":
				return nil, errBroken
			case "panic":
				panic("mixed")
			case "pause":
				_, err := ask.Wait(ctx, "b?")
				return nil, err
			case "cancel":
				m.cancel()
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
		}
		return state.Update{trail.Put(name), total.Put(1)}, nil
	}
}

func (m *mixed) run(i int) {
	m.t.Helper()
	m.trouble = []string{"", "", "fail", "panic", "pause", "cancel"}[m.rng.IntN(6)]
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	m.cancel = cancel
	th := in(m.g.Thread(fmt.Sprint(m.rng.IntN(50))), modes[m.rng.IntN(3)])
	input := []state.Write{note.Put(fmt.Sprint(i))}
	if _, err := th.Snapshot(ctx); err == nil && m.rng.IntN(2) == 0 {
		input = nil
	}
	if m.rng.IntN(4) == 0 {
		require.NoError(m.t, th.Delete(ctx))
		input = []state.Write{note.Put("new")}
	}
	switch m.rng.IntN(3) {
	case 0:
		snap, err := th.Invoke(ctx, input...)
		m.outcome(snap, err)
	case 1:
		var snap *graph.Snapshot
		var err error
		for ev, e := range th.Stream(ctx, input...) {
			if end, ok := ev.(graph.RunEnded); ok {
				snap = end.Snapshot
			}
			err = e
		}
		m.outcome(snap, err)
	case 2:
		left := m.rng.IntN(30)
		for _, err := range th.Stream(ctx, input...) {
			if left--; left < 0 {
				m.ended.add("left early")
				break
			}
			if err != nil {
				m.outcome(nil, err)
			}
		}
	}
	m.whole(th)
}

func (m *mixed) outcome(snap *graph.Snapshot, err error) {
	m.t.Helper()
	switch {
	case err == nil && snap.Done():
		m.ended.add("success")
	case err == nil:
		m.ended.add("pause")
	case errors.Is(err, errBroken) && m.trouble == "fail":
		m.ended.add("failure")
	case errors.Is(err, context.Canceled) && m.trouble == "cancel":
		m.ended.add("cancel")
	default:
		var panicked *graph.PanicError
		require.ErrorAs(m.t, err, &panicked)
		require.Equal(m.t, "panic", m.trouble)
		m.ended.add("panic")
	}
}

// whole checks that the newest checkpoint contains only complete supersteps.
func (m *mixed) whole(th *graph.Thread) {
	m.t.Helper()
	for info, err := range th.History(m.t.Context(), graph.HistoryQuery{Limit: 1}) {
		require.NoError(m.t, err)
		s := snapshot(m.t, th.At(info.ID))
		n := total.Get(s)
		require.Zero(m.t, n%3, "total %d", n)
		require.Len(m.t, trail.Get(s), n)
	}
}
