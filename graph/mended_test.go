package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// These tests hold what a first user of the package stumbled over.

var mendedLog = state.Append[string]("log")

func mended(t *testing.T, store checkpoint.Store, pause []string, nodes ...string) *graph.Graph {
	t.Helper()
	b := graph.New("mended", mendedLog)
	from := graph.Start
	for _, name := range nodes {
		b.Node(name, func(context.Context, state.View) (state.Update, error) {
			return state.Update{mendedLog.Put(name)}, nil
		})
		b.Edge(from, name)
		from = name
	}
	g, err := b.Compile(graph.Options{Checkpoints: store, PauseBefore: pause})
	require.NoError(t, err)
	return g
}

func onStores(t *testing.T, f func(t *testing.T, store checkpoint.Store)) {
	t.Helper()
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, open(t))
		})
	}
}

func TestUnknownTargetsFromOutside(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		th := mended(t, store, nil, "a").Thread("t")
		for range 2 { // a new thread, and one that exists
			for _, name := range []string{"typo", "", graph.Start} {
				for _, w := range []state.Write{graph.Goto(name), graph.Send(name)} {
					if _, err := th.Invoke(t.Context(), w); !errors.Is(err, graph.ErrUnknownNode) {
						t.Errorf("%s: got %v, want %v", w, err, graph.ErrUnknownNode)
					}
				}
			}
			if _, err := th.Invoke(t.Context(), mendedLog.Put("in")); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A thread whose due node is gone can be looked at, given new input and steered;
// only going on fails.
func TestDueNodeIsGone(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		old := mended(t, store, []string{"b"}, "a", "b")
		for _, id := range []string{"go on", "input", "update"} {
			if _, err := old.Thread(id).Invoke(t.Context(), mendedLog.Put("in")); err != nil {
				t.Fatal(err)
			}
		}
		g := mended(t, store, nil, "a", "c")
		snap, err := g.Thread("go on").Snapshot(t.Context())
		if err != nil || len(snap.Next) != 1 || snap.Next[0] != "b" || snap.Done() {
			t.Errorf("snapshot: got %v, %v", snap, err)
		}
		if _, err := g.Thread("go on").Invoke(t.Context()); !errors.Is(err, graph.ErrUnknownNode) {
			t.Errorf("going on: got %v, want %v", err, graph.ErrUnknownNode)
		}
		if snap, err = g.Thread("input").Invoke(t.Context(), mendedLog.Put("again")); err != nil || !snap.Done() {
			t.Errorf("new input: got %v", err)
		}
		if _, err := g.Thread("update").Update(t.Context(), "a"); err != nil {
			t.Errorf("update: %v", err)
		}
		if snap, err = g.Thread("update").Invoke(t.Context()); err != nil || fmt.Sprint(mendedLog.Get(snap)) != "[in a c]" {
			t.Errorf("behind the update: got %v, %v", mendedLog.Get(snap), err)
		}
	})
}

func TestRunOptionsAreChecked(t *testing.T) {
	t.Parallel()
	th := mended(t, memcheckpoint.New(memcheckpoint.Options{}), nil, "a").Thread("t")
	bad := graph.Durability(9)
	for _, c := range []struct {
		opts graph.RunOptions
		want error
	}{
		{graph.RunOptions{PauseBefore: []string{"typo"}}, graph.ErrUnknownNode},
		{graph.RunOptions{PauseAfter: []string{"typo"}}, graph.ErrUnknownNode},
		{graph.RunOptions{MaxSteps: -1}, checkpoint.ErrInvalid},
		{graph.RunOptions{MaxParallel: -1}, checkpoint.ErrInvalid},
		{graph.RunOptions{Durability: &bad}, checkpoint.ErrInvalid},
	} {
		if _, err := th.With(c.opts).Invoke(t.Context(), mendedLog.Put("in")); !errors.Is(err, c.want) {
			t.Errorf("%+v: got %v, want %v", c.opts, err, c.want)
		}
	}
	if _, err := th.Snapshot(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a refused run left something: %v", err)
	}
}

func TestAnswerOfAnotherType(t *testing.T) {
	t.Parallel()
	ask, wrong := graph.NewInterrupt[string, bool]("ask"), graph.NewInterrupt[string, string]("ask")
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		b := graph.New("ask", mendedLog)
		b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
			ok, err := ask.Wait(ctx, "sure?")
			return state.Update{mendedLog.Put(fmt.Sprint(ok))}, err
		})
		b.Edge(graph.Start, "a")
		g, err := b.Compile(graph.Options{Checkpoints: store})
		require.NoError(t, err)
		th := g.Thread("t")
		snap, err := th.Invoke(t.Context(), mendedLog.Put("in"))
		require.NoError(t, err)
		id := snap.Pauses[0].ID
		if _, err := th.Invoke(t.Context(), wrong.Answer(id, "yes")); err == nil {
			t.Fatal("an answer of another type was taken")
		}
		if snap, err = th.Snapshot(t.Context()); err != nil || len(snap.Pauses) != 1 || snap.Pauses[0].ID != id {
			t.Fatalf("the question is not open again: %+v, %v", snap, err)
		}
		if _, err := th.Invoke(t.Context(), ask.Answer(id, true), ask.Answer(id, false)); !errors.Is(err, graph.ErrDuplicateKey) {
			t.Errorf("two answers: got %v, want %v", err, graph.ErrDuplicateKey)
		}
		if snap, err = th.Invoke(t.Context(), ask.Answer(id, true)); err != nil || !snap.Done() {
			t.Errorf("the right answer: got %v", err)
		}
	})
}

func TestDuplicateKeyFailsBesideAnOpenQuestion(t *testing.T) {
	t.Parallel()
	ask := graph.NewInterrupt[string, bool]("ask")
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		b := graph.New("ask", mendedLog)
		b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err1 := ask.Wait(ctx, "one?")
			_, err2 := ask.Wait(ctx, "two?")
			return nil, errors.Join(err1, err2)
		})
		b.Edge(graph.Start, "a")
		g, err := b.Compile(graph.Options{Checkpoints: store})
		require.NoError(t, err)
		if _, err := g.Thread("t").Invoke(t.Context(), mendedLog.Put("in")); !errors.Is(err, graph.ErrDuplicateKey) {
			t.Errorf("got %v, want %v", err, graph.ErrDuplicateKey)
		}
	})
}

func TestStaticPauseNeedsAStore(t *testing.T) {
	t.Parallel()
	g := mended(t, nil, []string{"b"}, "a", "b")
	if _, err := g.Invoke(t.Context(), mendedLog.Put("in")); !errors.Is(err, graph.ErrNoStore) {
		t.Errorf("got %v, want %v", err, graph.ErrNoStore)
	}
}

// Another process sees a static pause, and a run behind a crash comes to it anew.
func TestStaticPauseIsKept(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		g := mended(t, store, []string{"b"}, "a", "b")
		th := g.Thread("t")
		if _, err := th.Invoke(t.Context(), mendedLog.Put("in")); err != nil {
			t.Fatal(err)
		}
		snap, err := th.Snapshot(t.Context())
		if err != nil || len(snap.Pauses) != 1 || snap.Pauses[0].Kind != graph.PauseBefore || snap.Pauses[0].Node != "b" {
			t.Fatalf("got %+v, %v; want a pause before b", snap, err)
		}
		if snap, err = th.Invoke(t.Context()); err != nil || !snap.Done() {
			t.Errorf("going on: got %v", err)
		}

		// The record of the stop at b is lost, as if the process had crashed before it.
		store = &forgetful{Store: store, forget: true}
		crashed := mended(t, store, []string{"b"}, "a", "b").Thread("crashed")
		_, err = crashed.Invoke(t.Context(), mendedLog.Put("in"))
		require.ErrorIs(t, err, errFault)
		if snap, err = crashed.Invoke(t.Context()); err != nil || snap.Done() || len(snap.Pauses) != 1 {
			t.Errorf("behind a crash: got %+v, %v; want a pause before b", snap, err)
		}
	})
}

// A store that fails in Once fails the run, even if the node hides the error.
func TestOnceFaultIsNotHidden(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	store := &writesFail{Store: memcheckpoint.New(memcheckpoint.Options{}), err: broken}
	b := graph.New("once", mendedLog)
	b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, _ = graph.Once(ctx, "effect", func(context.Context) (int, error) { return 1, nil })
		return state.Update{mendedLog.Put("all is well")}, nil
	})
	b.Edge(graph.Start, "a")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	if _, err := g.Thread("t").Invoke(t.Context(), mendedLog.Put("in")); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

type writesFail struct {
	checkpoint.Store
	err error
}

func (s *writesFail) PutWrites(context.Context, checkpoint.Key, []checkpoint.Write) error {
	return s.err
}

func TestDeleteAtACheckpoint(t *testing.T) {
	t.Parallel()
	th := mended(t, memcheckpoint.New(memcheckpoint.Options{}), nil, "a").Thread("t")
	snap, err := th.Invoke(t.Context(), mendedLog.Put("in"))
	require.NoError(t, err)
	if err := th.At(snap.ID).Delete(t.Context()); !errors.Is(err, checkpoint.ErrInvalid) {
		t.Errorf("got %v, want %v", err, checkpoint.ErrInvalid)
	}
	if _, err := th.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOneMemoryInOneSuperstep(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		inner := mended(t, nil, nil, "note")
		b := graph.New("outer", mendedLog)
		b.SubgraphWith("a", inner, graph.SubgraphOptions{Persist: "m"})
		b.SubgraphWith("b", inner, graph.SubgraphOptions{Persist: "m"})
		b.Edge(graph.Start, "a")
		b.Edge(graph.Start, "b")
		g, err := b.Compile(graph.Options{Checkpoints: store, MaxParallel: 1})
		require.NoError(t, err)
		for range 3 {
			if _, err := g.Thread("t").Invoke(t.Context(), graph.Begin()); !errors.Is(err, graph.ErrPersistentBusy) {
				t.Errorf("got %v, want %v", err, graph.ErrPersistentBusy)
			}
		}
	})
}

// A goroutine that a node left behind can do no harm, and is told so.
func TestAfterTheNode(t *testing.T) {
	t.Parallel()
	left := make(chan context.Context, 1)
	b := graph.New("left", mendedLog)
	b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
		left <- ctx
		return nil, nil
	})
	b.Edge(graph.Start, "a")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	for _, err := range g.Stream(t.Context()) {
		require.NoError(t, err)
	}
	ctx := <-left
	graph.Emit(ctx, "late")
	if _, ok := graph.FromContext(ctx); ok {
		t.Error("the context is still that of a node")
	}
	if _, err := graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil }); !errors.Is(err, graph.ErrNotInNode) {
		t.Errorf("got %v, want %v", err, graph.ErrNotInNode)
	}
}

func TestOnceInsideItself(t *testing.T) {
	t.Parallel()
	b := graph.New("once", mendedLog)
	b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := graph.Once(ctx, "k", func(ctx context.Context) (int, error) {
			return graph.Once(ctx, "k", func(context.Context) (int, error) { return 1, nil })
		})
		return nil, err
	})
	b.Edge(graph.Start, "a")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	if _, err := g.Invoke(t.Context()); !errors.Is(err, graph.ErrDuplicateKey) {
		t.Errorf("got %v, want %v", err, graph.ErrDuplicateKey)
	}
}

// A finished task may have sent the thread to a node that is gone since: the
// run that goes on says so, and does not drop the target.
func TestKeptTargetIsGone(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, store checkpoint.Store) {
		compile := func(broken bool, target string) *graph.Graph {
			b := graph.New("targets", mendedLog)
			b.Node("a", func(context.Context, state.View) (state.Update, error) {
				return state.Update{mendedLog.Put("a"), graph.Goto(target)}, nil
			})
			b.Node("b", func(context.Context, state.View) (state.Update, error) {
				if broken {
					return nil, errors.New("not yet")
				}
				return state.Update{mendedLog.Put("b")}, nil
			})
			b.Node(target, func(context.Context, state.View) (state.Update, error) {
				return state.Update{mendedLog.Put(target)}, nil
			})
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Destinations("a", target)
			g, err := b.Compile(graph.Options{Checkpoints: store})
			require.NoError(t, err)
			return g
		}
		if _, err := compile(true, "old").Thread("t").Invoke(t.Context(), mendedLog.Put("in")); err == nil {
			t.Fatal("b did not fail")
		}
		if _, err := compile(false, "new").Thread("t").Invoke(t.Context()); !errors.Is(err, graph.ErrUnknownNode) {
			t.Errorf("got %v, want %v", err, graph.ErrUnknownNode)
		}
		snap, err := compile(false, "old").Thread("t").Invoke(t.Context())
		if err != nil || fmt.Sprint(mendedLog.Get(snap)) != "[in a b old]" {
			t.Errorf("with the node back: got %v, %v", mendedLog.Get(snap), err)
		}
	})
}
