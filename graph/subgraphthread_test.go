package graph_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// marks returns a node that appends its name to the trail and increments a private
// channel of the subgraph.
func marks(name string) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put(name), turns.Put(1)}, nil
	}
}

// asker returns a graph that runs node a, then a node that asks a question, then node z.
func asker(t *testing.T) *graph.Graph {
	b := graph.New("asker", trail, turns)
	b.Node("a", marks("a"))
	b.Node("b", marks("b"))
	b.Node("ask", asks("?"))
	b.Node("z", marks("z"))
	chain(b, "a", "b", "ask", "z")
	return compile(t, b, graph.Options{})
}

// nested returns a graph with the graph of asker as a subgraph at the given depth, and
// the ids of the tasks on the path to it.
func nested(t *testing.T, s checkpoint.Store, depth int) (*graph.Graph, []string) {
	g := asker(t)
	var tasks []string
	for i := range depth {
		name := fmt.Sprint("sub", depth-i)
		tasks = append([]string{name}, tasks...)
		b := graph.New("around "+name, trail, note)
		b.Node("before"+name, mark("before"+name))
		b.Subgraph(name, g)
		b.Node("after"+name, mark("after"+name))
		chain(b, "before"+name, name, "after"+name)
		o := graph.Options{}
		if i == depth-1 {
			o.Checkpoints = s
		}
		g = compile(t, b, o)
	}
	return g, tasks
}

// eachDepth runs a test on every store, in every durability mode and at two depths.
func eachDepth(t *testing.T, test func(t *testing.T, th *graph.Thread, sub *graph.SubgraphThread, wrap func(...string) []string)) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			for depth := 1; depth <= 2; depth++ {
				g, tasks := nested(t, s, depth)
				th := in(g.Thread(fmt.Sprint(mode, depth)), mode)
				test(t, th, th.Subgraph(tasks...), func(inner ...string) []string {
					for _, name := range slices.Backward(tasks) {
						inner = slices.Concat([]string{"before" + name}, inner, []string{"after" + name})
					}
					return inner
				})
			}
		}
	})
}

func subSnapshot(t *testing.T, sub *graph.SubgraphThread) *graph.Snapshot {
	t.Helper()
	s, err := sub.Snapshot(t.Context())
	require.NoError(t, err)
	return s
}

func subHistory(t *testing.T, sub *graph.SubgraphThread) []graph.Info {
	t.Helper()
	var out []graph.Info
	for info, err := range sub.History(t.Context(), graph.HistoryQuery{}) {
		require.NoError(t, err)
		out = append(out, info)
	}
	slices.Reverse(out)
	return out
}

// TestSubgraphThreadUpdateReplacesWaitingNode proves that an update can replace the result
// of a node that waits for an answer, and that the thread then resumes after this node.
func TestSubgraphThreadUpdateReplacesWaitingNode(t *testing.T) {
	eachDepth(t, func(t *testing.T, th *graph.Thread, sub *graph.SubgraphThread, wrap func(...string) []string) {
		q := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
		before := subSnapshot(t, sub)
		require.Equal(t, []string{"ask"}, before.Next)
		require.Equal(t, 2, turns.Get(before), "a channel of its own")
		require.Len(t, pending(t, ask, before), 1)

		snap, err := sub.Update(t.Context(), "ask", trail.Put("edited"), turns.Put(10))
		require.NoError(t, err)
		require.Equal(t, []string{"z"}, snap.Next)
		require.Equal(t, 12, turns.Get(snap))
		require.Equal(t, checkpoint.Edited, snap.Source)
		require.Equal(t, snap.Next, subSnapshot(t, sub).Next)
		require.Empty(t, snapshot(t, th).Pauses, "the question is withdrawn")
		_, err = th.Invoke(t.Context(), ask.Answer(q, "late"))
		require.ErrorIs(t, err, graph.ErrNoQuestion)

		require.Equal(t, wrap("a", "b", "edited", "z"), trail.Get(done(t, th)))
	})
}

// TestSubgraphThreadForkResumesAtCheckpoint proves that a fork resumes a subgraph at an
// older checkpoint, that its question then has another id, and that the older branch stays
// in the history.
func TestSubgraphThreadForkResumesAtCheckpoint(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for depth := 1; depth <= 2; depth++ {
			g, tasks := nested(t, s, depth)
			th := g.Thread(fmt.Sprint(depth))
			sub := th.Subgraph(tasks...)
			q := pending(t, ask, invoke(t, th, note.Put("go")))[0].ID
			old := subHistory(t, sub)
			require.Len(t, old, 3, "the input, a and b")
			at := sub.At(old[1].ID)
			require.Equal(t, 1, turns.Get(subSnapshot(t, at)))

			snap, err := at.Fork(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"b"}, snap.Next)
			require.Equal(t, checkpoint.Fork, snap.Source)
			require.Equal(t, old[1].ID, snap.Parent)
			require.Equal(t, old, subHistory(t, sub)[:3])
			require.Equal(t, 1, turns.Get(subSnapshot(t, sub)))

			again := pending(t, ask, invoke(t, th))[0].ID
			require.NotEqual(t, q, again)
			_, err = th.Invoke(t.Context(), ask.Answer(q, "late"))
			require.ErrorIs(t, err, graph.ErrNoQuestion)
			snap = done(t, th, ask.Answer(again, "yes"))
			want := []string{"a", "b", "yes", "z"}
			for _, name := range slices.Backward(tasks) {
				want = slices.Concat([]string{"before" + name}, want, []string{"after" + name})
			}
			require.Equal(t, want, trail.Get(snap), "b ran twice, and counts once")
		}
	})
}

// TestSubgraphThreadUpdateAtCheckpointBranches proves that an update at an older
// checkpoint of a subgraph begins a branch.
func TestSubgraphThreadUpdateAtCheckpointBranches(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g, tasks := nested(t, s, 2)
		th := g.Thread("t")
		sub := th.Subgraph(tasks...)
		invoke(t, th, note.Put("go"))
		first := subHistory(t, sub)[0]
		snap, err := sub.At(first.ID).Update(t.Context(), "ask", trail.Put("instead"))
		require.NoError(t, err)
		require.Equal(t, first.ID, snap.Parent)
		require.Equal(t, []string{"beforesub1", "beforesub2", "instead", "z", "aftersub2", "aftersub1"}, trail.Get(done(t, th)))
	})
}

// TestSubgraphThreadUpdateKeepsFinishedTasks proves that after an update of a subgraph,
// the parent still gets the writes of the finished tasks of the unfinished superstep.
func TestSubgraphThreadUpdateKeepsFinishedTasks(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			b := graph.New("sub", trail, total)
			b.Node("work", func(context.Context, state.View) (state.Update, error) {
				return state.Update{trail.Put("work"), total.Put(5), graph.ToParent(note.Put("from the subgraph")), graph.ToParent(item.Put(7))}, nil
			})
			b.Node("ask", asks("?"))
			b.Node("z", mark("z"))
			b.Edge(graph.Start, "work")
			b.Edge(graph.Start, "ask")
			b.Edge("ask", "z")
			g := build(t, s, func(outer *graph.Builder) {
				outer.Subgraph("sub", compile(t, b, graph.Options{}))
				chain(outer, "sub")
			})
			th := in(g.Thread(mode.String()), mode)
			invoke(t, th, total.Put(1))
			_, err := th.Subgraph("sub").Update(t.Context(), "ask", trail.Put("edited"))
			require.NoError(t, err)
			snap := done(t, th)
			require.Equal(t, []string{"work", "edited", "z"}, trail.Get(snap))
			require.Equal(t, 6, total.Get(snap))
			require.Equal(t, "from the subgraph", note.Get(snap))
			require.Equal(t, 7, item.Get(snap))
		}
	})
}

// TestSubgraphThreadUpdateMayEndSubgraph proves that an update with a Goto to the parent
// ends the subgraph.
func TestSubgraphThreadUpdateMayEndSubgraph(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		b := graph.New("sub", trail)
		b.Node("ask", asks("?"))
		b.Node("z", mark("z"))
		chain(b, "ask", "z")
		g := build(t, s, func(outer *graph.Builder) {
			outer.Subgraph("sub", compile(t, b, graph.Options{}))
			outer.Node("else", mark("else"))
			outer.Destinations("sub", "else")
			chain(outer, "sub")
		})
		invoke(t, g.Thread("t"), note.Put("go"))
		_, err := g.Thread("t").Subgraph("sub").Update(t.Context(), "ask", graph.ToParent(graph.Goto("else")))
		require.NoError(t, err)
		wantTrail(t, done(t, g.Thread("t")), "else")
	})
}

// TestSubgraphThreadBranchesHaveOwnKeys proves that tasks of two branches of a subgraph
// have different idempotency keys, and that a task which runs again keeps its key.
func TestSubgraphThreadBranchesHaveOwnKeys(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var keys []string
		var fail bool
		b := graph.New("sub", trail, turns)
		b.Node("work", func(ctx context.Context, v state.View) (state.Update, error) {
			keys = append(keys, graph.IdempotencyKey(ctx))
			if fail {
				return nil, errBroken
			}
			to := graph.Goto("work")
			if turns.Get(v) == 2 {
				to = graph.Goto("ask")
			}
			return state.Update{turns.Put(1), to}, nil
		})
		b.Destinations("work", "work", "ask")
		b.Node("ask", asks("?"))
		chain(b, "work")
		g := build(t, s, func(outer *graph.Builder) {
			outer.Subgraph("sub", compile(t, b, graph.Options{}))
			chain(outer, "sub")
		})
		th := g.Thread("t")
		invoke(t, th, note.Put("go"))
		require.Len(t, keys, 3)
		sub := th.Subgraph("sub")
		_, err := sub.At(subHistory(t, sub)[0].ID).Fork(t.Context())
		require.NoError(t, err)
		fail = true
		for range 2 {
			_, err = th.Invoke(t.Context())
			require.ErrorIs(t, err, errBroken)
		}
		fail = false
		invoke(t, th)
		require.Equal(t, keys[3], keys[4])
		require.Equal(t, keys[3], keys[5])
		slices.Sort(keys)
		require.Len(t, slices.Compact(keys), 6)
	})
}

// TestSubgraphThreadIsOnCurrentCall proves that the handle on a persistent subgraph
// refers to the current call, and cannot edit the checkpoints of earlier calls.
func TestSubgraphThreadIsOnCurrentCall(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := build(t, s, func(b *graph.Builder) {
			b.SubgraphWith("sub", asker(t), graph.SubgraphOptions{Persist: "kept"})
			chain(b, "sub")
		})
		th := g.Thread("t")
		sub := th.Subgraph("sub")
		q := pending(t, ask, invoke(t, th, note.Put("one")))[0].ID
		first := subSnapshot(t, sub)
		done(t, th, ask.Answer(q, "yes"))

		before := th.With(graph.RunOptions{PauseBefore: []string{"sub"}})
		invoke(t, before, note.Put("two"))
		_, err := sub.Snapshot(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)
		require.ErrorContains(t, err, `the subgraph of task "sub" has not begun`)
		_, err = sub.Update(t.Context(), "ask", trail.Put("x"))
		require.ErrorIs(t, err, checkpoint.ErrNotFound)

		invoke(t, th)
		snap := subSnapshot(t, sub)
		require.Equal(t, 5, turns.Get(snap), "three of the first call, two of this one")
		for _, edit := range []func() (*graph.Snapshot, error){
			func() (*graph.Snapshot, error) { return sub.At(first.ID).Snapshot(t.Context()) },
			func() (*graph.Snapshot, error) { return sub.At(first.ID).Fork(t.Context()) },
			func() (*graph.Snapshot, error) { return sub.At(first.ID).Update(t.Context(), "ask") },
		} {
			_, err := edit()
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
			require.ErrorContains(t, err, first.ID)
			require.ErrorContains(t, err, "an earlier call")
		}
		_, err = sub.Update(t.Context(), "ask", trail.Put("edited"))
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "yes", "z", "a", "b", "edited", "z"}, trail.Get(done(t, th)))
	})
}

// TestSubgraphThreadErrorsNameThreadAndTask proves that the errors of a SubgraphThread
// name the thread and the task, and say what to do.
func TestSubgraphThreadErrorsNameThreadAndTask(t *testing.T) {
	t.Parallel()
	s := memcheckpoint.New(memcheckpoint.Options{})
	g := build(t, s, func(b *graph.Builder) {
		b.Subgraph("sub", asker(t))
		b.Subgraph("quick", called(t))
		b.Node("plain", asks("!"))
		for _, n := range []string{"sub", "quick", "plain"} {
			b.Edge(graph.Start, n)
		}
	})
	th := g.Thread("t")
	snap := invoke(t, th, note.Put("go"))
	noStore := build(t, nil, func(b *graph.Builder) {
		b.Subgraph("sub", asker(t))
		chain(b, "sub")
	})
	notFound := checkpoint.ErrNotFound
	for name, c := range map[string]struct {
		sub  *graph.SubgraphThread
		is   error
		text string
	}{
		"no task":        {th.Subgraph(), checkpoint.ErrInvalid, "Subgraph was called without a task id"},
		"unknown task":   {th.Subgraph("sbu"), notFound, `graph "test" has no due task "sbu"; the due tasks that run subgraphs are`},
		"no subgraph":    {th.Subgraph("plain"), notFound, `task "plain" runs no subgraph`},
		"finished":       {th.Subgraph("quick"), notFound, `task "quick" has finished`},
		"inner":          {th.Subgraph("sub", "ask"), notFound, `task "ask" runs no subgraph`},
		"inner unknown":  {th.Subgraph("sub", "nobody"), notFound, `graph "asker" has no due task "nobody"; the due tasks that run subgraphs are []`},
		"unknown thread": {g.Thread("other").Subgraph("sub"), notFound, `thread "other"`},
		"no such at":     {th.Subgraph("sub").At("01"), notFound, `checkpoint 01 of the subgraph of task "sub"`},
		"parent's at":    {th.Subgraph("sub").At(snap.ID), notFound, snap.ID},
		"thread at":      {th.At(snap.ID).Subgraph("sub"), checkpoint.ErrInvalid, "the handle of the thread is at checkpoint " + snap.ID},
		"no store":       {noStore.Thread("t").Subgraph("sub"), graph.ErrNoStore, "Options.Checkpoints"},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: an update holds the lease of the thread
			_, err := c.sub.Snapshot(t.Context())
			errs := []error{err}
			_, err = c.sub.Update(t.Context(), "ask", trail.Put("x"))
			errs = append(errs, err)
			if name == "thread at" || name == "no such at" || name == "parent's at" {
				_, err = c.sub.At("01").Fork(t.Context())
				require.ErrorIs(t, err, c.is)
			} else {
				_, err = c.sub.At("01").Fork(t.Context())
				errs = append(errs, err)
				for _, err := range c.sub.History(t.Context(), graph.HistoryQuery{}) {
					errs = append(errs, err)
				}
			}
			for _, err := range errs {
				require.ErrorIs(t, err, c.is)
				require.ErrorContains(t, err, c.text)
				var re *graph.RunError
				require.ErrorAs(t, err, &re)
			}
		})
	}
	_, err := th.Subgraph("sub").Fork(t.Context())
	require.ErrorContains(t, err, "use At")
	_, err = th.Subgraph("sub").Update(t.Context(), "nobody")
	require.ErrorIs(t, err, graph.ErrUnknownNode)
	_, err = th.Subgraph("sub").Update(t.Context(), "ask", note.Put("of the parent"))
	require.ErrorIs(t, err, state.ErrUnknownChannel)
	require.Len(t, snapshot(t, th).Pauses, 2, "what failed changed nothing")
}

// TestSubgraphThreadUpdateAppliesConflictPolicy proves that an update of a subgraph
// applies the conflict policy while a run holds the thread.
func TestSubgraphThreadUpdateAppliesConflictPolicy(t *testing.T) {
	t.Parallel()
	entered, release := make(chan struct{}), make(chan struct{})
	b := graph.New("sub", trail)
	b.Node("hold", func(context.Context, state.View) (state.Update, error) {
		close(entered)
		<-release
		return nil, nil
	})
	b.Node("ask", asks("?"))
	chain(b, "hold", "ask")
	g := build(t, memcheckpoint.New(memcheckpoint.Options{}), func(outer *graph.Builder) {
		outer.Subgraph("sub", compile(t, b, graph.Options{}))
		chain(outer, "sub")
	})
	held := run(t, g.Thread("t"), note.Put("go"))
	<-entered
	_, err := g.Thread("t").Subgraph("sub").Update(t.Context(), "ask", trail.Put("x"))
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	edited := make(chan error, 1)
	go func() {
		_, err := with(&gated{Graph: g}, "t", graph.ConflictWait).Subgraph("sub").Update(t.Context(), "ask", trail.Put("x"))
		edited <- err
	}()
	close(release)
	require.NoError(t, (<-held).err)
	require.NoError(t, <-edited)
	wantTrail(t, done(t, g.Thread("t")), "x")
}
