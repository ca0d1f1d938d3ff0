package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// newLog returns the log of a thread with n events.
func newLog(t *testing.T, store runs.Store, keep runs.Bounds, n int) *threadLog {
	t.Helper()
	l := newThreadLog(store, "t", keep)
	for range n {
		require.NoError(t, l.append(t.Context(), []runs.Event{{Run: "r", Time: now(), Kind: kindCustom, Data: json.RawMessage(`"data"`)}}))
	}
	return l
}

// numbers returns the sequence numbers of events.
func numbers(events []runs.Event) []int64 {
	var out []int64
	for _, e := range events {
		out = append(out, e.Seq)
	}
	return out
}

func TestLogTellsReadersOfTrimmedEvents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deleted bool // remove the run of the events 4 and 5
		trimmed int  // the number of events that Trim keeps; 0 means all
		after   int64
		want    []int64
		missed  int64
	}{
		"from the start":         {want: []int64{1, 2, 3, 4, 5, 6}},
		"no gap":                 {after: 4, want: []int64{5, 6}},
		"at the end":             {after: 6},
		"before a deleted run":   {deleted: true, after: 2, want: []int64{3, 6}},
		"in a deleted run":       {deleted: true, after: 4, want: []int64{6}},
		"trimmed":                {trimmed: 2, want: []int64{5, 6}, missed: 4},
		"in the trimmed ones":    {trimmed: 2, after: 3, want: []int64{5, 6}, missed: 1},
		"after the trimmed ones": {trimmed: 2, after: 4, want: []int64{5, 6}},
		"trimmed and deleted":    {trimmed: 2, deleted: true, after: 1, want: []int64{3, 6}, missed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memruns.New()
			require.NoError(t, store.Insert(t.Context(), runs.Record{Kind: runs.Run, ID: "other", Parent: "t"}))
			writer := newThreadLog(store, "t", runs.Bounds{})
			for i := range 6 {
				run := "r"
				if i == 3 || i == 4 {
					run = "other"
				}
				require.NoError(t, writer.append(t.Context(), []runs.Event{{Run: run, Kind: kindCustom}}))
			}
			if c.deleted {
				require.NoError(t, store.Delete(t.Context(), runs.Run, "other"))
			}
			if c.trimmed > 0 {
				_, err := store.Trim(t.Context(), "t", runs.Bounds{Events: c.trimmed})
				require.NoError(t, err)
			}
			l := newThreadLog(store, "t", runs.Bounds{})
			require.NoError(t, l.open(t.Context()))
			events, missed, changed, err := l.after(t.Context(), c.after)
			require.NoError(t, err)
			assert.Equal(t, c.want, numbers(events))
			assert.Equal(t, c.missed, missed)
			assert.Equal(t, len(c.want) == 0, changed != nil, "a reader waits if and only if there is nothing to read")
		})
	}
}

// A reader that lacks events older than those in memory reads the store, and gets each event once.
func TestSlowReaderGetsEachEventInOrder(t *testing.T) {
	t.Parallel()
	const n = 5 * maxRecent
	l := newLog(t, memruns.New(), runs.Bounds{}, n)
	assert.LessOrEqual(t, len(l.events), 2*maxRecent)
	var got []int64
	for len(got) < n {
		events, missed, _, err := l.after(t.Context(), int64(len(got)))
		require.NoError(t, err)
		require.NotEmpty(t, events)
		assert.Zero(t, missed)
		got = append(got, numbers(events)...)
	}
	for i, seq := range got {
		require.Equal(t, int64(i+1), seq)
	}
}

func TestLogKeepsLargeEventsWithinItsBounds(t *testing.T) {
	t.Parallel()
	store := memruns.New()
	l := newThreadLog(store, "t", runs.Bounds{Bytes: 10 << 20})
	defer l.reader(0).close() // this reader reads nothing
	large, err := json.Marshal(strings.Repeat("x", 200<<10))
	require.NoError(t, err)
	for range 200 {
		require.NoError(t, l.append(t.Context(), []runs.Event{{Run: "r", Kind: kindValues, Data: large}}))
	}
	assert.LessOrEqual(t, l.size, 3*maxRecentBytes, "in memory")
	stored, err := store.Events(t.Context(), "t", 0, 0)
	require.NoError(t, err)
	assert.InDelta(t, (10<<20)/len(large), len(stored), 8, "in the store")
	_, missed, _, err := l.after(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, stored[0].Seq-1, missed)
}

// A statement of a killed server may take effect after the next server has begun.
func TestLogTakesInEventsThatAnotherServerHasStored(t *testing.T) {
	t.Parallel()
	store := memruns.New()
	l := newLog(t, store, runs.Bounds{}, 2)
	require.NoError(t, store.Append(t.Context(), "t", []runs.Event{{Seq: 3, Kind: "late"}}))
	require.NoError(t, l.append(t.Context(), []runs.Event{{Kind: "new"}}))
	events, _, _, err := l.after(t.Context(), 2)
	require.NoError(t, err)
	assert.Equal(t, []int64{3, 4}, numbers(events))
	assert.Equal(t, "late", events[0].Kind)
}

// A brokenStore is a store whose Append waits until allow is closed, and then fails.
type brokenStore struct {
	runs.Store
	allow chan struct{}
}

var errBroken = errors.New("the disk is full")

func (s *brokenStore) Append(context.Context, string, []runs.Event, ...runs.Record) error {
	<-s.allow
	return errBroken
}

func TestWriterThatWaitsForAFailingStoreGetsItsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &brokenStore{Store: memruns.New(), allow: make(chan struct{})}
		l := newThreadLog(store, "t", runs.Bounds{})
		w := newLogWriter(l, "r")
		require.NoError(t, w.write(runs.Event{Kind: "first"}))
		synctest.Wait() // the store has received the first event and does not answer
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

// The log removes events from memory when all readers have them. A reader that lacks removed events reads them from the
// store.
func TestLogForgetsEventsThatEachReaderHas(t *testing.T) {
	t.Parallel()
	store := memruns.New()
	l := newLog(t, store, runs.Bounds{}, 2)
	add := func() {
		require.NoError(t, l.append(t.Context(), []runs.Event{{Run: "r", Time: now(), Kind: kindCustom, Data: json.RawMessage(`"data"`)}}))
	}
	read := func(r *logReader, after int64) []int64 {
		events, missed, _, err := r.after(t.Context(), after)
		require.NoError(t, err)
		assert.Zero(t, missed)
		return numbers(events)
	}
	assert.Equal(t, []int64{2}, numbers(l.events), "nobody reads")

	ahead, behind := l.reader(2), l.reader(1)
	assert.Empty(t, read(ahead, 2))
	assert.Empty(t, read(ahead, 2), "it looks again")
	add()
	assert.Equal(t, []int64{2, 3}, numbers(l.events), "one reader waits, and the other one is behind")
	assert.Equal(t, []int64{3}, read(ahead, 2))
	assert.Empty(t, read(ahead, 3))
	assert.Equal(t, []int64{2, 3}, read(behind, 1))
	assert.Empty(t, read(behind, 3))
	add()
	assert.Equal(t, []int64{4}, numbers(l.events), "both readers had all")
	assert.Equal(t, len(`"data"`), l.size)
	assert.Equal(t, []int64{4}, read(ahead, 3))
	assert.Equal(t, []int64{1, 2, 3, 4}, read(behind, 0), "from the store")

	behind.close()
	assert.Empty(t, read(ahead, 4))
	add()
	assert.Equal(t, []int64{5}, numbers(l.events), "the only reader had all")
	ahead.close()
}

// If the clients of a server read a run of another server, the log has readers and no writer. It keeps the events that
// its only reader lacks.
func TestReplicaKeepsTheEventsThatItsOnlyReaderLacks(t *testing.T) {
	t.Parallel()
	store := memruns.New()
	l := newLog(t, store, runs.Bounds{}, 1)
	r := l.reader(1)
	defer r.close()
	other := newThreadLog(store, "t", runs.Bounds{})
	require.NoError(t, other.open(t.Context()))
	more := make([]runs.Event, 2*logPage+1)
	for i := range more {
		more[i] = runs.Event{Run: "r", Time: now(), Kind: kindCustom, Data: json.RawMessage(`"data"`)}
	}
	require.NoError(t, other.append(t.Context(), more))
	require.NoError(t, l.refresh(t.Context()))
	assert.Len(t, l.events, len(more), "more than a page")
	require.NoError(t, other.append(t.Context(), more[:1]))
	require.NoError(t, l.refresh(t.Context()))
	assert.Len(t, l.events, len(more)+1)
	_, err := store.Trim(t.Context(), "t", runs.Bounds{Events: 1})
	require.NoError(t, err)
	events, missed, _, err := r.after(t.Context(), 1)
	require.NoError(t, err)
	assert.Zero(t, missed)
	assert.Len(t, events, len(more)+1, "without the store")
}
