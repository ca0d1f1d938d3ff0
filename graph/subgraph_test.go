package graph_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

func TestSubgraphReturnsTheGraphOfANode(t *testing.T) {
	t.Parallel()
	sub := called(t)
	b := graph.New("caller", trail)
	b.Subgraph("sub", sub)
	b.Node("plain", mark("plain"))
	chain(b, "sub", "plain")
	g := compile(t, b, graph.Options{})
	assert.Same(t, sub, g.Subgraph("sub"))
	assert.Same(t, sub, g.With(graph.RunOptions{MaxSteps: 5}).Subgraph("sub"))
	assert.Nil(t, g.Subgraph("plain"))
	assert.Nil(t, g.Subgraph("missing"))
	assert.Nil(t, sub.Subgraph("sub").Subgraph("sub"), "a nil graph has none")
}

// called builds a graph of one node that counts its calls in a private channel.
func called(t testing.TB) *graph.Graph {
	b := graph.New("called", trail, turns)
	b.Node("count", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{trail.Put(fmt.Sprint("call", turns.Get(v))), turns.Put(1)}, nil
	})
	b.Edge(graph.Start, "count")
	return compile(t, b, graph.Options{})
}

// TestPrivateChannelsStartEmpty proves that the private channels of a subgraph
// are empty at the start of each call.
func TestPrivateChannelsStartEmpty(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := build(t, s, func(b *graph.Builder) {
			b.Subgraph("one", called(t))
			b.Subgraph("two", called(t))
			chain(b, "one", "two")
		})
		for range 2 {
			done(t, g.Thread("t"), note.Put("go"))
		}
		wantTrail(t, snapshot(t, g.Thread("t")), "call0", "call0", "call0", "call0")
	})
}

// TestPersistentSubgraphKeepsState proves that a persistent subgraph continues
// from the state of its last call on the same branch of the same thread.
func TestPersistentSubgraphKeepsState(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				g := build(t, s, func(b *graph.Builder) {
					b.SubgraphWith("sub", called(t), graph.SubgraphOptions{Persist: "kept"})
					b.Node("after", mark("after"))
					chain(b, "sub", "after")
				})
				th, other := in(g.Thread(mode.String()), mode), in(g.Thread("other"+mode.String()), mode)
				done(t, th, note.Put("one"))
				done(t, th, note.Put("two"))
				fork := snapshot(t, th).ID // the checkpoint after two calls
				done(t, th, note.Put("three"))
				wantTrail(t, snapshot(t, th), "call0", "after", "call1", "after", "call2", "after")
				wantTrail(t, done(t, other, note.Put("one")), "call0", "after")
				// In a fork, the subgraph has the state of the checkpoint from which it was forked.
				wantTrail(t, done(t, th.At(fork), note.Put("again")), "call0", "after", "call1", "after", "call2", "after")
				wantTrail(t, done(t, th, note.Put("more")), "call0", "after", "call1", "after", "call2", "after", "call3", "after")
				wantTrail(t, done(t, th.At(fork), note.Put("again")), "call0", "after", "call1", "after", "call2", "after")
			})
		}
	})
}

// callsTwice builds a graph that calls the persistent subgraph in two nodes, one
// after the other.
func callsTwice(t *testing.T, s checkpoint.Store, sub *graph.Graph) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		b.SubgraphWith("one", sub, graph.SubgraphOptions{Persist: "kept"})
		b.SubgraphWith("two", sub, graph.SubgraphOptions{Persist: "kept"})
		chain(b, "one", "two")
	})
}

// TestSuccessiveCallsShareState proves that two successive calls of a
// persistent subgraph in one run share its state.
func TestSuccessiveCallsShareState(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g := callsTwice(t, s, called(t))
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				th := in(g.Thread(mode.String()), mode)
				wantTrail(t, done(t, th, note.Put("go")), "call0", "call1")
				wantTrail(t, done(t, th, note.Put("go")), "call0", "call1", "call2", "call3")
				wantTrail(t, snapshot(t, th), "call0", "call1", "call2", "call3")
			})
		}
	})
}

// TestParallelCallsOfOneStateFail proves that two calls of a persistent
// subgraph in one superstep are an error.
func TestParallelCallsOfOneStateFail(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		kept := called(t)
		g := build(t, s, func(b *graph.Builder) {
			b.SubgraphWith("one", kept, graph.SubgraphOptions{Persist: "kept"})
			b.SubgraphWith("two", kept, graph.SubgraphOptions{Persist: "kept"})
			b.Edge(graph.Start, "one")
			b.Edge(graph.Start, "two")
		})
		_, err := g.Thread("t").Invoke(t.Context(), note.Put("go"))
		require.ErrorIs(t, err, graph.ErrPersistentBusy)
		require.ErrorContains(t, err, `"kept"`)
	})
}

// TestFailedPutBetweenTwoCalls proves that under Exit, a failure to store the
// state between two calls fails the run, and that the next run completes both
// calls.
func TestFailedPutBetweenTwoCalls(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, after := range []bool{false, true} {
			f := &faults{op: "Put", at: 1, after: after}
			g := callsTwice(t, faultStore{s, f}, called(t))
			th := in(g.Thread(fmt.Sprint(after)), graph.Exit)
			_, err := th.Invoke(t.Context(), note.Put("go"))
			require.ErrorIs(t, err, errFault)
			wantTrail(t, done(t, th, graph.Continue()), "call0", "call1")
			wantTrail(t, done(t, th, note.Put("go")), "call0", "call1", "call2", "call3")
		}
	})
}

// nestedPersistent compiles a graph whose only node runs the graph of called as a persistent
// subgraph.
func nestedPersistent(t *testing.T) *graph.Graph {
	outer := graph.New("outer", trail)
	outer.SubgraphWith("inner", called(t), graph.SubgraphOptions{Persist: "inner"})
	outer.Edge(graph.Start, "inner")
	return compile(t, outer, graph.Options{})
}

// TestFailedPutAtExitKeepsAllOrNothing proves that under Exit, the states of nested
// persistent subgraphs are stored before the checkpoint that refers to them. Whichever
// Put fails, the next run sees either all or none of the first run.
func TestFailedPutAtExitKeepsAllOrNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, c := range []struct {
			at    int
			after bool
			want  []string
		}{
			{1, false, []string{"call0"}},
			{1, true, []string{"call0"}},
			{2, false, []string{"call0"}},
			{2, true, []string{"call0"}},
			{3, false, []string{"call0"}},
			{3, true, []string{"call0", "call1"}},
		} {
			for range 8 {
				f := &faults{op: "Put", at: c.at, after: c.after}
				g := build(t, faultStore{s, f}, func(b *graph.Builder) {
					b.SubgraphWith("outer", nestedPersistent(t), graph.SubgraphOptions{Persist: "outer"})
					b.Edge(graph.Start, "outer")
				})
				th := in(g.Thread(rand.Text()), graph.Exit)
				_, err := th.Invoke(t.Context(), note.Put("go"))
				require.ErrorIs(t, err, errFault)
				wantTrail(t, done(t, th, note.Put("go")), c.want...)
			}
		}
	})
}

// TestFailedPutOfTwoCallsAtExit proves that after a failed Put of a run with two
// calls of a persistent subgraph, the next run continues the count of calls
// from the stored state.
func TestFailedPutOfTwoCallsAtExit(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		sub := nestedPersistent(t)
		sound := callsTwice(t, s, sub)
		for i := range 5 * 2 * 2 { // a run has five Puts
			f := &faults{op: "Put", at: 1 + i/4, after: i%2 == 1}
			id := fmt.Sprint(i)
			th := in(sound.Thread(id), graph.Exit)
			if i/2%2 == 1 {
				done(t, th, note.Put("before"))
			}
			_, err := in(callsTwice(t, faultStore{s, f}, sub).Thread(id), graph.Exit).Invoke(t.Context(), note.Put("go"))
			require.ErrorIs(t, err, errFault)
			for n, call := range trail.Get(done(t, th, note.Put("after"))) {
				require.Equal(t, fmt.Sprint("call", n), call, "Put %d, with effect %t", f.at, f.after)
			}
		}
	})
}

// TestPausedCallOfPersistentSubgraphResumes proves that a paused call of a
// persistent subgraph resumes, and that a call abandoned by a new turn leaves
// no state.
func TestPausedCallOfPersistentSubgraphResumes(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		sub := graph.New("sub", trail, turns)
		sub.Node("count", func(context.Context, state.View) (state.Update, error) { return state.Update{turns.Put(1)}, nil })
		sub.Node("ask", func(ctx context.Context, v state.View) (state.Update, error) {
			a, err := ask.Wait(ctx, fmt.Sprint(turns.Get(v), "?"))
			return state.Update{trail.Put(fmt.Sprint(turns.Get(v), a))}, err
		})
		chain(sub, "count", "ask")
		kept := compile(t, sub, graph.Options{})
		g := build(t, s, func(b *graph.Builder) {
			b.SubgraphWith("sub", kept, graph.SubgraphOptions{Persist: "kept"})
			b.Edge(graph.Start, "sub")
		})
		th := g.Thread("t")
		invoke(t, th, note.Put("given up"))
		for i := range 3 {
			invoke(t, th, note.Put("go"))
			open, snap, err := answered(t.Context(), th, fmt.Sprint(i+1))
			require.NoError(t, err, "turn %d", i)
			require.Empty(t, open, "turn %d", i)
			require.True(t, snap.Done(), "turn %d", i)
		}
		wantTrail(t, snapshot(t, th), "1yes 1", "2yes 2", "3yes 3")
	})
}

// TestPauseOfSecondCallKeepsFirst proves that if the second call of a run
// pauses, resuming it does not repeat the writes of the first call.
func TestPauseOfSecondCallKeepsFirst(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		sub := graph.New("sub", trail, turns)
		sub.Node("count", func(_ context.Context, v state.View) (state.Update, error) {
			return state.Update{turns.Put(1), trail.Put(fmt.Sprint("call", turns.Get(v)))}, nil
		})
		sub.Node("ask", func(ctx context.Context, v state.View) (state.Update, error) {
			if turns.Get(v) == 1 {
				return nil, nil
			}
			a, err := ask.Wait(ctx, "1?")
			return state.Update{trail.Put(a)}, err
		})
		chain(sub, "count", "ask")
		g := callsTwice(t, s, compile(t, sub, graph.Options{}))
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				th := in(g.Thread(mode.String()), mode)
				invoke(t, th, note.Put("go"))
				open, snap, err := answered(t.Context(), th, "1")
				require.NoError(t, err)
				require.Empty(t, open)
				require.True(t, snap.Done())
				wantTrail(t, snap, "call0", "call1", "yes 1")
				wantTrail(t, snapshot(t, th), "call0", "call1", "yes 1")
			})
		}
	})
}

// TestToParentReachesOuterGraphs proves that a node two subgraphs deep can write
// and send in the outermost graph, which ends the subgraphs between them.
func TestToParentReachesOuterGraphs(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		inner := graph.New("inner", trail, turns)
		inner.Node("deep", func(context.Context, state.View) (state.Update, error) {
			return state.Update{
				trail.Put("deep"),
				graph.ToParent(graph.ToParent(total.Put(5))),
				graph.ToParent(graph.ToParent(graph.Send("w", item.Put(3)))),
			}, nil
		})
		inner.Node("never", mark("never"))
		chain(inner, "deep", "never")
		middle := graph.New("middle", trail)
		middle.Subgraph("inner", compile(t, inner, graph.Options{}))
		middle.Node("skipped", mark("skipped"))
		chain(middle, "inner", "skipped")
		g := build(t, s, func(b *graph.Builder) {
			b.Subgraph("middle", compile(t, middle, graph.Options{}))
			b.Edge(graph.Start, "middle")
			b.Destinations("middle", "w", "went")
			b.Node("w", func(_ context.Context, v state.View) (state.Update, error) {
				return state.Update{trail.Put(fmt.Sprint("w", item.Get(v)))}, nil
			})
			b.Node("went", mark("went"))
		})
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				snap := done(t, in(g.Thread(mode.String()), mode), note.Put("go"))
				wantTrail(t, snap, "deep", "w3")
				assert.Equal(t, 5, total.Get(snap))
			})
		}
	})
}

// TestToParentIsCheckedByTheParent proves that a write or target that the parent
// does not allow is an error of the parent's node.
func TestToParentIsCheckedByTheParent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		write state.Write
		want  error
	}{
		"undeclared target":   {graph.ToParent(graph.Goto("end")), graph.ErrRoute},
		"no grandparent":      {graph.ToParent(graph.ToParent(note.Put("x"))), graph.ErrSignal},
		"start of a new turn": {graph.ToParent(graph.Begin()), graph.ErrSignal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub := graph.New("sub", trail)
			sub.Node("s", func(context.Context, state.View) (state.Update, error) { return state.Update{c.write}, nil })
			sub.Edge(graph.Start, "s")
			g := build(t, stores["memory"](t), func(b *graph.Builder) {
				b.Subgraph("sub", compile(t, sub, graph.Options{}))
				b.Edge(graph.Start, "sub")
				b.Node("end", mark("end"))
				b.Destinations(graph.Start, "end")
			})
			_, err := g.Thread("t").Invoke(t.Context(), note.Put("go"))
			require.ErrorContains(t, err, `node "s`)
			require.ErrorIs(t, err, c.want)
		})
	}
}

// failingNested builds a graph with a node four levels down that fails while
// broken is true.
func failingNested(s checkpoint.Store, broken bool, did func(string)) (*graph.Graph, error) {
	g := graph.New("level4", trail, turns)
	g.Node("ok", reporting("ok", did))
	g.Node("bad", func(context.Context, state.View) (state.Update, error) {
		did("bad")
		if broken {
			return nil, errBroken
		}
		return state.Update{trail.Put("bad"), graph.ToParent(trail.Put("bad up"))}, nil
	})
	g.Edge(graph.Start, "ok")
	g.Edge(graph.Start, "bad")
	for level := 3; level >= 1; level-- {
		inner, err := g.Compile(graph.Options{})
		if err != nil {
			return nil, err
		}
		g = graph.New(fmt.Sprint("level", level), trail, note)
		g.Node("before", reporting(fmt.Sprint("before", level), did))
		g.Subgraph("sub", inner)
		g.Node("beside", reporting(fmt.Sprint("beside", level), did))
		g.Edge(graph.Start, "before")
		g.Edge("before", "sub")
		g.Edge("before", "beside")
	}
	return g.Compile(graph.Options{Checkpoints: s})
}

func init() {
	// resumeRepaired resumes a thread of failingNested after the failing node
	// is repaired, and prints an answerReport.
	children["resumeRepaired"] = func(c *child) error {
		var runs counter
		g, err := failingNested(c.store, false, func(n string) { runs.add(n) })
		if err != nil {
			return err
		}
		s, err := g.Thread("t").Invoke(c.ctx)
		if err != nil {
			return err
		}
		data, err := json.Marshal(answerReport{Ran: slices.Sorted(maps.Keys(runs.n)), Trail: trail.Get(s)})
		c.say(string(data))
		return err
	}
}

// TestNestedFailureKeepsFinishedTasks proves that a failure three subgraphs
// deep keeps the results of all finished tasks at every level and names its
// path, and that another process then executes only the failed task.
func TestNestedFailureKeepsFinishedTasks(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weft.db")
	var runs counter
	g, err := failingNested(openFile(t, file), true, func(n string) { runs.add(n) })
	require.NoError(t, err)
	th := g.Thread("t")
	_, err = th.Invoke(t.Context(), note.Put("go"))
	require.ErrorIs(t, err, errBroken)
	for range 2 {
		_, err = th.Invoke(t.Context())
		require.ErrorIs(t, err, errBroken)
	}
	assert.Equal(t, map[string]int{
		"before1": 1, "beside1": 1, "before2": 1, "beside2": 1, "before3": 1, "beside3": 1, "ok": 1, "bad": 3,
	}, runs.n)
	var deepest *graph.NodeError
	for _, e := range unwrapAll(err) {
		if ne, ok := e.(*graph.NodeError); ok { //nolint:errorlint // unwrapAll returns all wrapped errors
			deepest = ne
		}
	}
	require.NotNil(t, deepest)
	assert.Equal(t, "sub/sub/sub", deepest.Path)
	assert.Equal(t, "bad", deepest.Node)

	p := spawn(t, "resumeRepaired", file)
	got := p.line(t)
	p.wait(t)
	want, err := json.Marshal(answerReport{Ran: []string{"bad"}, Trail: []string{
		"before1", "beside1", "before2", "beside2", "before3", "beside3", "bad", "ok", "bad up",
	}})
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}

// TestSharedWritesBeforeAPauseSurviveSnapshots proves that a persistent subgraph that
// pauses loses no write to a shared channel, also after its state was stored as a snapshot.
func TestSharedWritesBeforeAPauseSurviveSnapshots(t *testing.T) {
	t.Parallel()
	blob := state.LastWins[string]("blob")
	for _, mode := range modes {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			sub := graph.New("sub", trail, blob)
			sub.Node("write", func(_ context.Context, v state.View) (state.Update, error) {
				return state.Update{trail.Put(fmt.Sprint(len(trail.Get(v)))), blob.Put(strings.Repeat("x", 1000))}, nil
			})
			sub.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
				_, err := ask.Wait(ctx, "go on?")
				return nil, err
			})
			chain(sub, "write", "ask")
			s := newStore()
			g := build(t, s, func(b *graph.Builder) {
				b.SubgraphWith("sub", compile(t, sub, graph.Options{}), graph.SubgraphOptions{Persist: "kept"})
				b.Edge(graph.Start, "sub")
			})
			th := in(g.Thread("t"), mode)
			for i := range 80 {
				paused := invoke(t, th, note.Put("go"))
				require.Len(t, paused.Pauses, 1)
				require.Len(t, trail.Get(done(t, th, ask.Answer(paused.Pauses[0].ID, "yes"))), i+1, "call %d", i)
			}
		})
	}
}
