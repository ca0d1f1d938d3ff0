package server

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// A server that was stopped before it began a run wakes when another one has executed a part of the run. Its readers
// begin with the first event of the run all the same.
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
