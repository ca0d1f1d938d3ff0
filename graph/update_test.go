package graph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// diamond is a, then b and c at once, then d.
func diamond(t testing.TB, s checkpoint.Store) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		for _, n := range []string{"a", "b", "c", "d"} {
			b.Node(n, mark(n))
		}
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("a", "c")
		b.Join("d", "b", "c")
	})
}

func update(t testing.TB, th *graph.Thread, node string, writes ...state.Write) *graph.Snapshot {
	t.Helper()
	s, err := th.Update(t.Context(), node, writes...)
	if err != nil {
		t.Fatalf("update: %v", err)
	}
	return s
}

func wantNext(t testing.TB, s *graph.Snapshot, want ...string) {
	t.Helper()
	if !slices.Equal(s.Next, want) {
		t.Fatalf("got next %q, want %q", s.Next, want)
	}
}

// TestUpdate: what is due after an edit is what follows the node that it stands
// for.
func TestUpdate(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := diamond(t, s)
		cases := map[string]struct {
			nodes []string
			next  []string
			end   []string
		}{
			"node":           {[]string{"a"}, []string{"b", "c"}, []string{"u0", "b", "c", "d"}},
			"half a join":    {[]string{"b"}, nil, []string{"u0"}},
			"a whole join":   {[]string{"b", "c"}, []string{"d"}, []string{"u0", "u1", "d"}},
			"several":        {[]string{"b", "a"}, []string{"b", "c"}, []string{"u0", "u1", "b", "c", "d"}},
			"start":          {[]string{graph.Start}, []string{"a"}, []string{"u0", "a", "b", "c", "d"}},
			"end":            {[]string{graph.End}, nil, []string{"u0"}},
			"a new thread":   {[]string{""}, []string{"a"}, []string{"u0", "a", "b", "c", "d"}},
			"the same twice": {[]string{"a", "a"}, []string{"b", "c"}, []string{"u0", "u1", "b", "c", "d"}},
		}
		for name, c := range cases {
			th := g.Thread(name)
			var updates []graph.NodeUpdate
			for i, n := range c.nodes {
				updates = append(updates, graph.NodeUpdate{Node: n, Update: state.Update{trail.Put(fmt.Sprint("u", i))}})
			}
			snap, err := th.UpdateNodes(t.Context(), updates...)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, at := range []*graph.Snapshot{snap, snapshot(t, th)} {
				require.Equal(t, c.next, at.Next)
				require.Equal(t, c.end[:len(updates)], trail.Get(at))
				if at.Source != checkpoint.Edited || at.Step != 0 {
					t.Fatalf("%s: got %+v", name, at.Info)
				}
			}
			require.Equal(t, c.end, trail.Get(done(t, th)))
		}
	})
}

// TestUpdateInferred: an edit without a node stands for the one that made the
// checkpoint, if there is one.
func TestUpdateInferred(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := diamond(t, s)
		th := g.Thread("t")
		stop := func(steps int) *graph.Thread { return th.With(graph.RunOptions{MaxSteps: steps}) }
		_, err := stop(1).Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, graph.ErrMaxSteps)
		require.Equal(t, []string{"b", "c"}, update(t, th, "", trail.Put("as a")).Next)
		_, err = stop(1).Invoke(t.Context())
		require.ErrorIs(t, err, graph.ErrMaxSteps)
		_, err = th.Update(t.Context(), "", trail.Put("as b or c"))
		require.ErrorIs(t, err, graph.ErrAmbiguous)
		require.ErrorContains(t, err, `"b"`)
		require.ErrorContains(t, err, `"c"`)
		done(t, th)
		require.Empty(t, update(t, th, "", trail.Put("as d")).Next)
		require.Equal(t, []string{"a", "as a", "b", "c", "d", "as d"}, trail.Get(snapshot(t, th)))
		_, err = th.UpdateNodes(t.Context(), graph.NodeUpdate{Node: "a"}, graph.NodeUpdate{})
		require.ErrorIs(t, err, graph.ErrAmbiguous)
		_, err = th.Update(t.Context(), "nobody")
		require.ErrorIs(t, err, graph.ErrUnknownNode)
		_, err = th.Update(t.Context(), "a", graph.Goto("d"))
		require.ErrorIs(t, err, graph.ErrRoute)
		_, err = th.UpdateNodes(t.Context(), graph.NodeUpdate{Node: "a", Update: state.Update{note.Put("x")}}, graph.NodeUpdate{Node: "b", Update: state.Update{note.Put("y")}})
		require.ErrorIs(t, err, state.ErrConcurrentWrite)
		if n := len(history(t, th, graph.HistoryQuery{})); n != 6 {
			t.Fatalf("got %d checkpoints, want 6: what is refused is not stored", n)
		}
	})
}

// TestUpdatePaused: an edit of an unfinished superstep keeps what its tasks did
// and drops what they ask; an edit beside a run is refused.
func TestUpdatePaused(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := processGraph(t, "p2", s, func(string) {})
		th := g.Thread("t")
		snap := invoke(t, th, note.Put("go"))
		_, ids, err := questions(snap)
		require.NoError(t, err)
		if _, _, err := answered(t.Context(), th, "b"); err != nil {
			t.Fatal(err)
		}
		snap = update(t, th, "a", trail.Put("a by hand"))
		require.Equal(t, []string{"b=yes b", "c", "a by hand"}, trail.Get(snap))
		require.Empty(t, snap.Next)
		_, err = th.Invoke(t.Context(), ask.Answer(ids["d"], "late"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
		// Behind the paused checkpoint nothing changed.
		first := th.At(snap.Parent)
		require.Empty(t, trail.Get(snapshot(t, first)))
		if open, _, err := questions(invoke(t, first)); err != nil || len(open) != 3 {
			t.Fatalf("got questions %q, %v", open, err)
		}
		var busy error
		other := build(t, s, func(b *graph.Builder) {
			b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
				_, busy = g.Thread("t").Update(ctx, "a", note.Put("x"))
				return nil, nil
			})
			b.Edge(graph.Start, "n")
		})
		done(t, other.Thread("t"), note.Put("go"))
		require.ErrorIs(t, busy, checkpoint.ErrConflict)
	})
}

// TestUpdateSteers: an edit may send and go where its node may, and branches
// see it.
func TestUpdateSteers(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := build(t, s, func(b *graph.Builder) {
			b.Node("a", mark("a"))
			b.Edge(graph.Start, "a")
			b.Branch("a", choose(note.Get), "left", "right")
			b.Destinations("a", "w")
			b.Node("left", mark("left"))
			b.Node("right", mark("right"))
			b.Node("w", func(_ context.Context, v state.View) (state.Update, error) {
				return state.Update{trail.Put(fmt.Sprint("w", item.Get(v)))}, nil
			})
		})
		th := g.Thread("t")
		snap := update(t, th, "a", note.Put("right"), graph.Send("w", item.Put(1)), graph.Goto("w"), graph.Send("w", item.Put(2)))
		require.Equal(t, []string{"right", "w", "w", "w"}, snap.Next)
		require.Equal(t, []string{"right", "w0", "w1", "w2"}, trail.Get(done(t, th)))
		_, err := th.Update(t.Context(), "a", note.Put("nowhere"))
		require.ErrorIs(t, err, graph.ErrUnknownNode)
	})
}

// TestFork: a run from an earlier checkpoint makes a branch; the abandoned one
// stays readable, and can be gone on with.
func TestFork(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := diamond(t, s).Thread("t")
		done(t, th, trail.Put("in"))
		main := history(t, th, graph.HistoryQuery{})
		if len(main) != 4 {
			t.Fatalf("got %d checkpoints", len(main))
		}
		// Replay from after a.
		require.Equal(t, []string{"in", "a", "b", "c", "d"}, trail.Get(done(t, th.At(main[1].ID))))
		// Edit after a, and go on.
		edit := update(t, th.At(main[1].ID), "a", trail.Put("edit"))
		if edit.Parent != main[1].ID || edit.Step != main[1].Step+1 {
			t.Fatalf("got %+v", edit.Info)
		}
		require.Equal(t, []string{"in", "a", "edit", "b", "c", "d"}, trail.Get(done(t, th)))
		// A new turn from the first checkpoint.
		require.Equal(t, []string{"in", "turn", "a", "b", "c", "d"}, trail.Get(done(t, th.At(main[0].ID), trail.Put("turn"))))
		// Continue with an edit from there.
		require.Equal(t, []string{"in", "more", "a", "b", "c", "d"}, trail.Get(done(t, th.At(main[0].ID), trail.Put("more"), graph.Continue())))
		all := history(t, th, graph.HistoryQuery{})
		if !slices.EqualFunc(all[:4], main, func(a, b graph.Info) bool { return a.ID == b.ID && a.Parent == b.Parent && a.Step == b.Step }) {
			t.Fatal("the first branch changed")
		}
		var sources []checkpoint.Source
		for _, info := range all[4:] {
			sources = append(sources, info.Source)
		}
		if got, want := fmt.Sprint(sources), "[fork loop loop update loop loop input loop loop loop fork loop loop loop]"; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		for i, want := range [][]string{{"in"}, {"in", "a"}, {"in", "a", "b", "c"}, {"in", "a", "b", "c", "d"}} {
			require.Equal(t, want, trail.Get(snapshot(t, th.At(main[i].ID))))
		}
		// The end of the abandoned branch is the head again after a run from it.
		require.Equal(t, []string{"in", "a", "b", "c", "d"}, trail.Get(done(t, th.At(main[3].ID))))
		require.Equal(t, []string{"in", "a", "b", "c", "d"}, trail.Get(snapshot(t, th)))
		_, err := th.At("nobody").Invoke(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
		_, err = th.At("nobody").Snapshot(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
	})
}

// TestHistory: filters, before and limit; and Delete.
func TestHistory(t *testing.T) {
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
			if got := steps(q); got != want {
				t.Errorf("%+v: got %s, want %s", q, got, want)
			}
		}
		if n := len(slices.Compact([]string{all[0].Run, all[3].Run, all[4].Run})); n != 2 || all[0].Metadata["user"] != "ann" {
			t.Fatalf("got %+v", all)
		}
		for _, err := range th.History(t.Context(), graph.HistoryQuery{Before: "nobody"}) {
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
		}
		other := g.Thread("other")
		done(t, other, note.Put("stays"))
		for range 2 {
			require.NoError(t, th.Delete(t.Context()))
		}
		_, err := th.Snapshot(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
		if len(history(t, th, graph.HistoryQuery{})) != 0 || len(history(t, other, graph.HistoryQuery{})) != 4 {
			t.Fatal("Delete removed the wrong thing")
		}
		_, err = th.Invoke(t.Context())
		require.ErrorIs(t, err, graph.ErrNoInput)
		require.Equal(t, []string{"a", "b", "c", "d"}, trail.Get(done(t, th, note.Put("again"))))
		_, err = g.Thread("").Invoke(t.Context(), note.Put("x"))
		require.ErrorIs(t, err, checkpoint.ErrInvalid)
	})
}

// TestDefer: a deferred node waits until nothing else is left, and runs once.
func TestDefer(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := build(t, s, func(b *graph.Builder) {
			for _, n := range []string{"a", "b1", "b2", "b3", "c", "last"} {
				b.Node(n, mark(n))
			}
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b1")
			chainFrom(b, "b1", "b2", "b3")
			b.Edge("a", "last")
			b.Edge("b3", "last")
			b.Edge("b2", "c")
			b.Defer("last")
		})
		want := []string{"a", "b1", "b2", "b3", "c", "last"}
		require.Equal(t, want, trail.Get(done(t, g.Thread("t"), note.Put("go"))))
		// It keeps waiting over runs.
		th := g.Thread("steps").With(graph.RunOptions{MaxSteps: 1})
		_, err := th.Invoke(t.Context(), note.Put("go"))
		for err != nil {
			require.ErrorIs(t, err, graph.ErrMaxSteps)
			_, err = th.Invoke(t.Context())
		}
		require.Equal(t, want, trail.Get(snapshot(t, th)))
	})
}

func chainFrom(b *graph.Builder, names ...string) {
	for i := range len(names) - 1 {
		b.Edge(names[i], names[i+1])
	}
}

// TestUpdateInferredOfPaused: of an unfinished superstep, the node that has finished ran last.
func TestUpdateInferredOfPaused(t *testing.T) {
	t.Parallel()
	for finished, want := range map[string]string{"a": "c", "": "a b", "a a2": ""} {
		t.Run(finished, func(t *testing.T) {
			t.Parallel()
			onStores(t, func(t *testing.T, s checkpoint.Store) {
				g := build(t, s, func(b *graph.Builder) {
					for _, name := range strings.Fields(finished) {
						b.Node(name, mark(name))
						b.Edge(graph.Start, name)
						b.Edge(name, "c")
					}
					if finished == "" {
						b.Node("a", asking("a", func(string) {}))
						b.Edge(graph.Start, "a")
						b.Edge("a", "c")
					}
					b.Node("b", asking("b", func(string) {}))
					b.Edge(graph.Start, "b")
					b.Node("c", mark("c"))
				})
				th := g.Thread("t")
				if snap, err := th.Invoke(t.Context(), note.Put("go")); err != nil || len(snap.Pauses) == 0 {
					t.Fatalf("got %+v, error %v want a question", snap, err)
				}
				if want == "" {
					_, err := th.Update(t.Context(), "", trail.Put("u"))
					require.ErrorIs(t, err, graph.ErrAmbiguous)
					require.ErrorContains(t, err, `"a"`)
					require.ErrorContains(t, err, `"a2"`)
					return
				}
				require.Equal(t, strings.Fields(want), update(t, th, "", trail.Put("u")).Next)
			})
		})
	}
}
