package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// elsewhere returns an executor that takes every node and calls the function.
func elsewhere(execute func(context.Context, []graph.TaskSet) error) *graph.Executor {
	return &graph.Executor{Execute: execute}
}

// TestExecutorWithoutOutcomeFailsTheTask proves that a task fails if the executor returns without
// an outcome, and that the next run can run it.
func TestExecutorWithoutOutcomeFailsTheTask(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	b := graph.New("lost", trail)
	b.Node("one", mark("one"))
	chain(b, "one")
	g := compile(t, b, graph.Options{Checkpoints: store, Executor: elsewhere(func(context.Context, []graph.TaskSet) error { return nil })})
	_, err := g.Thread("t").Invoke(t.Context(), trail.Put("in"))
	ne, ok := errors.AsType[*graph.NodeError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "one", ne.Task)
	assert.ErrorContains(t, err, "no outcome of the task is stored")

	plain := compile(t, b, graph.Options{Checkpoints: store})
	assert.Equal(t, []string{"in", "one"}, trail.Get(done(t, plain.Thread("t"))))
}

// TestExecutorErrorFailsTheRun proves that the run fails with the error of its executor, and that
// the results of other tasks of the superstep are kept.
func TestExecutorErrorFailsTheRun(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	b := graph.New("away", trail)
	b.Node("far", mark("far"))
	b.Node("near", mark("near"))
	chain(b, "far")
	chain(b, "near")
	g := compile(t, b, graph.Options{Checkpoints: store, Executor: &graph.Executor{
		Takes:   func(node string, due int) bool { return node == "far" && due == 2 },
		Execute: func(context.Context, []graph.TaskSet) error { return errBroken },
	}})
	snap, err := g.Thread("t").Invoke(t.Context(), trail.Put("in"))
	require.ErrorIs(t, err, errBroken)
	require.ErrorContains(t, err, "the executor: ")
	require.Len(t, snap.Tasks, 2)
	assert.False(t, snap.Tasks[0].Finished)
	assert.True(t, snap.Tasks[1].Finished)

	// One task is due now, so the executor does not take it.
	assert.Equal(t, []string{"in", "far", "near"}, trail.Get(done(t, g.Thread("t"))))
}

func TestPanicOfAnExecutorFailsTheRun(t *testing.T) {
	t.Parallel()
	b := graph.New("broken", trail)
	b.Node("one", mark("one"))
	chain(b, "one")
	g := compile(t, b, graph.Options{
		Checkpoints: memcheckpoint.New(memcheckpoint.Options{}),
		Executor:    elsewhere(func(context.Context, []graph.TaskSet) error { panic(errBroken) }),
	})
	_, err := g.Thread("t").Invoke(t.Context(), trail.Put("in"))
	p, ok := errors.AsType[*graph.PanicError](err)
	require.True(t, ok, "%v", err)
	assert.Contains(t, p.Location, "executor_test.go")
	assert.ErrorIs(t, err, errBroken)
}

// TestExecutorNeedsSync proves that runs with another durability fail, and that an executor has no
// effect on runs without a thread.
func TestExecutorNeedsSync(t *testing.T) {
	t.Parallel()
	b := graph.New("modes", trail)
	b.Node("one", mark("one"))
	chain(b, "one")
	g := compile(t, b, graph.Options{
		Checkpoints: memcheckpoint.New(memcheckpoint.Options{}),
		Executor:    elsewhere(func(context.Context, []graph.TaskSet) error { return errBroken }),
	})
	for _, mode := range []graph.Durability{graph.Async, graph.Exit} {
		_, err := g.Thread("t").With(graph.RunOptions{Durability: &mode}).Invoke(t.Context(), trail.Put("in"))
		require.ErrorIs(t, err, checkpoint.ErrInvalid)
		require.ErrorContains(t, err, "needs the durability sync, and this is "+mode.String())
	}
	snap, err := g.Invoke(t.Context(), trail.Put("in"))
	require.NoError(t, err)
	assert.Equal(t, []string{"in", "one"}, trail.Get(snap))
}

func TestRunTasksRefusesInvalidSets(t *testing.T) {
	t.Parallel()
	b := graph.New("g", trail)
	b.Node("one", mark("one"))
	chain(b, "one")
	g := compile(t, b, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	set := graph.TaskSet{Graph: "g", Thread: "t", Checkpoint: "c", Node: "one", Tasks: []string{"one"}}
	for name, c := range map[string]struct {
		change func(*graph.TaskSet)
		want   error
		text   string
	}{
		"another graph":     {func(s *graph.TaskSet) { s.Graph = "h" }, checkpoint.ErrInvalid, `graph "h"`},
		"no thread":         {func(s *graph.TaskSet) { s.Thread = "" }, checkpoint.ErrInvalid, "no id"},
		"no checkpoint":     {func(s *graph.TaskSet) { s.Checkpoint = "" }, checkpoint.ErrInvalid, "needs both"},
		"no tasks":          {func(s *graph.TaskSet) { s.Tasks = nil }, checkpoint.ErrInvalid, "needs both"},
		"an unknown thread": {func(*graph.TaskSet) {}, checkpoint.ErrNotFound, ""},
	} {
		s := set
		c.change(&s)
		err := g.RunTasks(t.Context(), s)
		require.ErrorIs(t, err, c.want, name)
		require.ErrorContains(t, err, c.text, name)
	}
	require.Error(t, (*graph.Graph)(nil).RunTasks(t.Context(), set))
}

// TestStoredResultOfRemoteTask proves that the stored form of a result does not change, and that a
// graph without an executor reads it.
func TestStoredResultOfRemoteTask(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	b := graph.New("g", trail, note)
	b.Node("one", func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put("done"), graph.Goto("two")}, nil
	})
	b.Node("two", mark("two"))
	b.Node("bad", func(context.Context, state.View) (state.Update, error) { return nil, errBroken })
	chain(b, "one")
	chain(b, "bad")
	b.Destinations("one", "two")
	worker := compile(t, b, graph.Options{Checkpoints: store})
	g := compile(t, b, graph.Options{Checkpoints: store, Executor: elsewhere(func(ctx context.Context, sets []graph.TaskSet) error {
		return errors.Join(worker.RunTasks(ctx, sets[0]), worker.RunTasks(ctx, sets[1]))
	})})
	_, err := g.Thread("t").Invoke(t.Context(), note.Put("in"))
	require.Error(t, err)
	c, err := store.Get(t.Context(), checkpoint.Key{Thread: "t"})
	require.NoError(t, err)
	var stored []string
	for _, w := range c.Writes {
		stored = append(stored, strings.Join([]string{w.Task, w.Channel, string(w.Data)}, " "))
	}
	assert.Equal(t, []string{
		`bad $error node "bad": broken`,
		`one $result [{"Channel":"trail","Kind":7,"Data":"WyJkb25lIl0="},{"Channel":"$goto","Kind":128,"Data":"dHdv"}]`,
	}, stored)
	snap := snapshot(t, worker.Thread("t"))
	assert.Equal(t, []string{"done"}, trail.Get(snap))
	assert.Equal(t, []string{"bad"}, snap.Next)
	assert.True(t, snap.Tasks[1].Finished)
}

// TestStoredResultInRemoteSubgraph proves that a worker also stores the result of a task inside a subgraph as one write,
// so that the results of two workers cannot mix.
func TestStoredResultInRemoteSubgraph(t *testing.T) {
	t.Parallel()
	store := memcheckpoint.New(memcheckpoint.Options{})
	in := graph.New("inner", trail)
	in.Node("one", func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put("done"), trail.Put("twice")}, nil
	})
	in.Node("bad", func(context.Context, state.View) (state.Update, error) { return nil, errBroken })
	chain(in, "one")
	chain(in, "bad")
	b := graph.New("g", trail)
	b.Subgraph("sub", compile(t, in, graph.Options{}))
	chain(b, "sub")
	worker := compile(t, b, graph.Options{Checkpoints: store})
	g := compile(t, b, graph.Options{Checkpoints: store, Executor: elsewhere(func(ctx context.Context, sets []graph.TaskSet) error {
		return worker.RunTasks(ctx, sets[0])
	})})
	_, err := g.Thread("t").Invoke(t.Context(), trail.Put("in"))
	require.Error(t, err)
	results := 0
	for c, err := range store.List(t.Context(), checkpoint.Query{Thread: "t", AllNamespaces: true, Writes: true}) {
		require.NoError(t, err)
		for _, w := range c.Writes {
			if w.Task == "one" {
				results++
				assert.Equal(t, "$result", w.Channel)
			}
		}
	}
	assert.Equal(t, 1, results)
}

// TestRefusedStoredResultsRunAgain proves that after a conflict of two writes, later runs do not use the
// results of the superstep, even if one of them was restored from an earlier run. A result that a later run
// stores is used again.
func TestRefusedStoredResultsRunAgain(t *testing.T) {
	t.Parallel()
	var runs counter
	fail, settled := true, false
	b := graph.New("refused", trail, note, total)
	node := func(name string, broken func() bool) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			runs.add(name)
			if broken() {
				return nil, errBroken
			}
			if settled {
				return state.Update{trail.Put(name)}, nil
			}
			return state.Update{note.Put(name)}, nil
		}
	}
	b.Node("a", node("a", func() bool { return false }))
	b.Node("b", node("b", func() bool { return fail }))
	chain(b, "a")
	chain(b, "b")
	th := compile(t, b, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}).Thread("t")
	_, err := th.Invoke(t.Context(), total.Put(1))
	require.ErrorIs(t, err, errBroken)
	fail = false
	_, err = th.Invoke(t.Context())
	require.ErrorIs(t, err, state.ErrConcurrentWrite, "the result of a is restored")
	fail, settled = true, true
	_, err = th.Invoke(t.Context())
	require.ErrorIs(t, err, errBroken)
	fail = false
	assert.Equal(t, []string{"a", "b"}, trail.Get(done(t, th)))
	runs.want(t, "a", 2)
}
