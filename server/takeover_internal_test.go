package server

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

var words = state.Append[string]("words")

// wordGraph returns a graph with the channel words and this node.
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

// A run that rolls back the previous run also undoes the checkpoints that another server has stored for that run.
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

// A node that does not return cannot keep Close from returning.
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

// If a run is cancelled in several ways, the strongest way wins: a rollback over an interrupt, and both over the shutdown
// of the server.
func TestStrongestCancellationWins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requests []cancellation
		status   string // the final status of the run; empty if the run is undone
	}{
		"interrupt, rollback": {[]cancellation{interruptRun, rollbackRun}, ""},
		"rollback, interrupt": {[]cancellation{rollbackRun, interruptRun}, ""},
		"drain, interrupt":    {[]cancellation{drainRun, interruptRun}, runInterrupted},
		"drain, rollback":     {[]cancellation{drainRun, rollbackRun}, ""},
		"rollback, drain":     {[]cancellation{rollbackRun, drainRun}, ""},
		"drain":               {[]cancellation{drainRun}, runPending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				b := graph.New("words", words)
				for _, name := range []string{"first", "second"} {
					b.Node(name, func(context.Context, state.View) (state.Update, error) {
						<-release
						return state.Update{words.Put(name)}, nil
					})
				}
				b.Edge(graph.Start, "first")
				b.Edge("first", "second")
				b.Edge("second", graph.End)
				g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
				require.NoError(t, err)
				store, thread, run := memruns.New(), uuid.New(), uuid.New()
				require.NoError(t, store.Insert(
					t.Context(), runs.Record{Kind: runs.Thread, ID: thread, Graph: "words", Data: encoded(threadData{})},
					runs.Record{Kind: runs.Run, ID: run, Parent: thread, Graph: "words", Status: runPending, Data: encoded(runData{Request: runRequest{Input: json.RawMessage(`{"words":"x"}`)}})},
				))
				s, err := New(Options{Graphs: map[string]*graph.Graph{"words": g}, Runs: store})
				require.NoError(t, err)
				synctest.Wait()
				for _, how := range c.requests {
					s.mu.Lock()
					a := s.active[run]
					s.mu.Unlock()
					require.NoError(t, s.stopRuns(t.Context(), []*activeRun{a}, how))
					r, err := store.Get(t.Context(), runs.Run, run)
					require.NoError(t, err)
					d, err := readRun(&r)
					require.NoError(t, err)
					assert.Equal(t, a.canceledAs(), d.Cancel)
				}
				close(release)
				synctest.Wait()
				require.NoError(t, s.Close(t.Context()))
				r, err := store.Get(t.Context(), runs.Run, run)
				if c.status == "" {
					require.ErrorIs(t, err, runs.ErrNotFound, r.Status)
					_, err = g.Thread(thread).Snapshot(t.Context())
					require.ErrorIs(t, err, checkpoint.ErrNotFound)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, c.status, r.Status)
			})
		})
	}
}
