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

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
)

// outages stop and start a server until they are ended.
type outages struct {
	server *fault.Server
	every  [2]time.Duration // the least and the most between two
	down   time.Duration    // the most

	n  atomic.Int64
	up atomic.Int64 // when it answered last, in Unix nanoseconds
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

// recoveries note how long after an outage those who work get through.
type recoveries struct {
	outages *outages
	mu      sync.Mutex
	took    []time.Duration
}

// worker returns what one who works tells when it got through.
func (r *recoveries) worker() teller {
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

// F3: the server stops and starts again under runs, which do not fail.
func TestF03ServerStops(t *testing.T) {
	seed := begin(t)
	const workers, rounds = 16, 3
	want := int64(count(60, 2000))
	least := int64(count(2, 20))
	server := newServer(t)
	o := &outages{server: server, every: [2]time.Duration{2 * time.Second, 5 * time.Second}, down: 2 * time.Second}
	if !long() {
		o.every, o.down = [2]time.Duration{time.Second, 2 * time.Second}, 500*time.Millisecond
	}
	store, _ := openPool(t, server.URL(), pgcheckpoint.Options{}, func(c *pgxpool.Config) { c.MaxConns = workers })
	back := &recoveries{outages: o}
	var runs atomic.Int64
	var all sync.WaitGroup
	for range workers {
		tell := back.worker()
		all.Go(func() {
			g, err := fan(toldStore{store, tell}, rounds, nobodyHears)
			if err != nil {
				t.Error(err)
				return
			}
			for !t.Failed() && (runs.Load() < want || o.n.Load() < least) {
				thread := fmt.Sprint("t", runs.Add(1))
				if _, err := goOn(t.Context(), g.Thread(thread)); err != nil {
					t.Errorf("the outage came through: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	var keeper sync.WaitGroup
	keeper.Go(func() { wantNoErr(t, "outages", o.run(t.Context(), dice(seed, 0), done)) })
	all.Wait()
	close(done)
	keeper.Wait()
	for n := range runs.Load() {
		wantNoErr(t, "check", checkThread(t.Context(), store, fmt.Sprint("t", n+1), rounds, nil))
	}
	p99 := quantile(back.took, 0.99)
	t.Logf("F3: %d runs over %d outages; back after it was up: p50 %v, p99 %v", runs.Load(), o.n.Load(),
		quantile(back.took, 0.5).Round(time.Millisecond), p99.Round(time.Millisecond))
	if p99 > 3*time.Second {
		t.Errorf("the p99 of getting through again is %v", p99)
	}
}

// F18: the database is away for long, and 500 runs want it. They try seldom, and go on
// soon when it is back.
func TestF18RetryStorm(t *testing.T) {
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
		if graphs[n], err = fan(toldStore{store, back.worker()}, rounds, nobodyHears); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := goOn(t.Context(), graphs[0].Thread("before")); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(fault.Immediate); err != nil {
		t.Fatal(err)
	}
	before := proxy.Accepted()
	var all sync.WaitGroup
	var finished atomic.Int64
	r := dice(seed, 0)
	for n := range runs {
		later := time.Duration(r.Int64N(int64(away / 2)))
		all.Go(func() {
			<-time.After(later)
			if _, err := goOn(t.Context(), graphs[n].Thread(fmt.Sprint("t", n))); err != nil {
				t.Error(err)
			}
			finished.Add(1)
		})
	}
	const noticed = time.Second
	<-time.After(noticed)
	first := proxy.Accepted() - before
	<-time.After(away - noticed)
	tried := proxy.Accepted() - before - first
	if n := finished.Load(); n > 0 {
		t.Errorf("%d runs ended without a database", n)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	up := time.Now()
	out.up.Store(up.UnixNano())
	all.Wait()
	p99 := quantile(back.took, 0.99)
	t.Logf("F18: away for %v, %d runs: %d connections tried in the first second, then %.2f/s; all wrote again %v (p99) after it was back, all done after %v",
		away, runs, first, float64(tried)/(away-noticed).Seconds(), p99.Round(time.Millisecond), time.Since(up).Round(time.Millisecond))
	// In the first second those come on top which were on their way when the first failed: every
	// connection of the pool, which is replaced and tried once more, and pgx may dial twice.
	if most := 4 * conns; first > most {
		t.Errorf("there were %d tries in the first second, want at most %d", first, most)
	}
	if most := 2 * int((away-noticed)/time.Second); tried > most {
		t.Errorf("there were %d tries afterwards, want at most %d", tried, most)
	}
	if p99 > 5*time.Second || len(back.took) < runs {
		t.Errorf("it took %v for %d runs to recover, want 5 s", p99, len(back.took))
	}
	for n := range runs {
		wantNoErr(t, "check", checkThread(t.Context(), store, fmt.Sprint("t", n), rounds, nil))
	}
}

// A database that stays away is an error, which says so, once the patience has ended.
func TestF18Unreachable(t *testing.T) {
	begin(t)
	server := newServer(t)
	store, _ := openPool(t, server.URL(), pgcheckpoint.Options{Patience: time.Second})
	if err := server.Stop(fault.Immediate); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 50 {
		all.Go(func() {
			start := time.Now()
			err := store.Put(t.Context(), step(fmt.Sprint("t", n), stepID(1), "", "0"), "")
			wantErr(t, "put", err, pgcheckpoint.ErrUnreachable)
			if took := time.Since(start); took < 500*time.Millisecond || took > 3*time.Second {
				t.Errorf("it took %v to say so, want 1 s", took)
			}
		})
	}
	all.Wait()
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := range 50 {
		thread := fmt.Sprint("t", n)
		wantNoErr(t, "put", store.Put(t.Context(), step(thread, stepID(1), "", "0"), ""))
		wantChain(t, store, thread, 1)
	}
}
