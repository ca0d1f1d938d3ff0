package graph_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// called returns a graph of one node that counts its calls in a channel of its
// own.
func called(t testing.TB) *graph.Graph {
	b := graph.New("called", trail, turns)
	b.Node("count", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{trail.Put(fmt.Sprint("call", turns.Get(v))), turns.Put(1)}, nil
	})
	b.Edge(graph.Start, "count")
	return compile(t, b, graph.Options{})
}

// TestPrivateChannels: a subgraph's own channels begin empty at each call, and
// the parent never sees them.
func TestPrivateChannels(t *testing.T) {
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

// TestPersist: a persistent subgraph goes on where its last call on the branch
// of the thread ended.
func TestPersist(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			g := build(t, s, func(b *graph.Builder) {
				b.SubgraphWith("sub", called(t), graph.SubgraphOptions{Persist: "kept"})
				b.Node("after", mark("after"))
				chain(b, "sub", "after")
			})
			th, other := in(g.Thread(mode.String()), mode), in(g.Thread("other"+mode.String()), mode)
			done(t, th, note.Put("one"))
			done(t, th, note.Put("two"))
			fork := snapshot(t, th).ID // after two calls
			done(t, th, note.Put("three"))
			wantTrail(t, snapshot(t, th), "call0", "after", "call1", "after", "call2", "after")
			wantTrail(t, done(t, other, note.Put("one")), "call0", "after")
			// A branch remembers what had happened where it begins.
			wantTrail(t, done(t, th.At(fork), note.Put("again")), "call0", "after", "call1", "after", "call2", "after")
			wantTrail(t, done(t, th, note.Put("more")), "call0", "after", "call1", "after", "call2", "after", "call3", "after")
			wantTrail(t, done(t, th.At(fork), note.Put("again")), "call0", "after", "call1", "after", "call2", "after")
		}
	})
}

// callsTwice builds a graph that calls another one twice.
func callsTwice(t *testing.T, s checkpoint.Store, sub *graph.Graph) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		b.SubgraphWith("one", sub, graph.SubgraphOptions{Persist: "kept"})
		b.SubgraphWith("two", sub, graph.SubgraphOptions{Persist: "kept"})
		chain(b, "one", "two")
	})
}

// TestPersistTwice: two calls one after another share a memory; two at once
// can not.
func TestPersistTwice(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		kept := called(t)
		g := callsTwice(t, s, kept)
		for _, mode := range modes {
			th := in(g.Thread(mode.String()), mode)
			wantTrail(t, done(t, th, note.Put("go")), "call0", "call1")
			wantTrail(t, done(t, th, note.Put("go")), "call0", "call1", "call2", "call3")
			wantTrail(t, snapshot(t, th), "call0", "call1", "call2", "call3")
		}
		g = build(t, s, func(b *graph.Builder) {
			b.SubgraphWith("one", kept, graph.SubgraphOptions{Persist: "kept"})
			b.SubgraphWith("two", kept, graph.SubgraphOptions{Persist: "kept"})
			b.Edge(graph.Start, "one")
			b.Edge(graph.Start, "two")
		})
		_, err := g.Thread("par").Invoke(t.Context(), note.Put("go"))
		wantErr(t, err, graph.ErrPersistentBusy)
		wantText(t, err, `"kept"`)
	})
}

// TestPersistTwiceFault: under Exit, what the first call left is stored for the second. If
// the store fails then, the run fails, and another goes on with both.
func TestPersistTwiceFault(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, after := range []bool{false, true} {
			f := &faults{op: "Put", at: 1, after: after}
			g := callsTwice(t, faultStore{s, f}, called(t))
			th := in(g.Thread(fmt.Sprint(after)), graph.Exit)
			_, err := th.Invoke(t.Context(), note.Put("go"))
			wantErr(t, err, errFault)
			wantTrail(t, done(t, th, graph.Continue()), "call0", "call1")
			wantTrail(t, done(t, th, note.Put("go")), "call0", "call1", "call2", "call3")
		}
	})
}

// TestPersistExitFault: under Exit, the end of a run stores what persistent subgraphs remember before what
// names it. Whichever Put fails, another run finds all of the first or nothing.
func TestPersistExitFault(t *testing.T) {
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
				outer := graph.New("outer", trail)
				outer.SubgraphWith("inner", called(t), graph.SubgraphOptions{Persist: "inner"})
				outer.Edge(graph.Start, "inner")
				g := build(t, faultStore{s, f}, func(b *graph.Builder) {
					b.SubgraphWith("outer", compile(t, outer, graph.Options{}), graph.SubgraphOptions{Persist: "outer"})
					b.Edge(graph.Start, "outer")
				})
				th := in(g.Thread(rand.Text()), graph.Exit)
				_, err := th.Invoke(t.Context(), note.Put("go"))
				wantErr(t, err, errFault)
				wantTrail(t, done(t, th, note.Put("go")), c.want...)
			}
		}
	})
}

// TestPersistExitFaultTwice: the same with two calls a run, of which the second has the store keep what the first
// left: whichever Put fails, also on a thread that has run before, the next run goes on with what is stored.
func TestPersistExitFaultTwice(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		outer := graph.New("outer", trail)
		outer.SubgraphWith("inner", called(t), graph.SubgraphOptions{Persist: "inner"})
		outer.Edge(graph.Start, "inner")
		sub := compile(t, outer, graph.Options{})
		sound := callsTwice(t, s, sub)
		for i := range 5 * 2 * 2 { // a run has five Puts
			f := &faults{op: "Put", at: 1 + i/4, after: i%2 == 1}
			id := fmt.Sprint(i)
			th := in(sound.Thread(id), graph.Exit)
			if i/2%2 == 1 {
				done(t, th, note.Put("before"))
			}
			_, err := in(callsTwice(t, faultStore{s, f}, sub).Thread(id), graph.Exit).Invoke(t.Context(), note.Put("go"))
			wantErr(t, err, errFault)
			got := trail.Get(done(t, th, note.Put("after")))
			for n, call := range got {
				if call != fmt.Sprint("call", n) {
					t.Fatalf("Put %d, effect %t: got %q, want calls in order", f.at, f.after, got)
				}
			}
		}
	})
}

// TestPersistPause: a persistent subgraph that pauses goes on with its call,
// and a call that was given up is forgotten.
func TestPersistPause(t *testing.T) {
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
			if err != nil || len(open) > 0 || !snap.Done() {
				t.Fatalf("turn %d: got %q, %v", i, open, err)
			}
		}
		wantTrail(t, snapshot(t, th), "1yes 1", "2yes 2", "3yes 3")
	})
}

// TestPersistPauseAgain: the second call of a run pauses, and what the first one
// wrote for the graph around it is not written again when that goes on.
func TestPersistPauseAgain(t *testing.T) {
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
		kept := compile(t, sub, graph.Options{})
		g := callsTwice(t, s, kept)
		for _, mode := range modes {
			th := in(g.Thread(mode.String()), mode)
			invoke(t, th, note.Put("go"))
			open, snap, err := answered(t.Context(), th, "1")
			if err != nil || len(open) > 0 || !snap.Done() {
				t.Fatalf("%v: got %q, %v", mode, open, err)
			}
			wantTrail(t, snap, "call0", "call1", "yes 1")
			wantTrail(t, snapshot(t, th), "call0", "call1", "yes 1")
		}
	})
}

// TestToParent: a subgraph's node writes to, goes and sends in the graph around
// it, two levels up if it is said twice.
func TestToParent(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
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
			th := in(g.Thread(mode.String()), mode)
			snap := done(t, th, note.Put("go"))
			wantTrail(t, snap, "deep", "w3")
			if total.Get(snap) != 5 {
				t.Fatalf("got total %d", total.Get(snap))
			}
		}
	})
}

// TestToParentRefused: what the parent does not allow is the error of the
// parent's node.
func TestToParentRefused(t *testing.T) {
	t.Parallel()
	for _, w := range []state.Write{graph.ToParent(graph.Goto("end")), graph.ToParent(graph.ToParent(note.Put("x"))), graph.ToParent(graph.Begin())} {
		sub := graph.New("sub", trail)
		sub.Node("s", func(context.Context, state.View) (state.Update, error) { return state.Update{w}, nil })
		sub.Edge(graph.Start, "s")
		g := build(t, stores["memory"](t), func(b *graph.Builder) {
			b.Subgraph("sub", compile(t, sub, graph.Options{}))
			b.Edge(graph.Start, "sub")
			b.Node("end", mark("end"))
			b.Destinations(graph.Start, "end")
		})
		_, err := g.Thread("t").Invoke(t.Context(), note.Put("go"))
		wantText(t, err, `node "s`)
		if !errors.Is(err, graph.ErrRoute) && !errors.Is(err, graph.ErrSignal) {
			t.Fatalf("%s: got error %v", w, err)
		}
	}
}

// nestedFailing fails three levels down until it is mended.
func nestedFailing(s checkpoint.Store, broken bool, did func(string)) (*graph.Graph, error) {
	g := graph.New("level4", trail, turns)
	g.Node("ok", told("ok", did))
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
		g.Node("before", told(fmt.Sprint("before", level), did))
		g.Subgraph("sub", inner)
		g.Node("beside", told(fmt.Sprint("beside", level), did))
		g.Edge(graph.Start, "before")
		g.Edge("before", "sub")
		g.Edge("before", "beside")
	}
	return g.Compile(graph.Options{Checkpoints: s})
}

func init() {
	// mended goes on with a thread of nestedFailing that does not fail.
	children["mended"] = func(c *child) error {
		var runs counter
		g, err := nestedFailing(c.store, false, func(n string) { runs.add(n) })
		if err != nil {
			return err
		}
		s, err := g.Thread("t").Invoke(c.ctx)
		if err != nil {
			return err
		}
		data, err := json.Marshal(answerReport{Ran: slices.Sorted(mapKeys(runs.n)), Trail: trail.Get(s)})
		c.say(string(data))
		return err
	}
}

// TestNestedFailure: a failure three levels down keeps all that finished at
// every level, and names its place; another process runs what is left.
func TestNestedFailure(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weft.db")
	var runs counter
	g, err := nestedFailing(openFile(t, file), true, func(n string) { runs.add(n) })
	if err != nil {
		t.Fatal(err)
	}
	th := g.Thread("t")
	for i := range 3 {
		if i == 0 {
			_, err = th.Invoke(t.Context(), note.Put("go"))
		} else {
			_, err = th.Invoke(t.Context())
		}
		wantErr(t, err, errBroken)
	}
	for name, n := range runs.n {
		if want := map[bool]int{true: 3, false: 1}[name == "bad"]; n != want {
			t.Errorf("%s ran %d times, want %d", name, n, want)
		}
	}
	var deepest *graph.NodeError
	for _, e := range unwrapAll(err) {
		if ne, ok := e.(*graph.NodeError); ok { //nolint:errorlint // every error of the tree is looked at
			deepest = ne
		}
	}
	if deepest == nil || deepest.Path != "sub/sub/sub" || deepest.Node != "bad" {
		t.Fatalf("got %+v", deepest)
	}
	p := spawn(t, "mended", file)
	got := p.line(t)
	p.wait(t)
	want, err := json.Marshal(answerReport{Ran: []string{"bad"}, Trail: []string{
		"before1", "beside1", "before2", "beside2", "before3", "beside3", "bad", "ok", "bad up",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
