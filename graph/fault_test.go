package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var errFault = errors.New("the disk is on fire")

// faults fail one call of a store, or every call from that one on.
type faults struct {
	op      string // the method
	at      int    // its call, from 1; 0 means never
	after   bool   // the call takes effect all the same
	forever bool

	mu    sync.Mutex
	calls map[string]int
	hit   bool
	acked []checkpoint.Key
}

func (f *faults) call(op string, do func() error) error {
	f.mu.Lock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[op]++
	n := f.calls[op]
	fails := op == f.op && (n == f.at || f.forever && n > f.at && f.at > 0)
	f.hit = f.hit || fails
	f.mu.Unlock()
	if fails && !f.after {
		return errFault
	}
	err := do()
	if fails {
		return errFault
	}
	return err
}

func (f *faults) wasHit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit
}

// faultStore is a store with faults.
type faultStore struct {
	checkpoint.Store
	f *faults
}

func (s faultStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	return s.f.call("Put", func() error {
		err := s.Store.Put(ctx, c, head)
		if err == nil {
			s.f.mu.Lock()
			s.f.acked = append(s.f.acked, c.Key)
			s.f.mu.Unlock()
		}
		return err
	})
}

func (s faultStore) PutWrites(ctx context.Context, k checkpoint.Key, w []checkpoint.Write) error {
	return s.f.call("PutWrites", func() error { return s.Store.PutWrites(ctx, k, w) })
}

func (s faultStore) Get(ctx context.Context, k checkpoint.Key) (c checkpoint.Checkpoint, err error) {
	err = s.f.call("Get", func() error { c, err = s.Store.Get(ctx, k); return err })
	return c, err
}

func (s faultStore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		for c, err := range s.Store.List(ctx, q) {
			if err == nil {
				err = s.f.call("List", func() error { return nil })
			}
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}

func (s faultStore) DeleteThread(ctx context.Context, thread string) error {
	return s.f.call("DeleteThread", func() error { return s.Store.DeleteThread(ctx, thread) })
}

func (s faultStore) Lease(ctx context.Context, thread string) (l checkpoint.Lease, err error) {
	err = s.f.call("Lease", func() error { l, err = s.Store.(checkpoint.Leaser).Lease(ctx, thread); return err })
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Release(ctx))
		}
		return nil, err
	}
	return faultLease{faultStore{l, s.f}, l}, nil
}

type faultLease struct {
	faultStore
	lease checkpoint.Lease
}

func (l faultLease) Release(ctx context.Context) error {
	return l.f.call("Release", func() error { return l.lease.Release(ctx) })
}

// faulty is a graph with all that stores: a question, a side effect, sent
// tasks, a join and a subgraph. Effects counts the side effect.
func faulty(t *testing.T, s checkpoint.Store, effects *counter) *graph.Graph {
	sub := graph.New("sub", trail, turns)
	sub.Node("s1", mark("s1"))
	sub.Node("s2", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{trail.Put("s2"), graph.ToParent(note.Put("from below"))}, nil
	})
	chain(sub, "s1", "s2")
	inner := compile(t, sub, graph.Options{})
	return build(t, s, func(b *graph.Builder) {
		b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
			v, err := graph.Once(ctx, "effect", func(context.Context) (int, error) { return effects.add("effect"), nil })
			return state.Update{trail.Put("a"), total.Put(min(v, 1))}, err
		})
		b.Node("b", asking("b", func(string) {}))
		b.Edge(graph.Start, "a")
		b.Edge(graph.Start, "b")
		b.Join("sub", "a", "b")
		b.Subgraph("sub", inner)
		b.BranchMany("sub", func(state.View) (state.Update, error) {
			return state.Update{graph.Send("w", item.Put(1)), graph.Send("w", item.Put(2)), graph.Goto("a2")}, nil
		}, "w", "a2")
		b.Node("w", func(_ context.Context, v state.View) (state.Update, error) {
			return state.Update{trail.Put(fmt.Sprint("w", item.Get(v)))}, nil
		})
		b.Node("a2", mark("a2"))
		b.Edge("w", "end")
		b.Node("end", mark("end"))
	})
}

var faultyTrail = []string{"a", "b=yes b", "s1", "s2", "a2", "w1", "w2", "end"}

// drive brings a thread to its end. Look is the thread on a sound store.
func drive(t *testing.T, th, look *graph.Thread, f *faults) (runs int) {
	t.Helper()
	for runs = 1; runs < 20; runs++ {
		before := f.wasHit()
		s, err := look.Snapshot(t.Context())
		var got *graph.Snapshot
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
			got, err = th.Invoke(t.Context(), note.Put("go"))
		case err != nil:
			t.Fatalf("a sound store: %v", err)
		default:
			open, ids, qerr := questions(s)
			if qerr != nil {
				t.Fatal(qerr)
			}
			var answers []state.Write
			for _, q := range open {
				answers = append(answers, ask.Answer(ids[q], "yes "+q))
			}
			got, err = th.Invoke(t.Context(), answers...)
		}
		if failed := f.wasHit() && !before; failed {
			if !errors.Is(err, errFault) {
				t.Fatalf("%s %d (after %v): run %d: the store failed and the run returned %v", f.op, f.at, f.after, runs, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("run %d: %v", runs, err)
		}
		if got.Done() {
			return runs
		}
	}
	t.Fatal("no end in sight")
	return 0
}

// TestP9: a store that fails at any call fails the run with its error; nothing
// that was acknowledged is lost, and the next run goes on right.
func TestP9(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				var count faults
				p9(t, s, mode, "none", &count)
				for _, op := range []string{"Get", "Put", "PutWrites", "Lease", "Release"} {
					if count.calls[op] == 0 {
						t.Fatalf("a run does without %s", op)
					}
					for at := 1; at <= count.calls[op]; at++ {
						for _, after := range []bool{false, true} {
							if op == "Release" && !after {
								continue // the lease is still held then
							}
							p9(t, s, mode, words(op, at, after), &faults{op: op, at: at, after: after})
						}
					}
				}
			})
		}
	})
}

func p9(t *testing.T, s checkpoint.Store, mode graph.Durability, name string, f *faults) {
	t.Helper()
	id := words(mode, name)
	var effects, soundEffects counter
	th := in(faulty(t, faultStore{s, f}, &effects).Thread(id), mode)
	look := faulty(t, s, &soundEffects).Thread(id)
	drive(t, th, look, f)
	if f.at > 0 && f.op != "PutWrites" && !f.wasHit() { // results that come together are stored in one call
		t.Fatalf("%s: there was no such call", name)
	}
	end := snapshot(t, look)
	if !slices.Equal(trail.Get(end), faultyTrail) || total.Get(end) != 1 || note.Get(end) != "from below" {
		t.Fatalf("%s: got %q, %d, %q", name, trail.Get(end), total.Get(end), note.Get(end))
	}
	if n := effects.get("effect"); n != 1 && (f.at == 0 || n != 2) {
		t.Fatalf("%s: the side effect happened %d times", name, n)
	}
	stored := map[checkpoint.Key]bool{}
	for c, err := range s.List(t.Context(), checkpoint.Query{Thread: id, AllNamespaces: true}) {
		require.NoError(t, err)
		stored[c.Key] = true
	}
	for _, k := range f.acked {
		if !stored[k] {
			t.Fatalf("%s: checkpoint %v was acknowledged and is gone", name, k)
		}
	}
}

// TestP9Forever: a store that never works again fails every run, and the thread
// is as it was when it does.
func TestP9Forever(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			for _, op := range []string{"Put", "PutWrites", "Get"} {
				id := words(mode, op)
				f := &faults{op: op, at: 2, forever: true}
				var effects counter
				th := in(faulty(t, faultStore{s, f}, &effects).Thread(id), mode)
				var err error
				for i := 0; i < 5 && err == nil; i++ {
					_, err = th.Invoke(t.Context(), note.Put("go")) // a new turn each time
				}
				if !errors.Is(err, errFault) {
					t.Fatalf("%s: got error %v", id, err)
				}
				for range 3 {
					if _, err = th.Invoke(t.Context(), note.Put("go")); !errors.Is(err, errFault) {
						t.Fatalf("%s: got error %v", id, err)
					}
				}
				sound := faulty(t, s, &effects).Thread(id)
				drive(t, in(sound, mode), sound, &faults{})
				require.Equal(t, faultyTrail, trail.Get(snapshot(t, sound)))
			}
		}
	})
}

// TestP9Reads: looking at a thread, and deleting it, fail with the store.
func TestP9Reads(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var effects counter
		f := &faults{}
		th := faulty(t, faultStore{s, f}, &effects).Thread("t")
		drive(t, th, th, f)
		n := len(history(t, th, graph.HistoryQuery{}))
		*f = faults{op: "Get", at: 1}
		_, err := th.Snapshot(t.Context())
		require.ErrorIs(t, err, errFault)
		for _, op := range []string{"Get", "Put"} {
			*f = faults{op: op, at: 1}
			_, err = th.Update(t.Context(), "end", note.Put("x"))
			require.ErrorIs(t, err, errFault)
		}
		*f = faults{op: "List", at: 3}
		seen := 0
		for _, err = range th.History(t.Context(), graph.HistoryQuery{}) {
			if err == nil {
				seen++
			}
		}
		require.ErrorIs(t, err, errFault)
		if seen != 2 {
			t.Fatalf("got %d checkpoints before the error, want 2", seen)
		}
		*f = faults{op: "DeleteThread", at: 1}
		require.ErrorIs(t, th.Delete(t.Context()), errFault)
		if got := len(history(t, th, graph.HistoryQuery{})); got != n {
			t.Fatalf("got %d checkpoints, want %d", got, n)
		}
	})
}
