package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/weft-go/weft/graph"
)

const (
	loadMessages = 10_000
	// historySample is the number of history entries between two measurements of the heap.
	historySample = 500
)

// load reads a thread from PostgreSQL whose supersteps appended one message each. It
// measures the time to read the state, and the live heap while the history is read.
var load = workload{
	name:    "load",
	what:    "state and history of a long thread in PostgreSQL",
	unit:    "message",
	sizes:   []int{loadMessages / 10, loadMessages},
	warm:    true,
	rounds:  inTurn,
	payload: text1024,
	verify:  verifyLoop,
	contestants: []contestant{
		{name: weft, setUp: loadThread},
	},
	targets: func(r results) []target {
		long, short := cell{weft, loadMessages}, cell{weft, loadMessages / 10}
		all := func(s sample) float64 { return s.ns * loadMessages / 1e6 }
		shorter, _ := r.median(short)
		return []target{
			atMost(r, long, 100, "ms for all messages", all),
			{
				n: long.n, got: ratio(r, long, short, heapOf), bound: 1.5,
				text: fmt.Sprintf("history: live heap <= 1.5 x %s kB of n=%d", number(shorter.heap/1e3), short.n),
			},
		}
	},
}

// loadThread stores a thread and returns a subject that reads it.
func loadThread(ctx context.Context, w workload, n int) (subject, error) {
	// Storing the thread is not measured, so it need not wait for the disk.
	d, err := openDatabase(ctx, map[string]string{"synchronous_commit": "off"})
	if err != nil {
		return subject{}, err
	}
	thread, err := storeThread(ctx, d, w.payload, n)
	if err != nil {
		return subject{}, errors.Join(err, d.close())
	}
	return subject{
		run: func(ctx context.Context) (outcome, error) {
			o, err := loadState(ctx, thread, n)
			if err != nil {
				return outcome{}, err
			}
			o.heap, err = historyHeap(ctx, thread, n)
			return o, err
		},
		close: d.close,
	}, nil
}

// stepsOf returns the number of supersteps of a thread with at least n messages. The
// number is odd, because the loop ends with the agent.
func stepsOf(n int) int { return n | 1 }

// storeThread runs a thread with at least n messages.
func storeThread(ctx context.Context, d *database, p payload, n int) (*graph.Thread, error) {
	store, err := d.store(ctx)
	if err != nil {
		return nil, err
	}
	g, err := weftLoop(p, stepsOf(n), graph.Options{Checkpoints: store})
	if err != nil {
		return nil, err
	}
	thread := g.Thread("long")
	_, err = thread.Invoke(ctx, graph.Begin())
	return thread, err
}

// loadState reads the state of a thread, and returns its first n messages.
func loadState(ctx context.Context, thread *graph.Thread, n int) (outcome, error) {
	start := time.Now()
	s, err := thread.Snapshot(ctx)
	if err != nil {
		return outcome{}, err
	}
	took := time.Since(start)
	o := fromSnapshot(s)
	if o.count != stepsOf(n) || len(o.messages) != o.count {
		return outcome{}, fmt.Errorf("got %d messages and a count of %d, want %d", len(o.messages), o.count, stepsOf(n))
	}
	return outcome{messages: o.messages[:n], count: n, took: took}, nil
}

// historyHeap reads the history of a thread and returns the largest increase of the
// live heap during the read, in bytes.
func historyHeap(ctx context.Context, thread *graph.Thread, n int) (heap int64, err error) {
	before, entries := liveHeap(), 0
	for _, err := range thread.History(ctx, graph.HistoryQuery{}) {
		if err != nil {
			return 0, err
		}
		if entries++; entries%historySample == 0 {
			heap = max(heap, liveHeap()-before)
		}
	}
	if entries < n {
		return 0, fmt.Errorf("the history has %d entries, want %d at least", entries, n)
	}
	return heap, nil
}

// liveHeap returns the bytes of reachable objects.
func liveHeap() int64 {
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}
