package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
)

// prune measures runs alone, and while half of the threads are deleted; then it measures how fast the
// histories of threads are pruned.
func (p *place) prune(ctx context.Context, store *pgcheckpoint.Store, s settings) error {
	g, err := newGraph(store)
	if err != nil {
		return err
	}
	alone, err := p.measure(ctx, g, s, func(ctx context.Context) error {
		p.progress("runs alone")
		select {
		case <-time.After(s.undisturbed):
		case <-ctx.Done():
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	var done checkpoint.PruneProgress
	// KeepLast keeps the histories of the threads that are not deleted.
	policy := checkpoint.PrunePolicy{DeleteIdle: 30 * 24 * time.Hour, KeepLast: 1000, Progress: func(now checkpoint.PruneProgress) {
		if now.Threads/50_000 > done.Threads/50_000 {
			p.progress("%d threads deleted", now.Threads)
		}
		done = now
	}}
	beside, err := p.measure(ctx, g, s, func(ctx context.Context) error {
		_, err := store.Prune(ctx, policy)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d threads with %d checkpoints were deleted in %.0f s, %.0f threads a second, beside %d runs at once.\n\n",
		done.Threads, done.Checkpoints, beside.took.Seconds(), float64(done.Threads)/beside.took.Seconds(), s.runs)
	fmt.Printf("| %d runs at once | runs/s | p50 | p99 |\n| --- | --: | --: | --: |\n", s.runs)
	alone.print("alone")
	beside.print("while half of the threads are deleted")
	ratio := float64(beside.times.percentile(99)) / float64(alone.times.percentile(99))
	fmt.Printf("| ratio (target: at most %d) | | | %.2f |\n\n", maxRatio, ratio)
	fmt.Printf("A run alone wrote %.1f KB to the write-ahead log.\n\n", float64(alone.log)/1024/float64(len(alone.times)))
	if err := p.dead(ctx, "After that"); err != nil {
		return err
	}
	if err := p.pruneHistories(ctx, store, s); err != nil {
		return err
	}
	if ratio > maxRatio {
		return fmt.Errorf("the p99 of runs beside the deletion is %.2f times that of runs alone, and at most %d is wanted", ratio, maxRatio)
	}
	return nil
}

// maxRatio is the target for the p99 of runs while half of the threads are deleted, as a multiple of the p99 without it.
const maxRatio = 2

// A measured holds the durations of runs, and the write-ahead log that was written meanwhile.
type measured struct {
	times times
	took  time.Duration
	log   int64 // bytes of the write-ahead log
}

func (m *measured) print(what string) {
	fmt.Printf("| %s | %.0f | %s | %s |\n", what, float64(len(m.times))/m.took.Seconds(), milliseconds(m.times.percentile(50)), milliseconds(m.times.percentile(99)))
}

// measure measures runs of new threads, with four checkpoints each, while fn runs.
func (p *place) measure(ctx context.Context, g *graph.Graph, s settings, fn func(context.Context) error) (*measured, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var m measured
	var failed error
	for range s.runs {
		wg.Go(func() {
			taken, err := repeat(running, g)
			mu.Lock()
			defer mu.Unlock()
			m.times = append(m.times, taken...)
			failed = errors.Join(failed, err)
		})
	}
	before, err := p.logged(ctx)
	begin := time.Now()
	err = errors.Join(err, fn(ctx))
	m.took = time.Since(begin)
	stop()
	wg.Wait()
	after, lerr := p.logged(ctx)
	m.log = after - before
	return &m, errors.Join(err, lerr, failed)
}

// logged returns how many bytes the server has written to its write-ahead log.
func (p *place) logged(ctx context.Context) (n int64, err error) {
	err = p.pool.QueryRow(ctx, `SELECT (pg_current_wal_lsn() - '0/0')::bigint`).Scan(&n)
	return n, err
}

// repeat runs the graph until ctx is done. It does not measure the run that ctx ends.
func repeat(ctx context.Context, g *graph.Graph) (taken times, err error) {
	for ctx.Err() == nil {
		begin := time.Now()
		snap, err := g.Thread(rand.Text()).Invoke(context.WithoutCancel(ctx), kind.Put("send"), messages.Put("user: Where is my order?"))
		if err != nil {
			return nil, err
		}
		if n := len(messages.Get(snap)); n != 4 {
			return nil, fmt.Errorf("a run has %d messages, and not 4", n)
		}
		if ctx.Err() == nil {
			taken = append(taken, time.Since(begin))
		}
	}
	return taken, nil
}

// pruneHistories prunes threads to their newest checkpoint.
func (p *place) pruneHistories(ctx context.Context, store *pgcheckpoint.Store, s settings) error {
	var threads []string
	for t, err := range store.ListThreads(ctx, "") {
		if err != nil {
			return err
		}
		if threads = append(threads, t.ID); len(threads) == s.pruned {
			break
		}
	}
	begin := time.Now()
	n, err := store.Prune(ctx, checkpoint.PrunePolicy{Threads: threads})
	took := time.Since(begin).Seconds()
	fmt.Printf("The histories of %d threads were pruned in %.1f s: %.0f threads and %.0f checkpoints a second.\n", len(threads), took, float64(len(threads))/took, float64(n)/took)
	return err
}
