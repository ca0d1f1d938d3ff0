package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A workload is work that each contestant does at each size.
type workload struct {
	name  string
	what  string
	unit  string // the unit of a size, in the singular
	sizes []int
	// last makes a workload run after all others. A workload that starts thousands of
	// goroutines is last: the garbage collector scans their stacks until the process ends.
	last bool
	// warm says that no round is needed to warm up, since setUp does it or since a
	// sample takes seconds.
	warm bool
	// rounds is the most rounds of this workload. Zero means all rounds.
	rounds int
	// atLeast is the least time that a sample takes. It is set when the workload is measured.
	atLeast time.Duration
	// limit stops a sample that takes longer: it then counts as infinitely slow. Zero
	// means no limit.
	limit time.Duration
	// processorTime selects user and system time instead of elapsed time.
	processorTime bool
	// payload holds the texts of a run's messages.
	payload payload
	// verify checks the outcome of the last run of a sample. Its time is not measured.
	verify      func(w workload, n int, got outcome) error
	contestants []contestant
	// targets compares the results with the bounds.
	targets func(r results) []target
}

// The contestants that have a column in the table.
const (
	floor = "floor"
	eino  = "eino"
	weft  = "weft"
)

// A contestant does a workload in its own way.
type contestant struct {
	name string
	// upTo is the largest size that the contestant runs. Zero means all sizes.
	upTo int
	// setUp does the work that is not measured, such as compiling a graph for runs of
	// size n.
	setUp func(ctx context.Context, w workload, n int) (subject, error)
}

func (c contestant) does(n int) bool { return c.upTo == 0 || n <= c.upTo }

// A subject is ready to run. Its runs follow each other; one run may use several
// goroutines.
type subject struct {
	run func(ctx context.Context) (outcome, error)
	// stored, when not nil, returns the number of bytes that the runs so far have stored on disk.
	stored func(ctx context.Context) (int64, error)
	// keeps says that the subject retains all data of its runs, so that the heap kept per
	// run can be measured. Before that measurement, trim is called when not nil.
	keeps bool
	trim  func()
	// close, when not nil, releases the resources that setUp acquired.
	close func() error
}

// An outcome is the final state of a run, with the figures that the run has measured itself.
type outcome struct {
	messages []string
	count    int

	// took, when not zero, is the time that counts, instead of the time of the whole run.
	// The field units is the number of units in this time. Zero means the size of the
	// workload.
	took  time.Duration
	units int
	// trips is the number of round trips to a server.
	trips int64
	// heap is the largest live heap that the run saw, in bytes.
	heap int64
}

// verifyLoop checks that the loop has appended one message a step, in order.
func verifyLoop(w workload, n int, got outcome) error {
	if err := verifyCount(w, n, got); err != nil {
		return err
	}
	return verifyMessages(w, n, got.messages)
}

// verifyCount checks that a run has counted all its units.
func verifyCount(_ workload, n int, got outcome) error {
	if got.count != n {
		return fmt.Errorf("count: got %d, want %d", got.count, n)
	}
	return nil
}

func verifyMessages(w workload, n int, got []string) error {
	if len(got) != n {
		return fmt.Errorf("messages: got %d, want %d", len(got), n)
	}
	for i, m := range got {
		if m != w.payload.at(i) {
			return fmt.Errorf("message %d: got %q, want %q", i, m, w.payload.at(i))
		}
	}
	return nil
}

// workloads are the workloads that need no server, in the order of the table.
var workloads = slices.Concat([]workload{w1, w2, w3, w4s, w5, w6, w7}, w9, []workload{pausing})

// storeWorkloads are the workloads of -stores, in the order of the table.
var storeWorkloads = []workload{w4p, w8Postgres, w8SQLite, load}
