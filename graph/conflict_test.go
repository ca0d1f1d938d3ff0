package graph_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
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

// bareStore hides the leases of a store.
type bareStore struct {
	checkpoint.Store
	checkpoint.RunDeleter
}

// conflictStores opens each store on which the tests run conflicting runs.
var conflictStores = map[string]func(t *testing.T) checkpoint.Store{
	"memory": func(*testing.T) checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) },
	"sqlite": func(t *testing.T) checkpoint.Store { return openFile(t, filepath.Join(t.TempDir(), "weft.db")) },
	"no leases": func(*testing.T) checkpoint.Store {
		s := memcheckpoint.New(memcheckpoint.Options{})
		return bareStore{s, s}
	},
	"postgres": func(t *testing.T) checkpoint.Store { return openPostgres(t, pgtest.DirectURL(t), pgtest.Schema(t)) },
}

func openPostgres(t testing.TB, url, schema string) checkpoint.Store {
	s, err := pgcheckpoint.Open(t.Context(), url, pgcheckpoint.Options{Schema: schema})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// eachConflict runs a test on every store: once with one Graph value, and once with two
// Graph values on the same store.
func eachConflict(t *testing.T, test func(t *testing.T, one, two *gated)) {
	t.Parallel()
	for name, open := range conflictStores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("one graph", func(t *testing.T) {
				t.Parallel()
				g := newGated(t, open(t))
				test(t, g, g)
			})
			t.Run("two graphs", func(t *testing.T) {
				t.Parallel()
				s := open(t)
				test(t, newGated(t, s), newGated(t, s))
			})
		})
	}
}

// A gated is a graph whose node "hold" waits if the value of note is "hold". The node
// waits until release is closed or its context ends.
type gated struct {
	*graph.Graph
	entered chan struct{}
	release chan struct{}
	store   checkpoint.Store
}

func newGated(t testing.TB, s checkpoint.Store) *gated {
	g := &gated{entered: make(chan struct{}, 8), release: make(chan struct{}), store: s}
	g.Graph = build(t, s, func(b *graph.Builder) {
		b.Node("first", mark("first"))
		b.Node("hold", func(ctx context.Context, v state.View) (state.Update, error) {
			if note.Get(v) != "hold" {
				return state.Update{trail.Put(note.Get(v)), total.Put(1)}, nil
			}
			g.entered <- struct{}{}
			select {
			case <-g.release:
				return state.Update{trail.Put("held")}, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
		b.Node("last", mark("last"))
		chain(b, "first", "hold", "last")
	})
	return g
}

// An outcome is the result of a run.
type outcome struct {
	snap *graph.Snapshot
	err  error
}

// start begins a run whose node "hold" waits, and returns when the node has begun.
func (g *gated) start(t testing.TB, id string) <-chan outcome {
	t.Helper()
	out := run(t, g.Thread(id), note.Put("hold"))
	<-g.entered
	return out
}

// run begins a run in another goroutine. The channel receives the result of the run.
func run(t testing.TB, th *graph.Thread, writes ...state.Write) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		snap, err := th.Invoke(t.Context(), writes...)
		out <- outcome{snap, err}
	}()
	return out
}

// with returns a handle whose runs have a conflict policy.
func with(g *gated, id string, p graph.ConflictPolicy) *graph.Thread {
	return g.Thread(id).With(graph.RunOptions{Conflict: p})
}

func TestConflictRejectReturnsAtOnce(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		held := one.start(t, "t")
		_, err := two.Thread("t").Invoke(t.Context(), note.Put("second"))
		require.ErrorIs(t, err, checkpoint.ErrConflict)
		require.ErrorContains(t, err, `thread "t"`)
		_, err = two.Thread("t").Update(t.Context(), "hold", note.Put("second"))
		require.ErrorIs(t, err, checkpoint.ErrConflict)
		require.ErrorIs(t, two.Thread("t").Delete(t.Context()), checkpoint.ErrConflict)
		close(one.release)
		got := <-held
		require.NoError(t, got.err)
		require.Equal(t, []string{"first", "held", "last"}, trail.Get(got.snap))
	})
}

func TestConflictWaitRunsAfterTheOtherRun(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		held := one.start(t, "t")
		second := run(t, with(two, "t", graph.ConflictWait), note.Put("second"))
		_, err := two.Thread("t").Invoke(t.Context(), note.Put("third"))
		require.ErrorIs(t, err, checkpoint.ErrConflict, "a run that does not wait")
		close(one.release)
		require.NoError(t, (<-held).err)
		got := <-second
		require.NoError(t, got.err)
		require.Equal(t, []string{"first", "held", "last", "first", "second", "last"}, trail.Get(got.snap))
	})
}

func TestConflictInterruptKeepsWhatTheOtherRunStored(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		held := one.start(t, "t")
		snap, err := with(two, "t", graph.ConflictInterrupt).Invoke(t.Context(), note.Put("second"))
		require.NoError(t, err)
		require.Equal(t, []string{"first", "first", "second", "last"}, trail.Get(snap))
		got := <-held
		require.ErrorIs(t, got.err, graph.ErrSuperseded)
		require.NotErrorIs(t, got.err, checkpoint.ErrConflict)
		require.Equal(t, []string{"first"}, trail.Get(got.snap), "the snapshot beside the error")
	})
}

func TestConflictRollbackRemovesWhatTheOtherRunStored(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		done(t, one.Thread("t"), note.Put("zero"))
		before := history(t, one.Thread("t"), graph.HistoryQuery{})
		held := one.start(t, "t")
		snap, err := with(two, "t", graph.ConflictRollback).Invoke(t.Context(), note.Put("second"))
		require.NoError(t, err)
		require.Equal(t, []string{"first", "zero", "last", "first", "second", "last"}, trail.Get(snap))
		got := <-held
		require.ErrorIs(t, got.err, graph.ErrSuperseded)
		require.Nil(t, got.snap, "nothing of the run is stored")
		after := history(t, one.Thread("t"), graph.HistoryQuery{})
		require.Equal(t, before, after[:len(before)])
		require.Len(t, after, len(before)+4)
	})
}

func TestConflictRollbackOfTheFirstRunLeavesNoThread(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		held := one.start(t, "t")
		require.NoError(t, with(two, "t", graph.ConflictRollback).Delete(t.Context()))
		require.ErrorIs(t, (<-held).err, graph.ErrSuperseded)
		_, err := one.Thread("t").Snapshot(t.Context())
		require.ErrorIs(t, err, checkpoint.ErrNotFound)

		held = one.start(t, "t")
		_, err = with(two, "t", graph.ConflictRollback).Invoke(t.Context())
		require.ErrorIs(t, err, graph.ErrNoInput, "the thread is new again")
		require.ErrorIs(t, (<-held).err, graph.ErrSuperseded)
	})
}

func TestUpdateAndDeleteHeedTheConflictPolicy(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		for _, p := range []graph.ConflictPolicy{graph.ConflictInterrupt, graph.ConflictRollback} {
			id := fmt.Sprint("t", p)
			done(t, one.Thread(id), note.Put("zero"))
			held := one.start(t, id)
			snap, err := with(two, id, p).Update(t.Context(), graph.End, trail.Put("edited"))
			require.NoError(t, err)
			want := []string{"first", "zero", "last", "first", "edited"}
			if p == graph.ConflictRollback {
				want = []string{"first", "zero", "last", "edited"}
			}
			require.Equal(t, want, trail.Get(snap))
			require.ErrorIs(t, (<-held).err, graph.ErrSuperseded)

			held = one.start(t, id)
			require.NoError(t, with(two, id, p).Delete(t.Context()))
			require.ErrorIs(t, (<-held).err, graph.ErrSuperseded)
			_, err = one.Thread(id).Snapshot(t.Context())
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
		}
		held := one.start(t, "wait")
		deleted := make(chan error, 1)
		go func() { deleted <- with(two, "wait", graph.ConflictWait).Delete(t.Context()) }()
		close(one.release)
		require.NoError(t, (<-held).err)
		require.NoError(t, <-deleted)
	})
}

// TestConflictWaitEndsWithContext proves that a run whose context ends while it waits for
// another run fails with an error that says so, and stores nothing.
func TestConflictWaitEndsWithContext(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		held := one.start(t, "t")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, errBroken)
		defer cancel()
		_, err := with(two, "t", graph.ConflictWait).Invoke(ctx, note.Put("second"))
		require.ErrorIs(t, err, errBroken)
		require.ErrorContains(t, err, "waited for another run of the thread")
		drain, cause := context.WithCancelCause(t.Context())
		cause(graph.ErrDrained)
		_, err = with(two, "t", graph.ConflictWait).Invoke(drain, note.Put("second"))
		require.ErrorIs(t, err, graph.ErrDrained)
		close(one.release)
		require.NoError(t, (<-held).err)
		require.Len(t, history(t, one.Thread("t"), graph.HistoryQuery{}), 4)
	})
}

func TestConflictManyWaitersEachRunOnce(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		const n = 24
		held := one.start(t, "t")
		var all sync.WaitGroup
		for i := range n {
			g := []*gated{one, two}[i%2]
			all.Go(func() {
				_, err := with(g, "t", graph.ConflictWait).Invoke(t.Context(), note.Put("go"))
				assert.NoError(t, err)
			})
		}
		close(one.release)
		all.Wait()
		require.NoError(t, (<-held).err)
		require.Equal(t, n, total.Get(snapshot(t, one.Thread("t"))))
	})
}

// TestManyInterruptsLeaveThreadUsable proves that many concurrent runs can cancel each
// other: each run ends or fails with ErrSuperseded, and the thread stays usable.
func TestManyInterruptsLeaveThreadUsable(t *testing.T) {
	eachConflict(t, func(t *testing.T, one, two *gated) {
		for _, p := range []graph.ConflictPolicy{graph.ConflictInterrupt, graph.ConflictRollback} {
			id := fmt.Sprint("t", p)
			done(t, one.Thread(id), note.Put("zero"))
			held := one.start(t, id)
			var all sync.WaitGroup
			var ended counter
			for i := range 16 {
				g := []*gated{one, two}[i%2]
				all.Go(func() {
					_, err := with(g, id, p).Invoke(t.Context(), note.Put("go"))
					if err == nil {
						ended.add("end")
					} else {
						assert.ErrorIs(t, err, graph.ErrSuperseded)
					}
				})
			}
			all.Wait()
			require.ErrorIs(t, (<-held).err, graph.ErrSuperseded)
			require.Positive(t, ended.get("end"))
			snap := done(t, one.Thread(id), note.Put("after"))
			if p == graph.ConflictRollback {
				require.Equal(t, ended.get("end")+2, total.Get(snap))
				require.Len(t, trail.Get(snap), 3*(ended.get("end")+2))
			}
		}
	})
}

// TestRollbackRestoresAPausedThread proves that the rollback of a run which resumed a
// paused thread restores the open question, the stored results of finished tasks and
// the state of the subgraph.
func TestRollbackRestoresAPausedThread(t *testing.T) {
	t.Parallel()
	for name, open := range conflictStores {
		for _, mode := range modes {
			t.Run(name+" "+mode.String(), func(t *testing.T) {
				t.Parallel()
				testRollbackOfPausedThread(t, open(t), mode)
			})
		}
	}
}

func testRollbackOfPausedThread(t *testing.T, s checkpoint.Store, mode graph.Durability) {
	var ran counter
	entered := make(chan struct{}, 1)
	sub := graph.New("sub", trail, note)
	sub.Node("before", func(context.Context, state.View) (state.Update, error) {
		ran.add("before")
		return state.Update{trail.Put("before")}, nil
	})
	sub.Node("ask", asks("ask"))
	sub.Node("hold", func(ctx context.Context, v state.View) (state.Update, error) {
		if note.Get(v) == "go" {
			return nil, nil
		}
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	chain(sub, "before", "ask", "hold")
	inner := compile(t, sub, graph.Options{})
	g := build(t, s, func(b *graph.Builder) {
		b.Node("done", func(context.Context, state.View) (state.Update, error) {
			ran.add("done")
			return state.Update{trail.Put("done")}, nil
		})
		b.Subgraph("sub", inner)
		b.Edge(graph.Start, "done")
		b.Edge(graph.Start, "sub")
	})
	th := in(g.Thread("t"), mode)
	q := pending(t, ask, invoke(t, th, note.Put("stay")))[0].ID
	before := dump(t, s, "t")
	held := run(t, th, ask.Answer(q, "first"))
	<-entered
	rollback := g.Thread("t").With(graph.RunOptions{Conflict: graph.ConflictRollback, Durability: &mode})
	_, err := rollback.Invoke(t.Context(), ask.Answer("no such question", ""))
	require.ErrorIs(t, err, graph.ErrNoQuestion, "this run stores nothing")
	require.ErrorIs(t, (<-held).err, graph.ErrSuperseded)
	require.Equal(t, before, dump(t, s, "t"), "what is stored")
	snap := done(t, th, ask.Answer(q, "second"), note.Put("go"))
	require.Equal(t, []string{"done", "before", "second"}, trail.Get(snap))
	ran.want(t, "done", 1)
	ran.want(t, "before", 1)
}

// dump returns the stored data of a thread, without replaced pending writes.
func dump(t *testing.T, s checkpoint.Store, thread string) []string {
	var out []string
	for c, err := range s.List(t.Context(), checkpoint.Query{Thread: thread, AllNamespaces: true, Writes: true}) {
		require.NoError(t, err)
		out = append(out, fmt.Sprintf("%s %s %s %d %s", c.Key, c.Parent, c.Run, c.Step, c.Control))
		for _, w := range c.Writes {
			if w.Channel != "$gone" {
				out = append(out, fmt.Sprintf("  %s %d %s %s", w.Task, w.Index, w.Channel, w.Data))
			}
		}
	}
	return out
}

// asks returns a node that asks a question and appends the answer to the trail.
func asks(prompt string) graph.NodeFunc {
	return func(ctx context.Context, _ state.View) (state.Update, error) {
		answer, err := ask.Wait(ctx, prompt)
		return state.Update{trail.Put(answer)}, err
	}
}

// TestRunOnOwnThreadFails proves that a run which a node starts on its own thread,
// directly or through another thread, fails at once under every conflict policy.
func TestRunOnOwnThreadFails(t *testing.T) {
	t.Parallel()
	for name, open := range conflictStores {
		for _, p := range []graph.ConflictPolicy{graph.ConflictReject, graph.ConflictWait, graph.ConflictInterrupt, graph.ConflictRollback} {
			t.Run(fmt.Sprint(name, " ", p), func(t *testing.T) {
				t.Parallel()
				var g *graph.Graph
				g = build(t, open(t), func(b *graph.Builder) {
					b.Node("call", func(ctx context.Context, v state.View) (state.Update, error) {
						next := map[string]string{"start": "through", "through": "own"}[note.Get(v)]
						if next == "" {
							return nil, nil
						}
						to := map[string]string{"through": "other", "own": "t"}[next]
						_, err := g.Thread(to).With(graph.RunOptions{Conflict: p}).Invoke(ctx, note.Put(next))
						return nil, err
					})
					chain(b, "call")
				})
				for _, entry := range []struct{ thread, note string }{{"t", "through"}, {"t", "start"}} {
					_, err := g.Thread(entry.thread).Invoke(t.Context(), note.Put(entry.note))
					require.ErrorIs(t, err, checkpoint.ErrConflict)
					require.ErrorContains(t, err, "would wait for itself")
					require.NotErrorIs(t, err, graph.ErrSuperseded)
				}
			})
		}
	}
}

// plainStore hides the leases and the RunDeleter of a store.
type plainStore struct{ checkpoint.Store }

// TestRollbackNeedsAStoreThatDeletesRuns proves that ConflictRollback fails on a store
// that cannot delete runs, and does not cancel the other run.
func TestRollbackNeedsAStoreThatDeletesRuns(t *testing.T) {
	t.Parallel()
	g := newGated(t, plainStore{memcheckpoint.New(memcheckpoint.Options{})})
	held := g.start(t, "t")
	_, err := with(g, "t", graph.ConflictRollback).Invoke(t.Context(), note.Put("second"))
	require.ErrorIs(t, err, errors.ErrUnsupported)
	close(g.release)
	require.NoError(t, (<-held).err)
}

// TestSupersededRunFailsEvenIfItFinishes proves that a superseded run fails even if its nodes
// ignore the end of their context and finish.
func TestSupersededRunFailsEvenIfItFinishes(t *testing.T) {
	t.Parallel()
	for _, p := range []graph.ConflictPolicy{graph.ConflictInterrupt, graph.ConflictRollback} {
		synctest.Test(t, func(t *testing.T) {
			g := build(t, memcheckpoint.New(memcheckpoint.Options{}), func(b *graph.Builder) {
				b.Node("slow", func(context.Context, state.View) (state.Update, error) {
					time.Sleep(5 * time.Second)
					return state.Update{trail.Put("slow")}, nil
				})
				chain(b, "slow")
			})
			var ended bool
			held := make(chan error, 1)
			go func() {
				var err error
				for e, failed := range g.Thread("t").Stream(t.Context(), note.Put("go")) {
					_, end := e.(graph.RunEnded)
					ended, err = ended || end, failed
				}
				held <- err
			}()
			synctest.Wait()
			snap, err := g.Thread("t").With(graph.RunOptions{Conflict: p}).Invoke(t.Context(), note.Put("go"))
			require.NoError(t, err)
			require.ErrorIs(t, <-held, graph.ErrSuperseded)
			require.False(t, ended, "no event says that the run ended well")
			require.Len(t, trail.Get(snap), map[graph.ConflictPolicy]int{graph.ConflictInterrupt: 2, graph.ConflictRollback: 1}[p])
		})
	}
}

// TestSupersededRunDoesNotWaitForReader proves that a superseded run releases its thread
// even if its reader does not read any more events.
func TestSupersededRunDoesNotWaitForReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, memcheckpoint.New(memcheckpoint.Options{}))
		stuck := make(chan struct{})
		held := make(chan error, 1)
		go func() {
			var err error
			for _, err = range g.Thread("t").Stream(t.Context(), note.Put("hold")) {
				<-stuck
			}
			held <- err
		}()
		synctest.Wait()
		start := time.Now()
		_, err := with(g, "t", graph.ConflictInterrupt).Invoke(t.Context(), note.Put("second"))
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(start), 10*time.Second)
		close(stuck)
		require.ErrorIs(t, <-held, graph.ErrSuperseded)
	})
}

func init() {
	// hold [URL SCHEMA] runs thread "t" on the SQLite file, or on PostgreSQL. Its node
	// waits until the parent writes a line.
	children["hold"] = func(c *child) error {
		var s checkpoint.Store = c.store
		if len(c.args) == 2 {
			pg, err := pgcheckpoint.Open(c.ctx, c.args[0], pgcheckpoint.Options{Schema: c.args[1], LeaseTime: time.Second})
			if err != nil {
				return err
			}
			defer pg.Close()
			s = pg
		}
		b := graph.New("test", trail, total, note, item)
		b.Node("hold", func(context.Context, state.View) (state.Update, error) {
			c.say("holding")
			c.in.Scan()
			return state.Update{trail.Put("child")}, nil
		})
		chain(b, "hold")
		g, err := b.Compile(graph.Options{Checkpoints: s})
		if err == nil {
			_, err = g.Thread("t").Invoke(c.ctx, note.Put("go"))
		}
		return err
	}
}

// TestConflictWaitsForAnotherProcess proves that every policy but ConflictReject waits for a
// run of another process, and that the thread is free when that run or its process ends.
func TestConflictWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, p := range []graph.ConflictPolicy{graph.ConflictWait, graph.ConflictInterrupt, graph.ConflictRollback} {
		for _, killed := range []bool{false, true} {
			name := fmt.Sprintf("policy %d killed %t", p, killed)
			t.Run("sqlite "+name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "weft.db")
				testConflictWithProcess(t, openFile(t, file), p, killed, file)
			})
			t.Run("postgres "+name, func(t *testing.T) {
				t.Parallel()
				url, schema := pgtest.DirectURL(t), pgtest.Schema(t)
				testConflictWithProcess(t, openPostgres(t, url, schema), p, killed, filepath.Join(t.TempDir(), "weft.db"), url, schema)
			})
		}
	}
}

func testConflictWithProcess(t *testing.T, s checkpoint.Store, p graph.ConflictPolicy, killed bool, file string, args ...string) {
	other := spawn(t, "hold", file, args...)
	require.Equal(t, "holding", other.line(t))
	g := newGated(t, s)
	_, err := g.Thread("t").Invoke(t.Context(), note.Put("rejected"))
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = with(g, "t", p).Invoke(ctx, note.Put("impatient"))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var runs []<-chan outcome
	for range 3 { // the runs wait for the process, then for each other
		runs = append(runs, run(t, with(g, "t", p), note.Put("second")))
	}
	if killed {
		require.NoError(t, other.cmd.Process.Kill())
		_ = other.cmd.Wait()
	} else {
		other.send(t, "end")
		other.wait(t)
	}
	ended := 0
	for _, r := range runs {
		if got := <-r; got.err == nil {
			ended++
		} else {
			require.NotEqual(t, graph.ConflictWait, p)
			require.ErrorIs(t, got.err, graph.ErrSuperseded)
		}
	}
	require.Positive(t, ended)
	got := trail.Get(snapshot(t, g.Thread("t")))
	require.Equal(t, !killed, len(got) > 0 && got[0] == "child", "what the other process stored is kept")
	if p == graph.ConflictWait {
		require.Equal(t, 3, total.Get(snapshot(t, g.Thread("t"))))
	}
}
