package graph_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var share = graph.NewInterrupt[string, bool]("share")

// shareGraph returns a graph whose run ends with an open question and a waiting join. If
// fails is true, another task fails.
func shareGraph(t *testing.T, s checkpoint.Store, fails bool) *graph.Graph {
	return build(t, s, func(b *graph.Builder) {
		b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err := share.Wait(ctx, "sure?")
			return nil, err
		})
		b.Node("b", func(context.Context, state.View) (state.Update, error) {
			if fails {
				return nil, errBroken
			}
			return state.Update{trail.Put("b")}, nil
		})
		b.Node("early", mark("early"))
		b.Node("c", mark("c"))
		b.Edge(graph.Start, "early")
		b.Edge("early", "a")
		b.Edge("early", "b")
		b.Join("c", "early", "a")
	})
}

// spoil changes every mutable part of a snapshot.
func spoil(s *graph.Snapshot) {
	for k := range maps.Clone(s.Metadata) {
		s.Metadata[k] = "spoilt"
	}
	for i := range s.Next {
		s.Next[i] = "spoilt"
	}
	for i := range s.Tasks {
		s.Tasks[i].Node = "spoilt"
	}
	for i := range s.Waiting {
		for _, list := range [][]string{s.Waiting[i].Arrived, s.Waiting[i].Awaiting} {
			for j := range list {
				list[j] = "spoilt"
			}
		}
	}
	spoilPauses(s.Pauses)
}

func spoilPauses(pauses []graph.Pause) {
	for i := range pauses {
		pauses[i].Interrupt = "spoilt"
		for j := range pauses[i].Prompt {
			pauses[i].Prompt[j] = 'x'
		}
	}
}

// TestSnapshotsAndEventsAreNotShared proves that a reader may change a snapshot or an event
// without an effect on other snapshots and events or on the stored thread.
func TestSnapshotsAndEventsAreNotShared(t *testing.T) {
	t.Parallel()
	s := newStore()
	th := shareGraph(t, s, false).Thread("t").With(graph.RunOptions{Metadata: map[string]string{"user": "ann"}})
	var paused graph.Paused
	var end graph.RunEnded
	for e, err := range th.Stream(t.Context(), trail.Put("in")) {
		require.NoError(t, err)
		switch e := e.(type) {
		case graph.Paused:
			paused = e
		case graph.RunEnded:
			end = e
		}
	}
	check := func(name string, snap *graph.Snapshot) {
		assert.Equal(t, "ann", snap.Metadata["user"], name)
		assert.Equal(t, []string{"a"}, snap.Next, name)
		if assert.Len(t, snap.Pauses, 1, name) {
			assert.Equal(t, "share", snap.Pauses[0].Interrupt, name)
			assert.JSONEq(t, `"sure?"`, string(snap.Pauses[0].Prompt), name)
		}
		assert.Equal(t, []graph.WaitingJoin{{Target: "c", Arrived: []string{"early"}, Awaiting: []string{"a"}}}, snap.Waiting, name)
		assert.Equal(t, "a", snap.Tasks[0].Node, name)
	}
	spoilPauses(paused.Pauses)
	check("end of a run, after its pauses were changed", end.Snapshot)
	read := snapshot(t, th)
	spoil(end.Snapshot)
	check("read before", read)
	check("read after", snapshot(t, th))
	resumed := invoke(t, th)
	check("next run", resumed)
	spoil(resumed)
	spoil(read)
	check("read at last", snapshot(t, th))
	again := invoke(t, th, trail.Put("again"))
	assert.Equal(t, "ann", again.Metadata["user"], "a new turn, which stores checkpoints")
	for _, info := range history(t, th, graph.HistoryQuery{}) {
		assert.Equal(t, "ann", info.Metadata["user"])
	}
}

// TestSnapshotBesideAnErrorIsNotShared proves that a reader may change a snapshot which is
// returned together with an error, without an effect on the stored thread.
func TestSnapshotBesideAnErrorIsNotShared(t *testing.T) {
	t.Parallel()
	th := shareGraph(t, newStore(), true).Thread("t").With(graph.RunOptions{Metadata: map[string]string{"user": "ann"}})
	snap, err := th.Invoke(t.Context(), trail.Put("in"))
	require.ErrorIs(t, err, errBroken)
	spoil(snap)
	_, err = th.Invoke(t.Context())
	require.ErrorIs(t, err, errBroken)
	got := snapshot(t, th)
	assert.Equal(t, "ann", got.Metadata["user"])
	assert.Equal(t, "share", got.Pauses[0].Interrupt)
}

// TestMetadataOfTheCallerIsCopied proves that a caller may change its metadata map after
// the call of With.
func TestMetadataOfTheCallerIsCopied(t *testing.T) {
	t.Parallel()
	own := map[string]string{"user": "ann"}
	th := build(t, newStore(), func(b *graph.Builder) {
		b.Node("a", mark("a"))
		b.Edge(graph.Start, "a")
	}).Thread("t").With(graph.RunOptions{Metadata: own})
	own["user"] = "bo"
	done(t, th, trail.Put("in"))
	require.Equal(t, "ann", snapshot(t, th).Metadata["user"])
}

// TestSnapshotsWhileTheThreadRuns changes returned snapshots while the thread runs again.
// The race detector finds shared memory.
func TestSnapshotsWhileTheThreadRuns(t *testing.T) {
	t.Parallel()
	th := shareGraph(t, newStore(), false).Thread("t").With(graph.RunOptions{Metadata: map[string]string{"user": "ann"}})
	snap := invoke(t, th, trail.Put("in"))
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for range 200 {
			spoil(snap)
		}
	})
	for range 50 {
		if _, err := th.Invoke(t.Context()); !assert.NoError(t, err) {
			return
		}
		if _, err := th.Snapshot(t.Context()); !assert.NoError(t, err) {
			return
		}
	}
}
