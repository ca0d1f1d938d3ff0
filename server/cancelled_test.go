package server_test

import (
	"context"
	"iter"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

// A cancelled run has not failed, so its node has no error.
func TestTheNodeOfACancelledRunHasNoError(t *testing.T) {
	t.Parallel()
	writing := make(chan struct{})
	model := llm.ModelFunc(func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			if yield(llm.Chunk{Kind: llm.ChunkText, Text: "Good "}, nil) {
				close(writing)
				<-ctx.Done()
				yield(llm.Chunk{}, ctx.Err())
			}
		}
	})
	g, err := agent.New("writer", model, nil, agent.Options{Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}})
	require.NoError(t, err)
	s := newServer(t, server.Options{Graphs: map[string]*graph.Graph{"writer": g}, Runs: memruns.New()})
	thread := "/threads/" + studioThread
	_, run := send(t, s, http.MethodPost, thread+"/runs", `{"assistant_id":"writer","if_not_exists":"create","input":{"messages":[{"role":"user","content":"Hello"}]}}`)
	id, _ := field(run, "run_id").(string)
	<-writing
	send(t, s, http.MethodPost, thread+"/runs/"+id+"/cancel?wait=true", "")
	assert.Equal(t, "interrupted", field(get(t, s, thread+"/runs/"+id), "status"))
	state := get(t, s, thread+"/state")
	require.NotNil(t, field(state, "tasks", 0), state)
	assert.Nil(t, field(state, "tasks", 0, "error"))
	assert.NotNil(t, field(state, "next", 0), "the next run continues")
}
