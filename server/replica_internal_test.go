package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A server was stopped before it began a run, and another server has executed a part of the run meanwhile. Readers on the
// first server still begin with the first event of the run.
func TestReaderBeginsWithTheFirstEventOfARunOfAnotherServer(t *testing.T) {
	t.Parallel()
	store, thread, run := memruns.New(), uuid.New(), uuid.New()
	before := int64(1)
	require.NoError(t, store.Insert(
		t.Context(), runs.Record{Kind: runs.Thread, ID: thread, Data: encoded(threadData{})},
		runs.Record{Kind: runs.Run, ID: run, Parent: thread, Status: runRunning, Data: encoded(runData{Before: &before})},
	))
	var events []runs.Event
	for i := range int64(5) {
		events = append(events, runs.Event{Seq: i + 1, Run: run, Time: now(), Kind: kindCustom})
	}
	require.NoError(t, store.Append(t.Context(), thread, events))
	log := newThreadLog(store, thread, runs.Bounds{})
	log.tell = func() {}
	require.NoError(t, log.open(t.Context()))
	assert.Equal(t, int64(5), log.begin(run, nil))
	got, err := log.before(t.Context(), run)
	require.NoError(t, err)
	assert.Equal(t, before, got)
}

// A lossyStore loses the answer when the status of a run changes to running for the first time.
type lossyStore struct {
	*memruns.Store
	lost atomic.Bool
}

func (s *lossyStore) Update(ctx context.Context, r runs.Record) (int64, error) {
	revision, err := s.Store.Update(ctx, r)
	if err == nil && r.Kind == runs.Run && r.Status == runRunning && !s.lost.Swap(true) {
		return 0, errors.New("the connection was lost")
	}
	return revision, err
}

// If the database restarts when a run begins, the run is still executed.
func TestLostAnswerOfTheStoreDoesNotEndARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := wordGraph(t, func(context.Context, state.View) (state.Update, error) { return state.Update{words.Put("done")}, nil })
		store, thread, run := &lossyStore{Store: memruns.New()}, uuid.New(), uuid.New()
		require.NoError(t, store.Insert(
			t.Context(), runs.Record{Kind: runs.Thread, ID: thread, Graph: "words", Data: encoded(threadData{})},
			runs.Record{Kind: runs.Run, ID: run, Parent: thread, Graph: "words", Status: runPending, Data: encoded(runData{Request: runRequest{Input: json.RawMessage(`{"words":"x"}`)}})},
		))
		s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: store})
		require.NoError(t, err)
		<-s.endOf(run)
		require.NoError(t, s.Close(t.Context()))
		r, err := store.Get(t.Context(), runs.Run, run)
		require.NoError(t, err)
		assert.True(t, store.lost.Load())
		assert.Equal(t, runSuccess, r.Status)
	})
}
