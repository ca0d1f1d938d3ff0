//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// outages stops and starts a server repeatedly.
type outages struct {
	server *fault.Server
	every  [2]time.Duration // the shortest and the longest time between two outages
	down   time.Duration    // the longest outage

	n  atomic.Int64 // the number of outages so far
	up atomic.Int64 // the end of the last outage, in Unix nanoseconds
}

// run stops the server at random times, in random ways, until done is closed.
func (o *outages) run(ctx context.Context, r *rand.Rand, done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		case <-time.After(o.every[0] + time.Duration(r.Int64N(int64(o.every[1]-o.every[0])))):
		}
		if err := o.once(ctx, r); err != nil {
			return err
		}
	}
}

func (o *outages) once(ctx context.Context, r *rand.Rand) error {
	how := []fault.Stop{fault.Immediate, fault.Immediate, fault.Fast, fault.Kill}[r.IntN(4)]
	if err := o.server.Stop(how); err != nil {
		return err
	}
	<-time.After(time.Duration(r.Int64N(int64(o.down) + 1)))
	if err := o.server.Start(ctx); err != nil {
		return err
	}
	o.up.Store(time.Now().UnixNano())
	o.n.Add(1)
	return nil
}

// recoveries records the time from the end of each outage to the next successful write.
type recoveries struct {
	outages *outages
	mu      sync.Mutex
	took    []time.Duration
}

// worker returns a function that records the progress of one worker.
func (r *recoveries) worker() progressFunc {
	var seen atomic.Int64
	return func(kind, _, _ string) {
		up := r.outages.up.Load()
		if kind == "run" || up == 0 || seen.Swap(up) == up {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.took = append(r.took, time.Since(time.Unix(0, up)))
	}
}

// F3: the server stops and restarts during runs. No run fails.
func TestF03RunsSurviveServerStops(t *testing.T) {
	for name, pooled := range map[string]bool{"direct": false, "behind PgBouncer": true} {
		t.Run(name, func(t *testing.T) { runsSurviveServerStops(t, pooled) })
	}
}

func runsSurviveServerStops(t *testing.T, pooled bool) {
	t.Helper()
	seed := begin(t)
	const workers, rounds = 16, 3
	want := int64(count(60, 2000))
	least := int64(count(2, 20))
	server := newServer(t)
	o := &outages{server: server, every: [2]time.Duration{2 * time.Second, 5 * time.Second}, down: 2 * time.Second}
	if !long() {
		o.every, o.down = [2]time.Duration{time.Second, 2 * time.Second}, 500*time.Millisecond
	}
	url := server.URL()
	if pooled {
		url = pgtest.Pooler(t, url)
	}
	store, _ := openPool(t, url, pgcheckpoint.Options{}, func(c *pgxpool.Config) { c.MaxConns = workers })
	back := &recoveries{outages: o}
	var runs atomic.Int64
	var all sync.WaitGroup
	for range workers {
		tell := back.worker()
		all.Go(func() {
			g, err := fan(observedStore{store, tell}, rounds, ignoreProgress)
			if !assert.NoError(t, err) {
				return
			}
			for !t.Failed() && (runs.Load() < want || o.n.Load() < least) {
				thread := fmt.Sprint("t", runs.Add(1))
				_, err := startOrResume(t.Context(), g.Thread(thread))
				assert.NoError(t, err, "a run during an outage")
			}
		})
	}
	done := make(chan struct{})
	var keeper sync.WaitGroup
	keeper.Go(func() { assert.NoError(t, o.run(t.Context(), newRand(seed, 0), done), "outages") })
	all.Wait()
	close(done)
	keeper.Wait()
	for n := range runs.Load() {
		assert.NoError(t, checkThread(t.Context(), store, fmt.Sprint("t", n+1), rounds, nil), "check")
	}
	p99 := quantile(back.took, 0.99)
	t.Logf("F3: %d runs over %d outages; first write after an outage: p50 %v, p99 %v", runs.Load(), o.n.Load(),
		quantile(back.took, 0.5).Round(time.Millisecond), p99.Round(time.Millisecond))
	limit := 3 * time.Second
	if pooled { // PgBouncer tries the database again each second
		limit += 2 * time.Second
	}
	assert.LessOrEqual(t, p99, limit, "p99 of the time from the end of an outage to the first write")
}

// F18: the database is down for a long time while hundreds of runs need it. The runs try to connect
// only rarely. They resume soon after the database is available again.
func TestF18LongOutageCausesNoRetryStorm(t *testing.T) {
	seed := begin(t)
	const rounds = 1
	runs, away := count(100, 500), 4*time.Second
	if long() {
		away = time.Minute
	}
	server := newServer(t)
	proxy, address := newProxy(t, server.URL())
	const conns = 8
	store, _ := openPool(t, address, pgcheckpoint.Options{Patience: 2 * time.Minute}, func(c *pgxpool.Config) { c.MaxConns = conns })
	out := &outages{server: server}
	back := &recoveries{outages: out}
	graphs := make([]*graph.Graph, runs)
	for n := range graphs {
		var err error
		graphs[n], err = fan(observedStore{store, back.worker()}, rounds, ignoreProgress)
		require.NoError(t, err)
	}
	_, err := startOrResume(t.Context(), graphs[0].Thread("before"))
	require.NoError(t, err)
	require.NoError(t, server.Stop(fault.Immediate))
	before := proxy.Accepted()
	var all sync.WaitGroup
	var finished atomic.Int64
	r := newRand(seed, 0)
	for n := range runs {
		later := time.Duration(r.Int64N(int64(away / 2)))
		all.Go(func() {
			<-time.After(later)
			_, err := startOrResume(t.Context(), graphs[n].Thread(fmt.Sprint("t", n)))
			assert.NoError(t, err)
			finished.Add(1)
		})
	}
	const noticed = time.Second
	<-time.After(noticed)
	first := proxy.Accepted() - before
	<-time.After(away - noticed)
	tried := proxy.Accepted() - before - first
	assert.Zero(t, finished.Load(), "runs that ended while the database was down")
	require.NoError(t, server.Start(t.Context()))
	up := time.Now()
	out.up.Store(up.UnixNano())
	all.Wait()
	p99 := quantile(back.took, 0.99)
	t.Logf("F18: database down for %v, %d runs: %d connections tried in the first second, then %.2f/s; first write %v (p99) after the outage, all runs done after %v",
		away, runs, first, float64(tried)/(away-noticed).Seconds(), p99.Round(time.Millisecond), time.Since(up).Round(time.Millisecond))
	// In the first second the pool replaces each of its connections, the store retries each
	// call, and pgx may dial twice for each connection.
	assert.LessOrEqual(t, first, 4*conns, "connections in the first second")
	assert.LessOrEqual(t, tried, 2*int((away-noticed)/time.Second), "connections after the first second")
	assert.LessOrEqual(t, p99, 5*time.Second, "p99 of the recovery")
	assert.GreaterOrEqual(t, len(back.took), runs, "recovered runs")
	for n := range runs {
		assert.NoError(t, checkThread(t.Context(), store, fmt.Sprint("t", n), rounds, nil), "check")
	}
}

// F18: a call returns ErrUnreachable if the database is down for longer than
// Options.Patience.
func TestF18CallsFailWhenThePatienceEnds(t *testing.T) {
	begin(t)
	server := newServer(t)
	store, _ := openPool(t, server.URL(), pgcheckpoint.Options{Patience: time.Second})
	require.NoError(t, server.Stop(fault.Immediate))
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			start := time.Now()
			err := store.Put(t.Context(), step(fmt.Sprint("t", n), stepID(1), "", "0"), "")
			assert.ErrorIs(t, err, pgcheckpoint.ErrUnreachable, "put")
			assert.InDelta(t, 1.75, time.Since(start).Seconds(), 1.25, "seconds until the error")
		})
	}
	all.Wait()
	require.NoError(t, server.Start(t.Context()))
	for n := range 50 {
		thread := fmt.Sprint("t", n)
		assert.NoError(t, store.Put(t.Context(), step(thread, stepID(1), "", "0"), ""), "put")
		wantChain(t, store, thread, 1)
	}
}
