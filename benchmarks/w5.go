package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/weft-go/weft/graph"
)

// w5Steps is how many supersteps a run of W5 has.
const w5Steps = 11

// w5 runs many threads at once. Each thread is W3 with 11 supersteps. A size is a
// number of runs.
var w5 = workload{
	name:    "W5",
	what:    "many threads at once, 11 supersteps a run",
	unit:    "run",
	sizes:   []int{1000},
	payload: text64,
	verify: func(w workload, n int, got outcome) error {
		if got.count != n {
			return fmt.Errorf("right runs: got %d, want %d", got.count, n)
		}
		return verifyMessages(w, w5Steps, got.messages)
	},
	contestants: []contestant{
		{name: floor, setUp: w5Floor},
		{name: eino, setUp: w5Eino},
		{name: weft, setUp: w5Weft},
	},
	targets: func(r results) []target {
		const n = 1000
		return []target{
			{n: n, text: ">= 0.35 x floor's runs/s", got: ratio(r, cell{floor, n}, cell{weft, n}, timeOf), bound: 0.35, least: true},
			{n: n, text: ">= 2 x eino's runs/s", got: ratio(r, cell{eino, n}, cell{weft, n}, timeOf), bound: 2, least: true},
		}
	},
}

// atOnce does n runs from twice as many goroutines as there are processors. It counts
// the runs whose state is right, and returns the messages of one of them.
func atOnce(ctx context.Context, w workload, n int, run func(ctx context.Context, i int) (outcome, error)) (outcome, error) {
	workers := 2 * runtime.GOMAXPROCS(0)
	results := make([]outcome, workers)
	failed := make([]error, workers)
	var next atomic.Int64
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			mine := &results[worker]
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				o, err := run(ctx, i)
				if err != nil {
					failed[worker] = err
					return
				}
				if o.count == w5Steps && len(o.messages) == w5Steps && o.messages[w5Steps-1] == w.payload.at(w5Steps-1) {
					mine.count++
				}
				mine.messages = o.messages
			}
		})
	}
	wg.Wait()
	var all outcome
	for _, r := range results {
		all.count += r.count
		if r.messages != nil {
			all.messages = r.messages
		}
	}
	return all, errors.Join(failed...)
}

// w5Floor keeps the log of every run, as a store does.
func w5Floor(_ context.Context, w workload, n int) (subject, error) {
	var batches [][]*deltaLog
	return subject{run: func(ctx context.Context) (outcome, error) {
		logs := make([]*deltaLog, n)
		batches = append(batches, logs)
		return atOnce(ctx, w, n, func(_ context.Context, i int) (o outcome, err error) {
			if logs[i], err = loggedLoop(w.payload, w5Steps); err != nil {
				return o, err
			}
			o.fromMap(logs[i].state)
			return o, nil
		})
	}}, nil
}

// w5Eino stores nothing, since a checkpoint of eino takes longer than the rest of a run.
func w5Eino(ctx context.Context, w workload, n int) (subject, error) {
	g, err := einoLoop(ctx, einoPointers(w.payload, w5Steps))
	if err != nil {
		return subject{}, err
	}
	return subject{run: func(ctx context.Context) (outcome, error) {
		return atOnce(ctx, w, n, func(ctx context.Context, _ int) (outcome, error) {
			s, err := g.Invoke(ctx, nil)
			if err != nil {
				return outcome{}, err
			}
			return outcome{messages: s.Messages, count: s.Count}, nil
		})
	}}, nil
}

// w5Weft stores every step of every thread in memory.
func w5Weft(_ context.Context, w workload, n int) (subject, error) {
	store := newMemoryStore()
	g, err := weftLoop(w.payload, w5Steps, graph.Options{Checkpoints: store})
	if err != nil {
		return subject{}, err
	}
	batch := 0
	return subject{run: func(ctx context.Context) (outcome, error) {
		batch++
		return atOnce(ctx, w, n, func(ctx context.Context, i int) (outcome, error) {
			s, err := g.Thread(strconv.Itoa(batch*n+i)).Invoke(ctx, graph.Begin())
			if err != nil {
				return outcome{}, err
			}
			return fromSnapshot(s), nil
		})
	}}, nil
}
