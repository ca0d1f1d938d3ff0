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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// cancelLimit returns the maximum time between the end of a context and the return of a
// call. It is longer in the short form of the tests. The short form runs in parallel with
// other tests and under the race detector.
func cancelLimit() time.Duration {
	if long() {
		return 100 * time.Millisecond
	}
	return 500 * time.Millisecond
}

// schedulingDelay starts to measure the delay that the load of the machine causes. A
// measurement sleeps for 20 ms and makes a round trip to the database. The delay is the time
// beyond these 20 ms. The function stop ends the measurements and returns the 90th percentile.
func schedulingDelay(t *testing.T) (stop func() time.Duration) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), pgtest.DirectURL(t))
	require.NoError(t, err)
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
			_, err := conn.Exec(context.Background(), "SELECT 1")
			if !assert.NoError(t, err) {
				return
			}
			late = append(late, time.Since(start)-wait)
		}
	})
	return func() time.Duration {
		close(done)
		all.Wait()
		assert.NoError(t, conn.Close(context.Background()), "close")
		return quantile(late, 0.9)
	}
}

// F15: runs over a slow connection are cancelled at random moments. The runs return soon.
// Each thread has the state of its last commit. Every connection of the pool stays usable.
func TestF15CancelledRunsReturnSoonAtACommit(t *testing.T) {
	seed := begin(t)
	const rounds, workers = 3, 4
	times := int64(count(40, 1000))
	o := newSchema(t)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	store, pool := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = 8 })
	slow := &lockedRand{rand: newRand(seed, 100)}
	proxy.Intercept(func(fault.Direction, []byte) fault.Action {
		return fault.Action{Delay: time.Duration(slow.float() * slow.float() * float64(4*time.Millisecond))}
	})
	g, err := fan(store, rounds, ignoreProgress)
	require.NoError(t, err)
	stop := schedulingDelay(t)
	var cancelled atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			r := newRand(seed, w)
			for i := 0; cancelled.Load() < times && !t.Failed(); i++ {
				th := g.Thread(fmt.Sprint("t", w, ".", i))
				for err := error(context.Canceled); err != nil; {
					var ended atomic.Int64
					ctx, cancel := context.WithCancel(t.Context())
					timer := time.AfterFunc(time.Duration(r.Int64N(int64(120*time.Millisecond))), func() {
						ended.Store(time.Now().UnixNano())
						cancel()
					})
					_, err = startOrResume(ctx, th)
					late := time.Since(time.Unix(0, ended.Load()))
					timer.Stop()
					cancel()
					if err != nil {
						if !assert.ErrorIs(t, err, context.Canceled) {
							return
						}
						cancelled.Add(1)
						mu.Lock()
						took = append(took, late)
						mu.Unlock()
						assert.NoError(t, checkBetween(t.Context(), store, th.ID(), rounds), "after a cancel")
					}
				}
				assert.NoError(t, checkThread(t.Context(), store, th.ID(), rounds, nil), "check")
			}
		})
	}
	all.Wait()
	late := stop()
	p90, p99, worst := quantile(took, 0.9), quantile(took, 0.99), quantile(took, 1)
	t.Logf("F15: %d runs cancelled; returned after p50 %v, p90 %v, p99 %v, at most %v", len(took),
		quantile(took, 0.5).Round(time.Millisecond), p90.Round(time.Millisecond), p99.Round(time.Millisecond), worst.Round(time.Millisecond))
	t.Logf("F15: the scheduling delay of the machine was %v (p90)", late.Round(time.Millisecond))
	// The delay counts twice, for the cancelled call and for the release of the thread.
	assert.LessOrEqual(t, p90, cancelLimit()+2*late, "p90 of the return of cancelled runs; scheduling delay %v", late)
	assert.LessOrEqual(t, worst, 10*cancelLimit(), "longest return of a cancelled run; scheduling delay %v", late)
	proxy.Intercept(nil)
	openAll(t, pool)
	assert.Zero(t, pool.Stat().AcquiredConns(), "connections in use after the runs")
}

// checkBetween returns an error unless an unfinished thread of the graph fan is in the state of a
// commit.
func checkBetween(ctx context.Context, store checkpoint.Store, thread string, rounds int) error {
	g, err := fan(store, rounds, ignoreProgress)
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
	for n := 0; n <= len(whole); n += 6 { // a round has one task of plan and five other tasks
		states = append(states, whole[:n], whole[:min(n+1, len(whole))])
	}
	// The snapshot also contains the stored results of an unfinished superstep.
	got := trail.Get(snap)
	for _, s := range states {
		if len(s) <= len(got) && slices.Equal(got[:len(s)], s) && len(got)-len(s) < 5 && snap.Step == len(c.Lineage)-1 {
			return nil
		}
	}
	return fmt.Errorf("thread %s: step %d has the trail %q", thread, c.Step, got)
}

// F15: deadlines end calls of Put, whose outcome is then unknown. The thread is in the state
// before or after the commit. A retry succeeds, and the step is stored once.
func TestF15CommitEndedByADeadlineIsStoredOnce(t *testing.T) {
	seed := begin(t)
	steps := count(60, 1000)
	o := newSchema(t)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	store, _ := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = 2 })
	direct := open(t, pgtest.DirectURL(t), o)
	slow := &lockedRand{rand: newRand(seed, 1)}
	proxy.Intercept(func(fault.Direction, []byte) fault.Action {
		if slow.float() < 0.7 {
			return fault.Action{}
		}
		return fault.Action{Delay: 80 * time.Millisecond} // a cancelled call does not wait so long
	})
	stop := schedulingDelay(t)
	r, head, ended, stored := newRand(seed, 0), "", 0, 0
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
		require.ErrorIs(t, err, context.DeadlineExceeded)
		ended++
		took = append(took, time.Since(deadline))
		// The commit may arrive at the server during these retries.
		for range 20 {
			err = store.Put(t.Context(), step("t", id, head, fmt.Sprint(n)), head)
			if err == nil {
				break
			}
		}
		require.NoError(t, err, "step %d, once more", n)
		head = id
		stored++
	}
	wantChain(t, direct, "t", steps)
	t.Logf("F15: %d of %d commits were ended by a deadline, after at most %v; each was stored once", ended, steps, quantile(took, 1).Round(time.Millisecond))
	late := stop()
	assert.NotZero(t, ended, "commits ended by a deadline")
	assert.LessOrEqual(t, quantile(took, 0.9), cancelLimit()+late, "p90 of the return after the deadline; scheduling delay %v", late)
}

// F15: a cancelled run returns within its grace period, even if the database does not
// answer.
func TestF15CancelledRunReturnsWhileTheDatabaseIsSilent(t *testing.T) {
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
			proxy.Intercept(func(fault.Direction, []byte) fault.Action { return fault.Action{Blackhole: true} })
			proxy.BlackholeAll()
			time.AfterFunc(200*time.Millisecond, func() {
				ended.Store(time.Now().UnixNano())
				cancel()
			})
		})
	})
	require.NoError(t, err)
	_, err = g.Thread("t").Invoke(ctx, graph.Begin())
	took := time.Since(time.Unix(0, ended.Load()))
	assert.ErrorIs(t, err, context.Canceled, "run")
	t.Logf("F15: with a silent database, a cancelled run returned after %v", took.Round(time.Millisecond))
	// A cancelled run tries to store its results for up to 10 s, and to release its thread
	// for up to 500 ms.
	assert.LessOrEqual(t, took, 10*time.Second+cancelLimit()+500*time.Millisecond)
	proxy.Intercept(nil)
	proxy.Reset()
}
