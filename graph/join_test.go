package graph_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestJoinCountsEachSourceOnce proves that a source which completes several times
// before the join fires counts once, as in LangGraph 1.2.
func TestJoinCountsEachSourceOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sends    []string // the sources that run in the first superstep
		again    bool     // whether node a runs once more
		deferred bool
		then     string // the node that the target schedules when it runs for the first time
		want     string
	}{
		"one source twice, last":      {sends: []string{"a", "b", "b"}, then: "a", want: "a b b c a"},
		"one source twice, first":     {sends: []string{"b", "b", "a"}, then: "a", want: "b b a c a"},
		"one source twice, around":    {sends: []string{"b", "a", "b"}, then: "a", want: "b a b c a"},
		"then the source of two":      {sends: []string{"b", "a", "b"}, then: "b", want: "b a b c b"},
		"again before a deferred one": {sends: []string{"a", "b"}, again: true, deferred: true, then: "b", want: "a b a c b"},
		"again beside the target":     {sends: []string{"a", "b"}, again: true, then: "b", want: "a b a c b c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStores(t, func(t *testing.T, store checkpoint.Store) {
				g := build(t, store, func(b *graph.Builder) {
					add := func(name string, goes bool, to string) {
						done := false
						b.Node(name, func(context.Context, state.View) (state.Update, error) {
							u := state.Update{trail.Put(name)}
							if goes && !done {
								done = true
								u = append(u, graph.Goto(to))
							}
							return u, nil
						})
						b.Destinations(name, "a", "b")
					}
					add("a", c.again, "a")
					add("b", false, "")
					add("c", true, c.then)
					b.Join("c", "a", "b")
					if c.deferred {
						b.Defer("c")
					}
					b.BranchMany(graph.Start, func(state.View) (u state.Update, err error) {
						for _, to := range c.sends {
							u = append(u, graph.Send(to))
						}
						return u, nil
					}, "a", "b")
				})
				th := g.Thread("t").With(graph.RunOptions{MaxSteps: 1})
				_, err := th.Invoke(t.Context(), note.Put("go"))
				for range 10 { // one run per superstep, so that the progress of the join is stored
					if err == nil {
						break
					}
					_, err = th.Invoke(t.Context())
				}
				assert.Equal(t, c.want, strings.Join(trail.Get(snapshot(t, th)), " "))
			})
		})
	}
}

// TestJoinToEndSchedulesNothing proves that a join to End schedules no node, and that
// drawings contain it.
func TestJoinToEndSchedulesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		g := build(t, store, func(b *graph.Builder) {
			for _, name := range []string{"a", "b", "c"} {
				b.Node(name, mark(name))
			}
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Edge("b", "c")
			b.Join(graph.End, "a", "c")
		})
		for _, want := range []string{"a b c", "a b c a b c"} { // two turns of one thread
			assert.Equal(t, want, strings.Join(trail.Get(done(t, g.Thread("t"), note.Put("go"))), " "))
		}
		assert.Contains(t, g.Mermaid(), "c ==> ")
	})
}

// TestDeferredNodeWaitsOverTurns proves that a deferred node which is due still runs
// when a new turn begins before the earlier run reaches its end.
func TestDeferredNodeWaitsOverTurns(t *testing.T) {
	eachStore(t, func(t *testing.T, store checkpoint.Store) {
		g := build(t, store, func(b *graph.Builder) {
			for _, name := range []string{"a", "b", "c", "z"} {
				b.Node(name, mark(name))
			}
			b.Branch(graph.Start, func(s state.View) (string, error) {
				if trail.Len(s) == 0 {
					return "a", nil
				}
				return "c", nil
			}, "a", "c")
			b.Edge("a", "b")
			b.Edge("a", "z")
			b.Defer("z")
		})
		th := g.Thread("t")
		_, err := th.With(graph.RunOptions{MaxSteps: 1}).Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, graph.ErrMaxSteps)
		require.Equal(t, []string{"a", "c", "z"}, trail.Get(done(t, th, note.Put("again"))))
		require.Equal(t, []string{"a", "c", "z", "c"}, trail.Get(done(t, th, note.Put("again"))))
	})
}

// TestDeferredNodeRunsLastAndOnce proves that a deferred node runs once, when no other work
// remains, also if each superstep is a separate run.
func TestDeferredNodeRunsLastAndOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := build(t, s, func(b *graph.Builder) {
			for _, n := range []string{"a", "b1", "b2", "b3", "c", "last"} {
				b.Node(n, mark(n))
			}
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b1")
			b.Edge("b1", "b2")
			b.Edge("b2", "b3")
			b.Edge("a", "last")
			b.Edge("b3", "last")
			b.Edge("b2", "c")
			b.Defer("last")
		})
		want := []string{"a", "b1", "b2", "b3", "c", "last"}
		require.Equal(t, want, trail.Get(done(t, g.Thread("t"), note.Put("go"))))
		th := g.Thread("steps").With(graph.RunOptions{MaxSteps: 1})
		_, err := th.Invoke(t.Context(), note.Put("go"))
		for err != nil {
			require.ErrorIs(t, err, graph.ErrMaxSteps)
			_, err = th.Invoke(t.Context())
		}
		require.Equal(t, want, trail.Get(snapshot(t, th)))
	})
}
