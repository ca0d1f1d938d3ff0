package pgcheckpoint_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// stepID returns the n-th id. It has the form of the ids of package graph.
func stepID(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// step returns the n-th checkpoint of a thread. Its parent is the (n-1)-th.
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

// put stores the n-th checkpoint of a thread.
func put(tb testing.TB, store checkpoint.Store, thread string, n int) {
	tb.Helper()
	c := step(thread, n)
	require.NoError(tb, store.Put(context.Background(), c, c.Parent))
}

// putAll stores the first n checkpoints of a thread.
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
	require.NoError(tb, err)
	return c
}

func wantErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	assert.ErrorIs(tb, err, want, what)
}

func wantNoErr(tb testing.TB, what string, err error) {
	tb.Helper()
	assert.NoError(tb, err, what)
}

// wantSteps checks the number of a thread's checkpoints in all namespaces.
func wantSteps(tb testing.TB, store checkpoint.Store, thread string, want int) {
	tb.Helper()
	n := 0
	for _, err := range store.List(context.Background(), checkpoint.Query{Thread: thread, AllNamespaces: true}) {
		require.NoError(tb, err)
		n++
	}
	assert.Equal(tb, want, n)
}

func lease(tb testing.TB, store checkpoint.Store, thread string) checkpoint.Lease {
	tb.Helper()
	l, err := store.(checkpoint.Leaser).Lease(context.Background(), thread)
	require.NoError(tb, err)
	tb.Cleanup(func() { wantNoErr(tb, "release", l.Release(context.Background())) })
	return l
}
