package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A run that is read from the store keeps its request once in memory: in the decoded data, and not in the record.
func TestARunThatIsReadKeepsItsRequestOnce(t *testing.T) {
	t.Parallel()
	run := runRecord(uuid.New(), runData{})
	run.Data = encoded(runData{Request: runRequest{Input: json.RawMessage(`{"words":"x"}`)}})
	a, err := newActiveRun(run, nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"words":"x"}`, string(a.data.Request.Input))
	assert.Empty(t, a.record.Data)
	assert.Equal(t, len(run.Data), a.size)
	a.cancel(nil)
}

// A run that is executed keeps its request once in memory, whether it is new, stored by an earlier server, or from a
// shared queue.
func TestARunKeepsItsRequestOnce(t *testing.T) {
	t.Parallel()
	input := json.RawMessage(`{"words":"` + strings.Repeat("x", 1000) + `"}`)
	for name, c := range map[string]struct {
		stored, shared bool
	}{"new": {}, "of a server before this one": {stored: true}, "of the queue that servers share": {shared: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, end := make(chan struct{}), make(chan struct{})
			node := func(context.Context, state.View) (state.Update, error) {
				close(begun)
				<-end
				return nil, nil
			}
			store, thread := memruns.New(), threadRecord(uuid.New())
			run := runRecord(thread.ID, runData{})
			run.Data = encoded(runData{Request: runRequest{Input: input}})
			require.NoError(t, store.Insert(t.Context(), thread))
			if c.stored || c.shared {
				require.NoError(t, store.Insert(t.Context(), run))
			}
			var s *Server
			if c.shared {
				s = replicaOf(t, store, node, nil)
				go s.executeNext(context.Background(), &runs.Job{Kind: runs.JobThread, Key: thread.ID}) //nolint:errcheck // the run is awaited
			} else {
				var err error
				s, err = New(Options{Graphs: map[string]*graph.Graph{"words": wordGraph(t, node)}, Runs: store})
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
			}
			if !c.stored && !c.shared {
				_, err := s.startRun(t.Context(), run, s.graphs["words"])
				require.NoError(t, err)
			}
			<-begun
			s.mu.Lock()
			a := s.active[run.ID]
			s.mu.Unlock()
			assert.Equal(t, string(input), string(a.data.Request.Input))
			assert.Empty(t, a.record.Data)
			close(end)
			<-a.done
		})
	}
}
