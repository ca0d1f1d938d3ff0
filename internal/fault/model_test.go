//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// A twin does everything to two stores, and wants them to agree: PostgreSQL, and the
// one in memory, which is checked against a naive model by its own tests.
type twin struct {
	t     *testing.T
	dice  *rand.Rand
	pg    *pgcheckpoint.Store
	mem   *memcheckpoint.Store
	heads map[string]string
	ids   map[string][]string // of each thread
	made  int
	done  int
}

func newTwin(t *testing.T, store *pgcheckpoint.Store, r *rand.Rand) *twin {
	return &twin{
		t: t, dice: r, pg: store, mem: memcheckpoint.New(memcheckpoint.Options{}),
		heads: map[string]string{}, ids: map[string][]string{},
	}
}

// both calls fn on each store, and reports whether it succeeded on both.
func (w *twin) both(what string, fn func(s twinStore) error) bool {
	w.t.Helper()
	w.done++
	got, want := fn(w.pg), fn(w.mem)
	for _, sentinel := range []error{checkpoint.ErrConflict, checkpoint.ErrNotFound, checkpoint.ErrInvalid} {
		if errors.Is(got, sentinel) != errors.Is(want, sentinel) {
			w.t.Fatalf("%s: got error %v want %v", what, got, want)
		}
	}
	if (got == nil) != (want == nil) {
		w.t.Fatalf("%s: got error %v want %v", what, got, want)
	}
	return got == nil
}

type twinStore interface {
	checkpoint.Store
	checkpoint.Pruner
	checkpoint.ThreadCopier
	checkpoint.RunDeleter
}

func (w *twin) play(ops int, prefix string) {
	for i := 0; i < ops; i++ {
		thread := fmt.Sprint(prefix, w.dice.IntN(4))
		switch n := w.dice.IntN(100); {
		case n < 55:
			w.put(thread)
		case n < 70:
			w.write(thread)
		case n < 80:
			w.prune(thread)
		case n < 88:
			run := fmt.Sprint("run", w.made/6-w.dice.IntN(3))
			w.both("delete runs", func(s twinStore) error { return s.DeleteRuns(w.t.Context(), thread, run) })
		case n < 93:
			w.copy(thread, fmt.Sprint(prefix, w.dice.IntN(6)))
		case n < 95:
			w.both("delete", func(s twinStore) error { return s.DeleteThread(w.t.Context(), thread) })
		}
		w.refresh(thread)
		if i%8 == 0 {
			w.compare(thread)
		}
	}
	for n := range 6 {
		w.compare(fmt.Sprint(prefix, n))
	}
}

// put follows the newest, forks, or names a wrong head.
func (w *twin) put(thread string) {
	w.made++
	head := w.heads[thread]
	c := step(thread, stepID(w.made), head, fmt.Sprint("line ", w.made))
	c.Run, c.Settles = fmt.Sprint("run", w.made/6), w.dice.IntN(2) == 0
	if ids := w.ids[thread]; len(ids) > 0 && w.dice.IntN(4) == 0 {
		c.Parent, c.Source = ids[w.dice.IntN(len(ids))], checkpoint.Fork
	}
	if w.dice.IntN(12) == 0 {
		c.Snapshot = []checkpoint.Change{{Channel: "lines", Kind: 1, Data: fmt.Append(nil, "snapshot ", w.made)}}
	}
	if w.dice.IntN(20) == 0 {
		head = stepID(1 << 40)
	}
	w.both("put", func(s twinStore) error { return s.Put(w.t.Context(), c, head) })
}

func (w *twin) write(thread string) {
	ids := w.ids[thread]
	if len(ids) == 0 {
		return
	}
	w.made++
	k := checkpoint.Key{Thread: thread, ID: ids[w.dice.IntN(len(ids))]}
	list := []checkpoint.Write{{Task: fmt.Sprint("task", w.dice.IntN(3)), Index: w.dice.IntN(3), Channel: "c", Data: fmt.Append(nil, w.made)}}
	w.both("put writes", func(s twinStore) error { return s.PutWrites(w.t.Context(), k, list) })
}

func (w *twin) prune(thread string) {
	p := checkpoint.PrunePolicy{Threads: []string{thread}, KeepLast: 1 + w.dice.IntN(12), KeepPending: w.dice.IntN(2) == 0}
	counts := map[string]int{}
	w.both("prune", func(s twinStore) error {
		n, err := s.Prune(w.t.Context(), p)
		counts[fmt.Sprintf("%T", s)] = n
		return err
	})
	if all := slices.Compact(slices.Collect(maps.Values(counts))); len(all) > 1 {
		w.t.Fatalf("prune %+v: removed %v", p, counts)
	}
}

func (w *twin) copy(from, to string) {
	if w.dice.IntN(2) == 0 {
		w.both("delete", func(s twinStore) error { return s.DeleteThread(w.t.Context(), to) })
	}
	w.both("copy", func(s twinStore) error { return s.CopyThread(w.t.Context(), from, to) })
	w.refresh(to)
}

// refresh looks up what a thread has now.
func (w *twin) refresh(thread string) {
	w.heads[thread], w.ids[thread] = "", nil
	for c, err := range w.mem.List(w.t.Context(), checkpoint.Query{Thread: thread}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if w.heads[thread] == "" {
			w.heads[thread] = c.ID
		}
		w.ids[thread] = append(w.ids[thread], c.ID)
	}
}

// compare wants every checkpoint of a thread to be the same in both.
func (w *twin) compare(thread string) {
	w.t.Helper()
	got, want := spellThread(w.t, w.pg, thread), spellThread(w.t, w.mem, thread)
	if !slices.Equal(got, want) {
		w.t.Fatalf("thread %s: got\n%q\nwant\n%q", thread, got, want)
	}
}

// spellThread is all of a thread but times, newest first.
func spellThread(t *testing.T, s checkpoint.Store, thread string) []string {
	t.Helper()
	var all []string
	for listed, err := range s.List(t.Context(), checkpoint.Query{Thread: thread}) {
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.Get(t.Context(), listed.Key)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s %s %s %s %q", c.ID, c.Parent, c.Source, c.Run, lines(&c))
		for _, w := range c.Writes {
			text += fmt.Sprintf(" %s/%d=%s", w.Task, w.Index, w.Data)
		}
		all = append(all, text)
	}
	return all
}

// F21: steps, forks, pruning, copying and deleting in random order, while others prune
// and run on other threads: each thread has what a store in memory has.
func TestF21Retention(t *testing.T) {
	seed := begin(t)
	ops := count(300, 10_000)
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	done := make(chan struct{})
	var all sync.WaitGroup
	var prunes, runs atomic.Int64
	all.Go(func() { // of all threads, but none of those that are compared is so old
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			_, err := store.Prune(context.Background(), checkpoint.PrunePolicy{KeepFor: time.Hour})
			wantNoErr(t, "prune", err)
			prunes.Add(1)
		}
	})
	all.Go(func() {
		g, err := fan(store, 3, nobodyHears)
		if err != nil {
			t.Error(err)
			return
		}
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			thread := fmt.Sprint("running ", n)
			var during sync.WaitGroup
			stop := make(chan struct{})
			during.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(2 * time.Millisecond):
						_, err := store.Prune(context.Background(), checkpoint.PrunePolicy{Threads: []string{thread}, KeepLast: 2})
						wantNoErr(t, "prune", err)
						prunes.Add(1)
					}
				}
			})
			snap, err := g.Thread(thread).Invoke(context.Background(), graph.Begin())
			close(stop)
			during.Wait()
			if err != nil || !slices.Equal(trail.Get(snap), fanTrail(3)) {
				t.Errorf("a run that was pruned: got %v, error %v", snap, err)
				return
			}
			wantNoErr(t, "delete", store.DeleteThread(context.Background(), thread))
			runs.Add(1)
		}
	})
	w := newTwin(t, store, dice(seed, 0))
	func() {
		defer all.Wait()
		defer close(done)
		w.play(ops, "t")
	}()
	for thread, err := range store.ListThreads(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if thread.ID[0] != 't' {
			t.Errorf("the thread %q is left", thread.ID)
		}
	}
	t.Logf("F21: %d operations agree with the store in memory, beside %d runs and %d prunes of others", w.done, runs.Load(), prunes.Load())
}

// talk is a graph that asks about its input, and remembers the answers.
func talk(t *testing.T, store checkpoint.Store) *graph.Graph {
	t.Helper()
	b := graph.New("talk", trail, turns, item)
	b.Node("hear", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{trail.Put(fmt.Sprint("heard ", item.Get(v))), turns.Put(1)}, nil
	})
	b.Node("ask", func(ctx context.Context, v state.View) (state.Update, error) {
		if item.Get(v)%3 != 0 {
			return state.Update{trail.Put("no question")}, nil
		}
		a, err := question.Wait(ctx, fmt.Sprint(item.Get(v), "?"))
		return state.Update{trail.Put("answered " + a)}, err
	})
	b.Node("end", func(context.Context, state.View) (state.Update, error) { return state.Update{trail.Put("end")}, nil })
	b.Edge(graph.Start, "hear")
	b.Edge("hear", "ask")
	b.Edge("ask", "end")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// F22: runs, forks, updates and answers at any checkpoint of any branch, on PostgreSQL and
// in memory: the state at each of them is the same.
func TestF22Forks(t *testing.T) {
	seed := begin(t)
	ops := count(150, 10_000)
	store := open(t, pgtest.DirectURL(t), newSchema(t))
	graphs := []*graph.Graph{talk(t, store), talk(t, memcheckpoint.New(memcheckpoint.Options{}))}
	const perThread = 60 // so that there are many branches, and they can all be looked at
	var r *rand.Rand
	states := 0
	for i := range ops {
		thread := fmt.Sprint("t", i/perThread)
		if i%perThread == 0 {
			r = dice(seed, i)
		}
		var outcomes [2]string
		choice, place, answer := r.IntN(10), r.Float64(), fmt.Sprint("answer ", i)
		for k, g := range graphs {
			outcomes[k] = forkOp(t, g.Thread(thread), choice, place, i, answer)
		}
		if outcomes[0] != outcomes[1] {
			t.Fatalf("operation %d: got %s\nwant %s", i, outcomes[0], outcomes[1])
		}
		if i%perThread == perThread-1 || i == ops-1 {
			got, want := allStates(t, graphs[0].Thread(thread)), allStates(t, graphs[1].Thread(thread))
			if !slices.Equal(got, want) {
				t.Fatalf("thread %s: got\n%q\nwant\n%q", thread, got, want)
			}
			states += len(got)
		}
	}
	t.Logf("F22: %d operations, the same state at %d checkpoints of all branches", ops, states)
}

// forkOp does one thing to a thread, and spells what came of it.
func forkOp(t *testing.T, th *graph.Thread, choice int, place float64, i int, answer string) string {
	t.Helper()
	var ids []string
	for info, err := range th.History(t.Context(), graph.HistoryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	at := th
	if len(ids) > 0 && choice >= 4 {
		at = th.At(ids[int(place*float64(len(ids)))])
	}
	var snap *graph.Snapshot
	var err error
	switch {
	case len(ids) == 0 || choice%4 == 0:
		snap, err = at.Invoke(t.Context(), item.Put(i))
	case choice%4 == 1:
		snap, err = at.Update(t.Context(), "hear", trail.Put(fmt.Sprint("edited ", i)))
	case choice%4 == 2:
		snap, err = at.Invoke(t.Context())
	default:
		if snap, err = at.Snapshot(t.Context()); err == nil {
			open, pendingErr := question.Open(snap)
			if err = pendingErr; err == nil && len(open) > 0 {
				snap, err = at.Invoke(t.Context(), question.Answer(open[0].ID, answer))
			}
		}
	}
	if err != nil {
		return fmt.Sprintf("error: conflict %t", errors.Is(err, checkpoint.ErrConflict))
	}
	return spellState(t, snap)
}

func spellState(t *testing.T, snap *graph.Snapshot) string {
	t.Helper()
	open, err := question.Open(snap)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("step %d, next %v, questions %d, %d turns, %q", snap.Step, snap.Next, len(open), turns.Get(snap), trail.Get(snap))
}

// allStates spells the state at every checkpoint, newest first.
func allStates(t *testing.T, th *graph.Thread) []string {
	t.Helper()
	var all []string
	for info, err := range th.History(t.Context(), graph.HistoryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		snap, err := th.At(info.ID).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(info.Source, " ", spellState(t, snap)))
	}
	return all
}
