package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// update updates the thread and fails the test on an error.
func update(t testing.TB, th *graph.Thread, node string, writes ...state.Write) *graph.Snapshot {
	t.Helper()
	s, err := th.Update(t.Context(), node, writes...)
	require.NoError(t, err)
	return s
}

// TestUpdateSchedulesSuccessors proves that an update schedules the successors of its
// nodes.
func TestUpdateSchedulesSuccessors(t *testing.T) {
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
			require.NoError(t, err, name)
			for _, at := range []*graph.Snapshot{snap, snapshot(t, th)} {
				require.Equal(t, strings.Join(c.next, " "), strings.Join(at.Next, " "), name)
				require.Equal(t, c.end[:len(updates)], trail.Get(at))
				require.Equal(t, checkpoint.Edited, at.Source, name)
				require.Zero(t, at.Step, name)
			}
			require.Equal(t, c.end, trail.Get(done(t, th)))
		}
	})
}

// TestUpdateWithoutNode proves that an update without a node is applied on behalf of the
// node that ran last, that it is ambiguous after several nodes, and that an update with an
// error is not stored.
func TestUpdateWithoutNode(t *testing.T) {
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
		require.Len(t, history(t, th, graph.HistoryQuery{}), 6, "a refused update must not be stored")
	})
}

// TestUpdateOfPausedThread proves that an update of an unfinished superstep keeps the
// results of its finished tasks and drops its questions.
func TestUpdateOfPausedThread(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := processGraph(t, "parallel", s, func(string) {})
		th := g.Thread("t")
		snap := invoke(t, th, note.Put("go"))
		_, ids, err := questions(snap)
		require.NoError(t, err)
		_, _, err = answered(t.Context(), th, "b")
		require.NoError(t, err)
		snap = update(t, th, "a", trail.Put("a by hand"))
		require.Equal(t, []string{"b=yes b", "c", "a by hand"}, trail.Get(snap))
		require.Empty(t, snap.Next)
		_, err = th.Invoke(t.Context(), ask.Answer(ids["d"], "late"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)
		// The paused checkpoint did not change.
		first := th.At(snap.Parent)
		require.Empty(t, trail.Get(snapshot(t, first)))
		open, _, err := questions(invoke(t, first))
		require.NoError(t, err)
		require.Len(t, open, 3)
	})
}

// TestUpdateBesideRunFails proves that an update fails while a run holds the thread.
func TestUpdateBesideRunFails(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := processGraph(t, "parallel", s, func(string) {})
		invoke(t, g.Thread("t"), note.Put("go"))
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

// TestUpdateMaySendAndGoto proves that an update may contain Send and Goto to the declared
// targets of its node, and that the branches of the node see its writes.
func TestUpdateMaySendAndGoto(t *testing.T) {
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

// TestUpdateWithoutNodeOfPausedThread proves that in an unfinished superstep, an update
// without a node is applied on behalf of the only finished task.
func TestUpdateWithoutNodeOfPausedThread(t *testing.T) {
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
				require.NotEmpty(t, invoke(t, th, note.Put("go")).Pauses)
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

// TestUpdateMakesSentTasksAgain proves that an update with the node "" makes the due tasks of a Send again, from the edited
// state, and that an edit by writes with Continue does not change these tasks.
func TestUpdateMakesSentTasksAgain(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for name, c := range map[string]struct {
			edit func(*testing.T, *graph.Thread) *graph.Snapshot
			want string
		}{
			"update": {func(t *testing.T, th *graph.Thread) *graph.Snapshot {
				_, err := th.Update(t.Context(), "", note.Put("new"))
				require.NoError(t, err)
				return done(t, th)
			}, "sent new"},
			"continue": {func(t *testing.T, th *graph.Thread) *graph.Snapshot {
				return done(t, th, graph.Continue(), note.Put("new"))
			}, "sent old"},
		} {
			g := build(t, s, func(b *graph.Builder) {
				b.Node("plan", func(context.Context, state.View) (state.Update, error) { return state.Update{note.Put("old")}, nil })
				b.Node("work", func(_ context.Context, v state.View) (state.Update, error) {
					return state.Update{trail.Put("sent " + note.Get(v))}, nil
				})
				b.Edge(graph.Start, "plan")
				b.BranchMany("plan", func(v state.View) (state.Update, error) {
					return state.Update{graph.Send("work", note.Put(note.Get(v)))}, nil
				}, "work")
			})
			th := g.Thread(name).With(graph.RunOptions{PauseBefore: []string{"work"}})
			invoke(t, th, graph.Begin())
			snap := c.edit(t, g.Thread(name))
			require.Equal(t, []string{c.want}, trail.Get(snap), name)
			require.Equal(t, "new", note.Get(snap), name)
		}
	})
}
