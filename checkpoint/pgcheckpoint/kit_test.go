package pgcheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/weft-go/weft/checkpoint"
)

// stepID spells a number as the id that package graph would use.
func stepID(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// step returns the n-th checkpoint of a thread, which follows the one before.
func step(thread string, n int) checkpoint.Checkpoint {
	c := checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: thread, ID: stepID(n)}, Step: n, Source: checkpoint.Loop, Run: "run", Version: "1",
		Control: []byte(`{"next":["tools"]}`),
		Changes: []checkpoint.Change{{Channel: "messages", Kind: 2, Data: fmt.Appendf(nil, `["message %d"]`, n)}},
	}
	if n > 1 {
		c.Parent = stepID(n - 1)
	}
	return c
}

// put puts the n-th checkpoint of a thread.
func put(tb testing.TB, store checkpoint.Store, thread string, n int) {
	tb.Helper()
	c := step(thread, n)
	if err := store.Put(context.Background(), c, c.Parent); err != nil {
		tb.Fatal(err)
	}
}

// putAll puts the first n checkpoints of a thread.
func putAll(tb testing.TB, store checkpoint.Store, thread string, n int) {
	tb.Helper()
	for i := range n {
		put(tb, store, thread, i+1)
	}
}

func write(task string) checkpoint.Write {
	return checkpoint.Write{Task: task, Channel: "answer", Data: []byte(`"yes"`)}
}

func newest(tb testing.TB, store checkpoint.Store, thread string) checkpoint.Checkpoint {
	tb.Helper()
	c, err := store.Get(context.Background(), checkpoint.Key{Thread: thread})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func wantErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: got error %v want %v", what, err, want)
	}
}

func wantNoErr(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Errorf("%s: %v", what, err)
	}
}

// wantSteps wants a thread to have so many checkpoints.
func wantSteps(tb testing.TB, store checkpoint.Store, thread string, want int) {
	tb.Helper()
	n := 0
	for _, err := range store.List(context.Background(), checkpoint.Query{Thread: thread, AllNamespaces: true}) {
		if err != nil {
			tb.Fatal(err)
		}
		n++
	}
	if n != want {
		tb.Errorf("thread %q: got %d checkpoints want %d", thread, n, want)
	}
}

func lease(tb testing.TB, store checkpoint.Store, thread string) checkpoint.Lease {
	tb.Helper()
	l, err := store.(checkpoint.Leaser).Lease(context.Background(), thread)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { wantNoErr(tb, "release", l.Release(context.Background())) })
	return l
}
