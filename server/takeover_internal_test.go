package server

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

var words = state.Append[string]("words")

// wordGraph has one node, which writes a word.
func wordGraph(t *testing.T, node graph.NodeFunc) *graph.Graph {
	t.Helper()
	b := graph.New("words", words)
	b.Node("node", node)
	b.Edge(graph.Start, "node")
	b.Edge("node", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// A run that rolls back the one before it also undoes the checkpoints that another server has stored
// for that.
func TestRollbackUndoesARunOfAnotherServer(t *testing.T) {
	t.Parallel()
	g := wordGraph(t, func(context.Context, state.View) (state.Update, error) { return state.Update{words.Put("done")}, nil })
	store, thread, first, second := memruns.New(), uuid.New(), uuid.New(), uuid.New()
	_, err := g.Thread(thread).With(graph.RunOptions{Metadata: map[string]string{metaRun: first}}).Invoke(t.Context(), words.Put("first"))
	require.NoError(t, err)
	data := func(word string, d runData) json.RawMessage {
		d.Request.Assistant, d.Request.Input = "words", encoded(map[string]string{"words": word})
		return encoded(d)
	}
	require.NoError(t, store.Insert(
		t.Context(), runs.Record{Kind: runs.Thread, ID: thread, Graph: "words", Status: threadBusy, Data: encoded(threadData{})},
		runs.Record{Kind: runs.Run, ID: first, Parent: thread, Graph: "words", Status: runRunning, Data: data("first", runData{Started: true, Attempt: 1})},
		runs.Record{
			Kind: runs.Run, ID: second, Parent: thread, Graph: "words", Status: runPending, Created: now(),
			Data: data("second", runData{Request: runRequest{Multitask: multitaskRollback}}),
		},
	))
	s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: store})
	require.NoError(t, err)
	<-s.endOf(first)
	<-s.endOf(second)
	require.NoError(t, s.Close(t.Context()))
	_, err = store.Get(t.Context(), runs.Run, first)
	require.ErrorIs(t, err, runs.ErrNotFound)
	snap, err := g.Thread(thread).Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"second", "done"}, words.Get(snap.View))
}

// A node that does not return cannot keep a service from its end.
func TestCloseReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		g := wordGraph(t, func(context.Context, state.View) (state.Update, error) {
			<-stuck
			return nil, nil
		})
		store, thread := memruns.New(), uuid.New()
		require.NoError(t, store.Insert(
			t.Context(), runs.Record{Kind: runs.Thread, ID: thread, Graph: "words", Data: encoded(threadData{})},
			runs.Record{Kind: runs.Run, ID: uuid.New(), Parent: thread, Graph: "words", Status: runPending, Data: encoded(runData{Request: runRequest{Input: json.RawMessage(`{"words":"x"}`)}})},
		))
		s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: store})
		require.NoError(t, err)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, s.Close(ctx), context.DeadlineExceeded)
		found, _, err := store.Search(t.Context(), runs.Query{Kind: runs.Run})
		require.NoError(t, err)
		assert.Equal(t, runRunning, found[0].Status, "the next server continues the run")
		close(stuck)
	})
}
