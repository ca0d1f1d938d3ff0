package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// waitingAt returns the ids of the threads that wait at a node.
func waitingAt(t *testing.T, g *graph.Graph, node, prefix string) []string {
	t.Helper()
	var out []string
	for info, err := range g.Waiting(t.Context(), node, prefix) {
		require.NoError(t, err)
		require.Equal(t, snapshot(t, g.Thread(info.Thread)).ID, info.ID, "the newest checkpoint")
		out = append(out, info.Thread)
	}
	return out
}

// TestWaitingFindsUnfinishedThreads proves that a thread waits at the nodes of its
// unfinished tasks and at triggered deferred nodes, and at no other node.
func TestWaitingFindsUnfinishedThreads(t *testing.T) {
	t.Parallel()
	all := map[string]func(t *testing.T) checkpoint.Store{}
	for name, open := range stores {
		all[name] = func(t *testing.T) checkpoint.Store { return open(t) }
	}
	all["postgres"] = func(t *testing.T) checkpoint.Store { return openPostgres(t, pgtest.DirectURL(t), pgtest.Schema(t)) }
	for name, open := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testWaiting(t, open(t))
		})
	}
}

func testWaiting(t *testing.T, s checkpoint.Store) {
	b := graph.New("waiting", trail, total, note, item)
	b.Node("fan", func(_ context.Context, v state.View) (state.Update, error) {
		switch note.Get(v) {
		case "ask":
			return state.Update{graph.Goto("ask"), graph.Goto("quick"), graph.Goto("late")}, nil
		case "send":
			return state.Update{graph.Send("worker", item.Put(0)), graph.Send("worker", item.Put(1))}, nil
		case "fail":
			return state.Update{graph.Goto("fragile")}, nil
		case "sub":
			return state.Update{graph.Goto("sub")}, nil
		}
		return nil, nil
	})
	b.Node("ask", asks("?"))
	b.Node("quick", mark("quick"))
	b.Node("late", mark("late"))
	b.Defer("late")
	b.Node("worker", func(ctx context.Context, v state.View) (state.Update, error) {
		if item.Get(v) == 0 {
			return nil, nil
		}
		return asks("worker")(ctx, v)
	})
	b.Node("fragile", func(context.Context, state.View) (state.Update, error) { return nil, errBroken })
	b.Subgraph("sub", asker(t))
	b.Destinations("fan", "ask", "quick", "late", "worker", "fragile", "sub")
	b.Destinations(graph.Start, "ask", "worker")
	b.Edge(graph.Start, "fan")
	g := compile(t, b, graph.Options{Checkpoints: s})

	for _, id := range []string{"x ask", "y ask", "y done", "y send", "y sub"} {
		invoke(t, g.Thread(id), note.Put(id[2:]))
	}
	_, err := g.Thread("y fail").Invoke(t.Context(), note.Put("fail"))
	require.ErrorIs(t, err, errBroken)
	for _, target := range []state.Write{graph.Goto("ask"), graph.Send("worker", item.Put(1))} {
		id := fmt.Sprint("z ", target)
		done(t, g.Thread(id), note.Put("done"))
		invoke(t, g.Thread(id), target)
	}
	invoke(t, g.Thread("before").With(graph.RunOptions{PauseBefore: []string{"fan"}}), note.Put("go"))

	asking := []string{"x ask", "y ask", "z goto ask"}
	require.Equal(t, asking, waitingAt(t, g, "ask", ""))
	require.Equal(t, asking[1:2], waitingAt(t, g, "ask", "y"))
	require.Empty(t, waitingAt(t, g, "quick", ""), "its task has finished")
	require.Equal(t, asking[:2], waitingAt(t, g, "late", ""), "deferred")
	require.Equal(t, []string{"y send", "z send to worker"}, waitingAt(t, g, "worker", ""))
	require.Equal(t, []string{"y fail"}, waitingAt(t, g, "fragile", ""))
	require.Equal(t, []string{"y sub"}, waitingAt(t, g, "sub", ""))
	require.Equal(t, []string{"before"}, waitingAt(t, g, "fan", ""))
	require.Empty(t, waitingAt(t, g, "nobody", ""))

	answerAll(t, g.Thread("x ask"))
	require.Equal(t, asking[1:], waitingAt(t, g, "ask", ""))
	require.Equal(t, asking[1:2], waitingAt(t, g, "late", ""))

	// One graph does not have the node, and in another one the node has a new name.
	b = graph.New("waiting", trail, total, note, item)
	b.Node("approve", asks("?"))
	b.Edge(graph.Start, "approve")
	without := compile(t, b, graph.Options{Checkpoints: s})
	renamed := compile(t, b, graph.Options{Checkpoints: s, Migrations: graph.Migrations{Nodes: map[string]string{"ask": "approve"}}})
	var ids [3][]string
	for i, look := range []struct {
		g    *graph.Graph
		node string
	}{{without, "ask"}, {renamed, "ask"}, {renamed, "approve"}} {
		for info, err := range look.g.Waiting(t.Context(), look.node, "") {
			require.NoError(t, err)
			ids[i] = append(ids[i], info.Thread)
		}
		require.Equal(t, asking[1:], ids[i])
	}
	for _, err := range g.Waiting(t.Context(), "ask", "") {
		require.NoError(t, err)
		break // leave the loop early
	}
}

// TestWaitingReportsErrors proves that Waiting returns an error without a store, with a
// store that cannot list threads, after the end of its context, and for a nil graph.
func TestWaitingReportsErrors(t *testing.T) {
	t.Parallel()
	one := func(s checkpoint.Store) error {
		g := build(t, s, func(b *graph.Builder) {
			b.Node("a", mark("a"))
			chain(b, "a")
		})
		for _, err := range g.Waiting(t.Context(), "a", "") {
			return err
		}
		return nil
	}
	require.ErrorIs(t, one(nil), graph.ErrNoStore)
	s := memcheckpoint.New(memcheckpoint.Options{})
	require.ErrorIs(t, one(plainStore{s}), errors.ErrUnsupported)
	require.NoError(t, one(s))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := build(t, s, func(b *graph.Builder) {
		b.Node("a", mark("a"))
		chain(b, "a")
	})
	done(t, g.Thread("t"), note.Put("go"))
	for _, err := range g.Waiting(ctx, "a", "") {
		require.ErrorIs(t, err, context.Canceled)
	}
	var none *graph.Graph
	for _, err := range none.Waiting(t.Context(), "a", "") {
		require.ErrorContains(t, err, "the graph is nil")
	}
}

// TestSnapshotListsWaitingJoins proves that the snapshot of a run and the snapshot that is
// read from the store have the same waiting joins.
func TestSnapshotListsWaitingJoins(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			b := graph.New("joins", trail)
			for _, name := range []string{"a", "b", "c", "end", "late", "last"} {
				b.Node(name, mark(name))
			}
			b.Node("ask", asks("?"))
			b.Join("end", "a", "b", "c")
			b.Join("late", "a", "ask2")
			b.Node("ask2", asks("2"))
			b.Defer("late")
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Edge("b", "ask")
			b.Edge("ask", "c")
			b.Edge("ask", "ask2")
			b.Edge("end", "last")
			g := compile(t, b, graph.Options{Checkpoints: s})
			th := in(g.Thread(mode.String()), mode)
			check := func(snap *graph.Snapshot, want string) *graph.Snapshot {
				t.Helper()
				for _, s := range []*graph.Snapshot{snap, snapshot(t, th)} {
					data, err := json.Marshal(s.Waiting)
					require.NoError(t, err)
					require.Equal(t, want, string(data))
				}
				return snap
			}
			snap := check(invoke(t, th, graph.Begin()),
				`[{"target":"end","arrived":["a","b"],"awaiting":["c"]},{"target":"late","arrived":["a"],"awaiting":["ask2"]}]`)
			snap = check(invoke(t, th, ask.Answer(pending(t, ask, snap)[0].ID, "one")),
				`[{"target":"end","arrived":["a","b"],"awaiting":["c"]},{"target":"late","arrived":["a"],"awaiting":["ask2"]}]`)
			snap = check(invoke(t, th, ask.Answer(pending(t, ask, snap)[0].ID, "two")), `null`)
			require.True(t, snap.Done())
			wantTrail(t, snap, "a", "b", "one", "two", "c", "end", "last", "late")
		}
	})
}

// TestSnapshotWaitingLeavesOutCompleteJoins proves that a join whose sources have all
// completed is not listed while its deferred target waits for other work.
func TestSnapshotWaitingLeavesOutCompleteJoins(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := build(t, s, func(b *graph.Builder) {
			b.Node("a", mark("a"))
			b.Node("b", mark("b"))
			b.Node("ask", asks("?"))
			b.Node("late", mark("late"))
			b.Defer("late")
			b.Join("late", "a", "b")
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Edge("a", "ask")
		})
		snap := invoke(t, g.Thread("t"), note.Put("go"))
		require.Empty(t, snap.Waiting)
		require.Equal(t, []string{"t"}, waitingAt(t, g, "late", ""))
		wantTrail(t, answerAll(t, g.Thread("t")), "a", "b", "answer to ?", "late")
	})
}

// TestSnapshotWaitingIsNotShared proves that a change of Waiting in one snapshot does not
// change other snapshots.
func TestSnapshotWaitingIsNotShared(t *testing.T) {
	t.Parallel()
	g := build(t, memcheckpoint.New(memcheckpoint.Options{}), func(b *graph.Builder) { joining(t, b, nil) })
	var ended *graph.Snapshot
	for e, err := range g.Thread("t").Stream(t.Context(), note.Put("go")) {
		require.NoError(t, err)
		if e, ok := e.(graph.RunEnded); ok {
			ended = e.Snapshot
		}
	}
	require.Equal(t, []graph.WaitingJoin{{Target: "end", Arrived: []string{"left"}, Awaiting: []string{"right"}}}, ended.Waiting)
	ended.Waiting[0].Arrived[0] = "changed"
	require.Equal(t, "left", snapshot(t, g.Thread("t")).Waiting[0].Arrived[0])
	require.Equal(t, []string{"left", "answer to ?", "right", "end"}, trail.Get(answerAll(t, g.Thread("t"))))
}

// A damagedStore cannot read the thread b.
type damagedStore struct{ *memcheckpoint.Store }

func (s damagedStore) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		for info, err := range s.Store.ListThreads(ctx, prefix) {
			if info.ID == "b" {
				info, err = checkpoint.ThreadInfo{ID: "b"}, checkpoint.ErrCorrupt
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (s damagedStore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	if q.Thread == "c" {
		return func(yield func(checkpoint.Checkpoint, error) bool) {
			yield(checkpoint.Checkpoint{}, checkpoint.ErrFormat)
		}
	}
	return s.Store.List(ctx, q)
}

// TestWaitingGoesOnAfterADamagedThread proves that Waiting names the threads that cannot be read, and
// finds the others.
func TestWaitingGoesOnAfterADamagedThread(t *testing.T) {
	t.Parallel()
	s := damagedStore{memcheckpoint.New(memcheckpoint.Options{})}
	b := graph.New("waiting", trail, total, note, item)
	b.Node("ask", asks("?"))
	b.Edge(graph.Start, "ask")
	g := compile(t, b, graph.Options{Checkpoints: s})
	for _, id := range []string{"a", "b", "c", "d"} {
		_, err := g.Thread(id).Invoke(t.Context(), note.Put("go"))
		require.NoError(t, err)
	}
	var found []string
	for info, err := range g.Waiting(t.Context(), "ask", "") {
		found = append(found, info.Thread)
		switch info.Thread {
		case "b":
			require.ErrorIs(t, err, checkpoint.ErrCorrupt)
			require.ErrorContains(t, err, `"b"`)
		case "c":
			require.ErrorIs(t, err, checkpoint.ErrFormat)
		default:
			require.NoError(t, err)
		}
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, found)
}
