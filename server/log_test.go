package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

func TestLogIsReadAcrossEventsOfDeletedRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kept   []int64
		after  int64
		want   []int64
		missed int64
	}{
		"from the start":   {kept: []int64{1, 2, 3}, want: []int64{1, 2, 3}},
		"no gap":           {kept: []int64{1, 2, 3}, after: 2, want: []int64{3}},
		"behind a gap":     {kept: []int64{1, 5, 9}, after: 5, want: []int64{9}},
		"far behind a gap": {kept: []int64{1, 2, 9}, after: 8, want: []int64{9}},
		"in a gap":         {kept: []int64{1, 5, 9}, after: 3, want: []int64{5, 9}},
		"before all":       {kept: []int64{4, 9}, after: 1, want: []int64{4, 9}, missed: 2},
		"at the end":       {kept: []int64{1, 9}, after: 9},
		"nothing is kept":  {after: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &threadLog{first: map[string]int64{}, changed: make(chan struct{})}
			for _, seq := range c.kept {
				l.add([]runs.Event{{Seq: seq, Run: "r"}})
			}
			events, missed, changed := l.after(c.after)
			var got []int64
			for _, e := range events {
				got = append(got, e.Seq)
			}
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.missed, missed)
			assert.Equal(t, len(c.want) == 0, changed != nil, "a reader waits if and only if there is nothing to read")
		})
	}
}

// A brokenStore fails when events are stored, after allow was closed.
type brokenStore struct {
	runs.Store
	allow chan struct{}
}

var errBroken = errors.New("the disk is full")

func (s *brokenStore) Append(context.Context, string, []runs.Event) error {
	<-s.allow
	return errBroken
}

func TestWriterThatWaitsForAFailingStoreGetsItsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &brokenStore{Store: memruns.New(), allow: make(chan struct{})}
		l := &threadLog{store: store, thread: "t", first: map[string]int64{}, changed: make(chan struct{})}
		w := newLogWriter(t.Context(), l, "r")
		require.NoError(t, w.write(runs.Event{Kind: "first"}))
		synctest.Wait() // The store has the first event and does not answer.
		for range maxPending {
			require.NoError(t, w.write(runs.Event{Kind: "next"}))
		}
		failed := make(chan error, 1)
		go func() { failed <- w.write(runs.Event{Kind: "one too many"}) }()
		synctest.Wait()
		close(store.allow)
		synctest.Wait()
		select {
		case err := <-failed:
			require.ErrorIs(t, err, errBroken)
		default:
			t.Error("the writer waits although the store has failed")
			w.mu.Lock()
			w.cond.Broadcast()
			w.mu.Unlock()
		}
		require.ErrorIs(t, w.close(), errBroken)
	})
}
