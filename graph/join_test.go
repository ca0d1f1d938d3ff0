package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestJoinCountsOnce: what runs again before the join's target does, counts once,
// as in LangGraph 1.2.
func TestJoinCountsOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sends    []string // to the sources, in one superstep
		again    bool     // a leads to itself once
		deferred bool
		then     string // what the target leads to, the first time
		want     string
	}{
		"twice in one superstep, at the end": {sends: []string{"a", "b", "b"}, then: "a", want: "a b b c a"},
		"at the start":                       {sends: []string{"b", "b", "a"}, then: "a", want: "b b a c a"},
		"around the other":                   {sends: []string{"b", "a", "b"}, then: "a", want: "b a b c a"},
		"the other goes on":                  {sends: []string{"b", "a", "b"}, then: "b", want: "b a b c b"},
		"while the target waits":             {sends: []string{"a", "b"}, again: true, deferred: true, then: "b", want: "a b a c b"},
		"while the target runs":              {sends: []string{"a", "b"}, again: true, then: "b", want: "a b a c b c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStores(t, func(t *testing.T, store checkpoint.Store) {
				g := build(t, store, func(b *graph.Builder) {
					once := func(name string, does bool, to string) {
						done := false
						b.Node(name, func(context.Context, state.View) (state.Update, error) {
							u := state.Update{trail.Put(name)}
							if does && !done {
								done = true
								u = append(u, graph.Goto(to))
							}
							return u, nil
						})
						b.Destinations(name, "a", "b")
					}
					once("a", c.again, "a")
					once("b", false, "")
					once("c", true, c.then)
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
				for range 10 { // each superstep is a run, so that progress is also stored
					if err == nil {
						break
					}
					_, err = th.Invoke(t.Context())
				}
				snap, err := th.Snapshot(t.Context())
				require.NoError(t, err)
				if got := strings.Join(trail.Get(snap), " "); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestJoinToEnd: what leads nowhere together, leads nowhere.
func TestJoinToEnd(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		g := build(t, store, func(b *graph.Builder) {
			for _, name := range []string{"a", "b", "c"} {
				b.Node(name, mark(name))
			}
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Edge("b", "c")
			b.Join(graph.End, "a", "c")
		})
		for _, want := range []string{"a b c", "a b c a b c"} { // on one thread
			if snap := done(t, g.Thread("t"), note.Put("go")); strings.Join(trail.Get(snap), " ") != want {
				t.Errorf("got %q, want %q", trail.Get(snap), want)
			}
		}
		if got, want := g.Mermaid(), "c ==> "; !strings.Contains(got, want) {
			t.Errorf("got %s, want %q in it", got, want)
		}
	})
}

// TestDeferredWaitsOverTurns: what waits for the end of the run is not lost when a turn begins instead.
func TestDeferredWaitsOverTurns(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store checkpoint.Store) {
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
		if _, err := th.With(graph.RunOptions{MaxSteps: 1}).Invoke(t.Context(), note.Put("go")); !errors.Is(err, graph.ErrMaxSteps) {
			t.Fatal(err)
		}
		require.Equal(t, []string{"a", "c", "z"}, trail.Get(done(t, th, note.Put("again"))))
		require.Equal(t, []string{"a", "c", "z", "c"}, trail.Get(done(t, th, note.Put("again"))))
	})
}
