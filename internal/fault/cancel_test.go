//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// promptly is how soon a call returns when its context ends. The short form runs
// beside other tests, with the race detector.
func promptly() time.Duration {
	if long() {
		return 100 * time.Millisecond
	}
	return 500 * time.Millisecond
}

// lateness measures, until it is stopped, how late a machine is that has other things to
// do: by how much a timer and a round trip take longer than the timer.
func lateness(t *testing.T) (stop func() time.Duration) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DirectURL(t))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var late []time.Duration
	var all sync.WaitGroup
	all.Go(func() {
		const wait = 20 * time.Millisecond
		for {
			start := time.Now()
			select {
			case <-done:
				return
			case <-time.After(wait):
			}
			if _, err := conn.Exec(context.Background(), "SELECT 1"); err != nil {
				t.Error(err)
				return
			}
			late = append(late, time.Since(start)-wait)
		}
	})
	return func() time.Duration {
		close(done)
		all.Wait()
		wantNoErr(t, "close", conn.Close(context.Background()))
		return quantile(late, 0.9)
	}
}

// F15: runs are cancelled at random points, over a slow connection. They return soon,
// and leave a state between two supersteps and a pool that is whole.
func TestF15Cancelled(t *testing.T) {
	seed := begin(t)
	const rounds, workers = 3, 4
	times := int64(count(40, 1000))
	o := newSchema(t)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	store, pool := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = 8 })
	slow := &lockedDice{dice: dice(seed, 100)}
	proxy.Treat(func(fault.Direction, []byte) fault.Fate {
		return fault.Fate{Delay: time.Duration(slow.float() * slow.float() * float64(4*time.Millisecond))}
	})
	g, err := fan(store, rounds, nobodyHears)
	if err != nil {
		t.Fatal(err)
	}
	stop := lateness(t)
	var cancelled atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			r := dice(seed, w)
			for i := 0; cancelled.Load() < times && !t.Failed(); i++ {
				th := g.Thread(fmt.Sprint("t", w, ".", i))
				for err := error(context.Canceled); err != nil; {
					var ended atomic.Int64
					ctx, cancel := context.WithCancel(t.Context())
					timer := time.AfterFunc(time.Duration(r.Int64N(int64(120*time.Millisecond))), func() {
						ended.Store(time.Now().UnixNano())
						cancel()
					})
					_, err = goOn(ctx, th)
					late := time.Since(time.Unix(0, ended.Load()))
					timer.Stop()
					cancel()
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
						return
					}
					if err != nil {
						cancelled.Add(1)
						mu.Lock()
						took = append(took, late)
						mu.Unlock()
						wantNoErr(t, "after a cancel", checkBetween(t.Context(), store, th.ID(), rounds))
					}
				}
				wantNoErr(t, "check", checkThread(t.Context(), store, th.ID(), rounds, nil))
			}
		})
	}
	all.Wait()
	late := stop()
	p90, p99, worst := quantile(took, 0.9), quantile(took, 0.99), quantile(took, 1)
	t.Logf("F15: %d runs cancelled; returned after p50 %v, p90 %v, p99 %v, at most %v", len(took),
		quantile(took, 0.5).Round(time.Millisecond), p90.Round(time.Millisecond), p99.Round(time.Millisecond), worst.Round(time.Millisecond))
	t.Logf("F15: the machine itself was late by %v (p90)", late.Round(time.Millisecond))
	// A call and the return of the thread, on a machine that is late itself.
	if p90 > promptly()+2*late || worst > 10*promptly() {
		t.Errorf("cancelled runs return after %v (p90), %v (at most), and the machine is late by %v", p90, worst, late)
	}
	proxy.Treat(nil)
	fill(t, pool) // every connection can be had, and works
	if n := pool.Stat().AcquiredConns(); n != 0 {
		t.Errorf("%d connections are still in use", n)
	}
}

// checkBetween says what is wrong with a thread that has not ended.
func checkBetween(ctx context.Context, store checkpoint.Store, thread string, rounds int) error {
	g, err := fan(store, rounds, nobodyHears)
	if err != nil {
		return err
	}
	c, err := store.Get(ctx, checkpoint.Key{Thread: thread})
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	snap, err := g.Thread(thread).At(c.ID).Snapshot(ctx)
	if err != nil {
		return err
	}
	var states [][]string
	whole := fanTrail(rounds)
	for n := 0; n <= len(whole); n += 6 { // a plan, and the five tasks of its fan
		states = append(states, whole[:n], whole[:min(n+1, len(whole))])
	}
	// The results of tasks which had ended when their siblings had not show, too.
	got := trail.Get(snap)
	for _, s := range states {
		if len(s) <= len(got) && slices.Equal(got[:len(s)], s) && len(got)-len(s) < 5 && snap.Step == len(c.Lineage)-1 {
			return nil
		}
	}
	return fmt.Errorf("thread %s: step %d has the trail %q", thread, c.Step, got)
}

// F15, within a commit: deadlines end calls of which nobody knows whether they have
// committed. What is stored is the step before, or the one behind, and goes on.
func TestF15DeadlineInCommit(t *testing.T) {
	seed := begin(t)
	steps := count(60, 1000)
	o := newSchema(t)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	store, _ := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = 2 })
	sound := open(t, pgtest.DirectURL(t), o)
	slow := &lockedDice{dice: dice(seed, 1)}
	proxy.Treat(func(fault.Direction, []byte) fault.Fate {
		if slow.float() < 0.7 {
			return fault.Fate{}
		}
		return fault.Fate{Delay: 80 * time.Millisecond} // longer than a call waits for its outcome
	})
	stop := lateness(t)
	r, head, ended, stored := dice(seed, 0), "", 0, 0
	var took []time.Duration
	for n := 0; n < steps; n++ {
		id := stepID(n + 1)
		deadline := time.Now().Add(time.Duration(r.Int64N(int64(3 * time.Millisecond))))
		ctx, cancel := context.WithDeadline(t.Context(), deadline)
		err := store.Put(ctx, step("t", id, head, fmt.Sprint(n)), head)
		cancel()
		if err == nil {
			head = id
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		ended++
		took = append(took, time.Since(deadline))
		// What is still on its way arrives, or does not.
		for range 20 {
			err = store.Put(t.Context(), step("t", id, head, fmt.Sprint(n)), head)
			if err == nil {
				break
			}
		}
		if err != nil {
			t.Fatalf("step %d, once more: %v", n, err)
		}
		head = id
		stored++
	}
	wantChain(t, sound, "t", steps)
	t.Logf("F15: %d of %d commits were ended by a deadline, after at most %v; each was stored once", ended, steps, quantile(took, 1).Round(time.Millisecond))
	late := stop()
	if p := quantile(took, 0.9); p > promptly()+late || ended == 0 {
		t.Errorf("%d calls ended %v (p90) after their deadline, and the machine is late by %v", ended, p, late)
	}
}

// F15, when nobody answers: a run that is cancelled returns soon all the same.
func TestF15CancelledInSilence(t *testing.T) {
	begin(t)
	o := newSchema(t)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	store, _ := openPool(t, address, o)
	var once sync.Once
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended atomic.Int64
	g, err := fan(store, 3, func(kind, _, _ string) {
		once.Do(func() {
			proxy.Treat(func(fault.Direction, []byte) fault.Fate { return fault.Fate{Hole: true} })
			proxy.Deafen()
			time.AfterFunc(200*time.Millisecond, func() {
				ended.Store(time.Now().UnixNano())
				cancel()
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Thread("t").Invoke(ctx, graph.Begin())
	took := time.Since(time.Unix(0, ended.Load()))
	wantErr(t, "run", err, context.Canceled)
	t.Logf("F15: with a silent database, a cancelled run returned after %v", took.Round(time.Millisecond))
	if took > promptly()+500*time.Millisecond { // in which it tries to give the thread back
		t.Errorf("it took %v to return", took)
	}
	proxy.Treat(nil)
	proxy.Reset()
}
