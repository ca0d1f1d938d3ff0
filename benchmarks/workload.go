package main

import (
	"context"
	"fmt"
)

// A workload is work that each contestant does at each size.
type workload struct {
	name  string
	what  string
	unit  string // what a size counts
	sizes []int
	// crowds says that it starts many thousand goroutines at once. The collector looks
	// at what is left of them for the rest of the process, so it is measured last.
	crowds bool
	// payload makes the i-th message of a run.
	payload payload
	// verify checks a whole outcome. It is not part of what is measured.
	verify      func(w workload, n int, got outcome) error
	contestants []contestant
	// targets judges the medians.
	targets func(r results) []target
}

// The names of the contestants.
const (
	floor = "floor"
	eino  = "eino"
	weft  = "weft"
)

// A contestant does a workload in its own way.
type contestant struct {
	name string
	// upTo is the largest size that it is asked to do. Zero means all.
	upTo int
	// setUp does what is not measured, such as compiling a graph for runs of
	// size n.
	setUp func(ctx context.Context, w workload, n int) (subject, error)
}

func (c contestant) does(n int) bool { return c.upTo == 0 || n <= c.upTo }

// A subject is ready to run. Runs follow each other; a run may use several
// goroutines.
type subject struct {
	run func(ctx context.Context) (outcome, error)
	// stored, when not nil, tells how many bytes the runs so far have left on
	// disk.
	stored func() (int64, error)
	// keeps says that the subject holds on to what its runs store, so that the
	// heap kept per run can be measured. Trim, when not nil, is called before.
	keeps bool
	trim  func()
	// close, when not nil, frees what setUp took.
	close func() error
}

// An outcome is the final state of a run.
type outcome struct {
	messages []string
	count    int
}

// verifyLoop checks that the loop has appended one message a step, in order.
func verifyLoop(w workload, n int, got outcome) error {
	if got.count != n {
		return fmt.Errorf("count: got %d, want %d", got.count, n)
	}
	return verifyMessages(w, n, got.messages)
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

// workloads are all of them, in the order of the table.
var workloads = []workload{w1, w2, w3, w4s, w5, w6, pauseMemory, pauseSQLite}
