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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// A storePair applies every operation to a PostgreSQL store and to a memory store. It fails
// the test unless the results are equal. Other tests compare the memory store with a simple
// model.
type storePair struct {
	t     *testing.T
	rand  *rand.Rand
	pg    *pgcheckpoint.Store
	mem   *memcheckpoint.Store
	heads map[string]string   // the head of each thread
	ids   map[string][]string // the checkpoint ids of each thread, newest first
	made  int                 // number of checkpoints and writes, for unique names
	done  int                 // number of operations
}

func newStorePair(t *testing.T, store *pgcheckpoint.Store, r *rand.Rand) *storePair {
	return &storePair{
		t: t, rand: r, pg: store, mem: memcheckpoint.New(memcheckpoint.Options{}),
		heads: map[string]string{}, ids: map[string][]string{},
	}
}

// both calls fn on each store. It reports whether both calls succeeded.
func (w *storePair) both(what string, fn func(s pairedStore) error) bool {
	w.t.Helper()
	w.done++
	got, want := fn(w.pg), fn(w.mem)
	for _, sentinel := range []error{checkpoint.ErrConflict, checkpoint.ErrNotFound, checkpoint.ErrInvalid} {
		require.Equal(w.t, errors.Is(want, sentinel), errors.Is(got, sentinel), "%s: got error %v want %v", what, got, want)
	}
	require.Equal(w.t, want == nil, got == nil, "%s: got error %v want %v", what, got, want)
	return got == nil
}

type pairedStore interface {
	checkpoint.Store
	checkpoint.Pruner
	checkpoint.ThreadCopier
	checkpoint.RunDeleter
}

// play does random operations on threads whose ids begin with the prefix.
func (w *storePair) play(ops int, prefix string) {
	for i := 0; i < ops; i++ {
		thread := fmt.Sprint(prefix, w.rand.IntN(4))
		switch n := w.rand.IntN(100); {
		case n < 55:
			w.put(thread)
		case n < 70:
			w.write(thread)
		case n < 80:
			w.prune(thread)
		case n < 88:
			run := fmt.Sprint("run", w.made/6-w.rand.IntN(3))
			w.both("delete runs", func(s pairedStore) error { return s.DeleteRuns(w.t.Context(), thread, run) })
		case n < 93:
			w.copy(thread, fmt.Sprint(prefix, w.rand.IntN(6)))
		case n < 95:
			w.both("delete", func(s pairedStore) error { return s.DeleteThread(w.t.Context(), thread) })
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

// put appends a checkpoint to the newest or to a random checkpoint. Sometimes it passes a
// wrong head.
func (w *storePair) put(thread string) {
	w.made++
	head := w.heads[thread]
	c := step(thread, stepID(w.made), head, fmt.Sprint("line ", w.made))
	c.Run, c.Settles = fmt.Sprint("run", w.made/6), w.rand.IntN(2) == 0
	if ids := w.ids[thread]; len(ids) > 0 && w.rand.IntN(4) == 0 {
		c.Parent, c.Source = ids[w.rand.IntN(len(ids))], checkpoint.Fork
	}
	if w.rand.IntN(12) == 0 {
		c.Snapshot = []checkpoint.Change{{Channel: "lines", Kind: 1, Data: fmt.Append(nil, "snapshot ", w.made)}}
	}
	if w.rand.IntN(20) == 0 {
		head = stepID(1 << 40)
	}
	w.both("put", func(s pairedStore) error { return s.Put(w.t.Context(), c, head) })
}

func (w *storePair) write(thread string) {
	ids := w.ids[thread]
	if len(ids) == 0 {
		return
	}
	w.made++
	k := checkpoint.Key{Thread: thread, ID: ids[w.rand.IntN(len(ids))]}
	list := []checkpoint.Write{{Task: fmt.Sprint("task", w.rand.IntN(3)), Index: w.rand.IntN(3), Channel: "c", Data: fmt.Append(nil, w.made)}}
	w.both("put writes", func(s pairedStore) error { return s.PutWrites(w.t.Context(), k, list) })
}

func (w *storePair) prune(thread string) {
	p := checkpoint.PrunePolicy{Threads: []string{thread}, KeepLast: 1 + w.rand.IntN(12), KeepPending: w.rand.IntN(2) == 0}
	counts := map[string]int{}
	w.both("prune", func(s pairedStore) error {
		n, err := s.Prune(w.t.Context(), p)
		counts[fmt.Sprintf("%T", s)] = n
		return err
	})
	all := slices.Compact(slices.Collect(maps.Values(counts)))
	require.LessOrEqual(w.t, len(all), 1, "prune %+v removed different numbers of checkpoints: %v", p, counts)
}

func (w *storePair) copy(from, to string) {
	if w.rand.IntN(2) == 0 {
		w.both("delete", func(s pairedStore) error { return s.DeleteThread(w.t.Context(), to) })
	}
	w.both("copy", func(s pairedStore) error { return s.CopyThread(w.t.Context(), from, to) })
	w.refresh(to)
}

// refresh reads the head and the ids of a thread.
func (w *storePair) refresh(thread string) {
	w.heads[thread], w.ids[thread] = "", nil
	for c, err := range w.mem.List(w.t.Context(), checkpoint.Query{Thread: thread}) {
		require.NoError(w.t, err)
		if w.heads[thread] == "" {
			w.heads[thread] = c.ID
		}
		w.ids[thread] = append(w.ids[thread], c.ID)
	}
}

// compare fails the test unless every checkpoint of a thread is the same in both stores.
func (w *storePair) compare(thread string) {
	w.t.Helper()
	require.Equal(w.t, dumpThread(w.t, w.mem, thread), dumpThread(w.t, w.pg, thread), "thread %s", thread)
}

// dumpThread returns the checkpoints of a thread as text without times, newest first.
func dumpThread(t *testing.T, s checkpoint.Store, thread string) []string {
	t.Helper()
	var all []string
	for listed, err := range s.List(t.Context(), checkpoint.Query{Thread: thread}) {
		require.NoError(t, err)
		c, err := s.Get(t.Context(), listed.Key)
		require.NoError(t, err)
		text := fmt.Sprintf("%s %s %s %s %q", c.ID, c.Parent, c.Source, c.Run, lines(&c))
		for _, w := range c.Writes {
			text += fmt.Sprintf(" %s/%d=%s", w.Task, w.Index, w.Data)
		}
		all = append(all, text)
	}
	return all
}

// F21: threads are extended, forked, pruned, copied and deleted in random order. Goroutines
// prune and run other threads meanwhile. PostgreSQL and the memory store have equal results
// for every thread.
func TestF21RetentionAgreesWithTheMemoryStore(t *testing.T) {
	seed := begin(t)
	ops := count(300, 10_000)
	o := newSchema(t)
	store := open(t, pgtest.DirectURL(t), o)
	done := make(chan struct{})
	var all sync.WaitGroup
	var prunes, runs atomic.Int64
	all.Go(func() { // prunes all threads by age, but no checkpoint is old enough
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			_, err := store.Prune(context.Background(), checkpoint.PrunePolicy{KeepFor: time.Hour})
			assert.NoError(t, err, "prune")
			prunes.Add(1)
		}
	})
	all.Go(func() {
		g, err := fan(store, 3, ignoreProgress)
		if !assert.NoError(t, err) {
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
						assert.NoError(t, err, "prune")
						prunes.Add(1)
					}
				}
			})
			snap, err := g.Thread(thread).Invoke(context.Background(), graph.Begin())
			close(stop)
			during.Wait()
			if !assert.NoError(t, err, "a run of a thread that is pruned") || !assert.Equal(t, fanTrail(3), trail.Get(snap)) {
				return
			}
			assert.NoError(t, store.DeleteThread(context.Background(), thread), "delete")
			runs.Add(1)
		}
	})
	w := newStorePair(t, store, newRand(seed, 0))
	func() {
		defer all.Wait()
		defer close(done)
		w.play(ops, "t")
	}()
	for thread, err := range store.ListThreads(t.Context(), "") {
		require.NoError(t, err)
		assert.Equal(t, byte('t'), thread.ID[0], "the deleted thread %q is listed", thread.ID)
	}
	t.Logf("F21: %d operations agree with the memory store, during %d runs and %d prunes of other threads", w.done, runs.Load(), prunes.Load())
}

// askingGraph returns a graph that asks a question about its input. It stores the answers.
func askingGraph(t *testing.T, store checkpoint.Store) *graph.Graph {
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
	require.NoError(t, err)
	return g
}

// F22: threads are run, forked, updated and answered at random checkpoints. PostgreSQL and
// the memory store have equal states at every checkpoint of every branch.
func TestF22ForksAgreeWithTheMemoryStore(t *testing.T) {
	seed := begin(t)
	ops := count(150, 10_000)
	store := open(t, pgtest.DirectURL(t), newSchema(t))
	graphs := []*graph.Graph{askingGraph(t, store), askingGraph(t, memcheckpoint.New(memcheckpoint.Options{}))}
	const perThread = 60 // gives many branches, but few enough to compare all of them
	var r *rand.Rand
	states := 0
	for i := range ops {
		thread := fmt.Sprint("t", i/perThread)
		if i%perThread == 0 {
			r = newRand(seed, i)
		}
		var outcomes [2]string
		choice, place, answer := r.IntN(10), r.Float64(), fmt.Sprint("answer ", i)
		for k, g := range graphs {
			outcomes[k] = forkOp(t, g.Thread(thread), choice, place, i, answer)
		}
		require.Equal(t, outcomes[1], outcomes[0], "operation %d", i)
		if i%perThread == perThread-1 || i == ops-1 {
			got, want := allStates(t, graphs[0].Thread(thread)), allStates(t, graphs[1].Thread(thread))
			require.Equal(t, want, got, "thread %s", thread)
			states += len(got)
		}
	}
	t.Logf("F22: %d operations; the states at all %d checkpoints agree", ops, states)
}

// forkOp does one operation on a thread and describes the result.
func forkOp(t *testing.T, th *graph.Thread, choice int, place float64, i int, answer string) string {
	t.Helper()
	var ids []string
	for info, err := range th.History(t.Context(), graph.HistoryQuery{}) {
		require.NoError(t, err)
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
	return dumpState(t, snap)
}

func dumpState(t *testing.T, snap *graph.Snapshot) string {
	t.Helper()
	open, err := question.Open(snap)
	require.NoError(t, err)
	return fmt.Sprintf("step %d, next %v, questions %d, %d turns, %q", snap.Step, snap.Next, len(open), turns.Get(snap), trail.Get(snap))
}

// allStates describes the state at every checkpoint, newest first.
func allStates(t *testing.T, th *graph.Thread) []string {
	t.Helper()
	var all []string
	for info, err := range th.History(t.Context(), graph.HistoryQuery{}) {
		require.NoError(t, err)
		snap, err := th.At(info.ID).Snapshot(t.Context())
		require.NoError(t, err)
		all = append(all, fmt.Sprint(info.Source, " ", dumpState(t, snap)))
	}
	return all
}
