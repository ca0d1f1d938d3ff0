package graph_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// requireDistinct requires every task to have a key, and no two tasks to have the same.
func requireDistinct(t *testing.T, list []string, want int) {
	t.Helper()
	require.Len(t, list, want)
	seen := map[string]bool{}
	for _, k := range list {
		require.NotEmpty(t, k)
		require.False(t, seen[k], "two tasks have the key %q; all keys: %q", k, list)
		seen[k] = true
	}
}

// payGraph returns a graph with a loop and three sent tasks, each of which runs a
// subgraph. Every task calls record with its key.
func payGraph(t *testing.T, s checkpoint.Store, o graph.Options, record func(string)) *graph.Graph {
	pay := func(ctx context.Context, _ state.View) (state.Update, error) {
		record(graph.IdempotencyKey(ctx))
		return nil, nil
	}
	sub := build(t, nil, func(b *graph.Builder) {
		b.Node("pay", pay)
		b.Node("again", pay)
		chain(b, "pay", "again")
	})
	b := graph.New("pay", trail, total, note, item)
	repeat(b, "loop", 3, func(ctx context.Context, v state.View) (state.Update, error) {
		_, _ = pay(ctx, v)
		return state.Update{graph.Send("sub", item.Put(1)), graph.Send("sub", item.Put(2)), graph.Send("leaf", item.Put(3))}, nil
	})
	b.Edge(graph.Start, "loop")
	b.Subgraph("sub", sub)
	b.Node("leaf", pay)
	b.Destinations("loop", "sub", "leaf")
	o.Checkpoints = s
	return compile(t, b, o)
}

const payTasks = 3 * (1 + 2*2 + 1)

// TestKeysAreDistinct proves that no two tasks of a run have the same key, including tasks
// of subgraphs, with and without a thread.
func TestKeysAreDistinct(t *testing.T) {
	t.Parallel()
	t.Run("without a thread", func(t *testing.T) {
		t.Parallel()
		var k keys
		g := payGraph(t, nil, graph.Options{}, k.add)
		for range 2 { // each run has different keys
			_, err := g.Invoke(t.Context())
			require.NoError(t, err)
		}
		requireDistinct(t, k.take(), 2*payTasks)
	})
	eachMode(t, func(t *testing.T, d graph.Durability) {
		var k keys
		g := payGraph(t, newStore(), graph.Options{Durability: d}, k.add)
		for _, id := range []string{"t", "u"} {
			done(t, g.Thread(id), graph.Begin())
		}
		requireDistinct(t, k.take(), 2*payTasks)
	})
}

// TestBranchesHaveOwnKeys proves that the tasks after a new turn, a fork or an update have
// other keys than the tasks before it.
func TestBranchesHaveOwnKeys(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, d graph.Durability) {
		var k keys
		pay := func(ctx context.Context, _ state.View) (state.Update, error) {
			k.add(graph.IdempotencyKey(ctx))
			return nil, nil
		}
		sub := build(t, nil, func(b *graph.Builder) {
			b.Node("inner", pay)
			b.Edge(graph.Start, "inner")
		})
		g := build(t, newStore(), func(b *graph.Builder) {
			b.Node("first", mark("first"))
			b.Node("pay", pay)
			b.Subgraph("sub", sub)
			chain(b, "first", "pay", "sub")
		})
		th := in(g.Thread("t"), d)
		runs := 0
		ran := func(*graph.Snapshot) { runs++ }
		ran(done(t, th, trail.Put("one")))
		ran(done(t, th, trail.Put("two"))) // a new turn
		var afterFirst string
		for _, info := range history(t, in(g.Thread("t"), d), graph.HistoryQuery{}) {
			if len(info.Next) == 1 && info.Next[0] == "pay" {
				afterFirst = info.ID
			}
		}
		if afterFirst == "" { // Exit stores only the end of each run
			afterFirst = history(t, th, graph.HistoryQuery{})[0].ID
			snap, err := th.At(afterFirst).Update(t.Context(), "first")
			require.NoError(t, err)
			afterFirst = snap.ID
			ran(done(t, th))
		}
		for range 2 { // two forks of one checkpoint
			ran(done(t, th.At(afterFirst)))
		}
		for range 2 { // two updates of the newest checkpoint
			_, err := th.Update(t.Context(), "first")
			require.NoError(t, err)
			ran(done(t, th))
		}
		_, err := th.At(afterFirst).Update(t.Context(), "first")
		require.NoError(t, err)
		ran(done(t, th))
		requireDistinct(t, k.take(), 2*runs)
	})
}

// TestKeysSurviveCrash proves that a task which runs again after a crash has the same key,
// in whichever superstep the process crashed.
func TestKeysSurviveCrash(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, d graph.Durability) {
		for _, nested := range []bool{false, true} {
			for dies := range 6 {
				t.Run(fmt.Sprintf("nested %v, dies at %d", nested, dies), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { keysAfterACrash(t, d, nested, dies) })
				})
			}
		}
	})
}

func keysAfterACrash(t *testing.T, d graph.Durability, nested bool, dies int) {
	s := &dyingStore{Store: newStore()}
	var (
		ran      int
		byPlace  = map[string]string{}
		reruns   int
		distinct = map[string]bool{}
	)
	pay := func(ctx context.Context, _ state.View) (state.Update, error) {
		at, _ := graph.FromContext(ctx)
		place, key := at.Path+"/"+at.Task, graph.IdempotencyKey(ctx)
		if before, again := byPlace[place]; again {
			reruns++
			require.Equal(t, before, key, "the key of %s", place)
		}
		byPlace[place], distinct[key] = key, true
		if ran == dies {
			s.dead.Store(true)
		}
		ran++
		return state.Update{trail.Put(at.Task)}, nil
	}
	fill := func(b *graph.Builder) {
		for _, name := range []string{"a", "b", "c"} {
			b.Node(name, pay)
		}
		chain(b, "a", "b", "c")
	}
	g := build(t, s, fill)
	if nested {
		sub := g
		g = build(t, s, func(b *graph.Builder) {
			b.Node("first", pay)
			b.Subgraph("sub", sub)
			b.Node("last", pay)
			chain(b, "first", "sub", "last")
		})
	}
	th := in(g.Thread("t"), d)
	// Store the input only: the run pauses before its first superstep.
	stop := g.Thread("t").With(graph.RunOptions{PauseBefore: []string{graph.AllNodes}})
	_, err := stop.Invoke(t.Context(), trail.Put("in"))
	require.NoError(t, err)
	_, err = th.Invoke(t.Context())
	if s.dead.Load() {
		require.ErrorIs(t, err, errDead)
	}
	s.dead.Store(false)
	if err != nil {
		done(t, th)
		require.NotZero(t, reruns, "tasks that ran twice")
	}
	require.Len(t, distinct, len(byPlace), "keys of different tasks")
}
