package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var errFault = errors.New("injected failure")

// faults selects which call of a store method fails, and counts the calls.
type faults struct {
	op      string // the name of the method
	at      int    // the number of the call, from 1; 0 means that no call fails
	after   bool   // whether the failing call takes effect
	forever bool   // whether later calls fail too

	mu    sync.Mutex
	calls map[string]int
	hit   bool
	acked []checkpoint.Key // the checkpoints for which Put returned no error
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

// faultStore is a store with injected faults.
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

// storingGraph compiles a graph with a question, a side effect, sent tasks, a join and a
// subgraph, whose data a store keeps. The counter effects counts the side effect.
func storingGraph(t *testing.T, s checkpoint.Store, effects *counter) *graph.Graph {
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

var storingTrail = []string{"a", "b=yes b", "s1", "s2", "a2", "w1", "w2", "end"}

// drive runs a thread until it is done, and returns the number of runs. The handle sound
// is the same thread on a store without faults. It requires each run during which the
// store failed to return the store's error.
func drive(t *testing.T, th, sound *graph.Thread, f *faults) (runs int) {
	t.Helper()
	for runs = 1; runs < 20; runs++ {
		before := f.wasHit()
		input := []state.Write{note.Put("go")}
		s, err := sound.Snapshot(t.Context())
		if !errors.Is(err, checkpoint.ErrNotFound) {
			require.NoError(t, err, "the store that does not fail")
			open, ids, err := questions(s)
			require.NoError(t, err)
			input = nil
			for _, q := range open {
				input = append(input, ask.Answer(ids[q], "yes "+q))
			}
		}
		got, err := th.Invoke(t.Context(), input...)
		if f.wasHit() && !before {
			require.ErrorIs(t, err, errFault, "%s %d (after %v): run %d", f.op, f.at, f.after, runs)
			continue
		}
		require.NoError(t, err, "run %d", runs)
		if got.Done() {
			return runs
		}
	}
	require.FailNow(t, "the thread does not reach its end")
	return 0
}

// TestAnyStoreFailureFailsTheRun lets each call of the store fail in turn. It proves that
// the run returns the store's error, that no acknowledged checkpoint is lost, and that
// the next run completes correctly.
func TestAnyStoreFailureFailsTheRun(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				var count faults
				runWithFaults(t, s, mode, "none", &count)
				for _, op := range []string{"Get", "Put", "PutWrites", "Lease", "Release"} {
					require.NotZero(t, count.calls[op], "calls of %s", op)
					for at := 1; at <= count.calls[op]; at++ {
						for _, after := range []bool{false, true} {
							if op == "Release" && !after {
								continue // the thread would stay leased
							}
							runWithFaults(t, s, mode, words(op, at, after), &faults{op: op, at: at, after: after})
						}
					}
				}
			})
		}
	})
}

func runWithFaults(t *testing.T, s checkpoint.Store, mode graph.Durability, name string, f *faults) {
	t.Helper()
	id := words(mode, name)
	var effects, soundEffects counter
	th := in(storingGraph(t, faultStore{s, f}, &effects).Thread(id), mode)
	sound := storingGraph(t, s, &soundEffects).Thread(id)
	drive(t, th, sound, f)
	if f.at > 0 && f.op != "PutWrites" { // the number of PutWrites calls varies, since results are batched
		require.True(t, f.wasHit(), "%s: there was no such call", name)
	}
	end := snapshot(t, sound)
	require.Equal(t, storingTrail, trail.Get(end), name)
	require.Equal(t, 1, total.Get(end), name)
	require.Equal(t, "from below", note.Get(end), name)
	if f.at == 0 {
		require.Equal(t, 1, effects.get("effect"), name)
	} else {
		require.Contains(t, []int{1, 2}, effects.get("effect"), "%s: side effects", name)
	}
	stored := map[checkpoint.Key]bool{}
	for c, err := range s.List(t.Context(), checkpoint.Query{Thread: id, AllNamespaces: true}) {
		require.NoError(t, err)
		stored[c.Key] = true
	}
	for _, k := range f.acked {
		require.True(t, stored[k], "%s: the acknowledged checkpoint %v is gone", name, k)
	}
}

// TestPermanentStoreFailureFailsEveryRun proves that every run fails while the store
// does, and that the thread completes once the store works again.
func TestPermanentStoreFailureFailsEveryRun(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			for _, op := range []string{"Put", "PutWrites", "Get"} {
				id := words(mode, op)
				f := &faults{op: op, at: 2, forever: true}
				var effects counter
				th := in(storingGraph(t, faultStore{s, f}, &effects).Thread(id), mode)
				var err error
				for i := 0; i < 5 && err == nil; i++ {
					_, err = th.Invoke(t.Context(), note.Put("go")) // begin a new turn
				}
				require.ErrorIs(t, err, errFault, id)
				for range 3 {
					_, err = th.Invoke(t.Context(), note.Put("go"))
					require.ErrorIs(t, err, errFault, id)
				}
				sound := storingGraph(t, s, &effects).Thread(id)
				drive(t, in(sound, mode), sound, &faults{})
				require.Equal(t, storingTrail, trail.Get(snapshot(t, sound)))
			}
		}
	})
}

// TestStoreFailureFailsReadsUpdatesAndDelete proves that Snapshot, Update, History and
// Delete return the store's error, and that a failed Delete changes nothing.
func TestStoreFailureFailsReadsUpdatesAndDelete(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var effects counter
		f := &faults{}
		th := storingGraph(t, faultStore{s, f}, &effects).Thread("t")
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
		require.Equal(t, 2, seen, "checkpoints before the error")
		*f = faults{op: "DeleteThread", at: 1}
		require.ErrorIs(t, th.Delete(t.Context()), errFault)
		require.Len(t, history(t, th, graph.HistoryQuery{}), n)
	})
}

// writesFail is a store whose PutWrites fails.
type writesFail struct {
	checkpoint.Store
	err error
}

func (s *writesFail) PutWrites(context.Context, checkpoint.Key, []checkpoint.Write) error {
	return s.err
}

// TestStoreFailureInOnceFailsTheRun proves that a store which fails in Once fails the
// run, even if the node drops the error.
func TestStoreFailureInOnceFailsTheRun(t *testing.T) {
	t.Parallel()
	store := &writesFail{Store: stores["memory"](t), err: errFault}
	th := lone(t, store, func(ctx context.Context, _ state.View) (state.Update, error) {
		_, _ = graph.Once(ctx, "effect", func(context.Context) (int, error) { return 1, nil })
		return state.Update{trail.Put("success")}, nil
	})
	_, err := th.Invoke(t.Context(), trail.Put("in"))
	require.ErrorIs(t, err, errFault)
}
