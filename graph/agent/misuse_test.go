package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// TestModelErrorsKeepTheirKind proves that the run's error has the kind of the model's
// error and that the thread can resume. A refusal is an outcome and not an error.
func TestModelErrorsKeepTheirKind(t *testing.T) {
	t.Parallel()
	kinds := []error{
		llm.ErrRateLimit, llm.ErrOverloaded, llm.ErrTransport, llm.ErrAuth, llm.ErrBadRequest,
		llm.ErrContextTooLong, llm.ErrContentFilter, llm.ErrEmpty, llm.ErrMalformed,
	}
	for _, kind := range kinds {
		t.Run(kind.Error(), func(t *testing.T) {
			t.Parallel()
			failure := fmt.Errorf("the model failed: %w", kind)
			if !errors.Is(kind, llm.ErrEmpty) && !errors.Is(kind, llm.ErrMalformed) {
				failure = &llm.Error{Kind: kind, Provider: "acme"}
			}
			g := newAgent(t, llmtest.NewScript(llmtest.Fail(failure), llmtest.Say("ok")), nil, agent.Options{Graph: memory()})
			th := g.Thread("t")
			snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
			if errors.Is(kind, llm.ErrContentFilter) {
				r := agent.Result.Get(snap)
				require.NoError(t, err)
				assert.Equal(t, agent.Filtered, r.Reason)
				return
			}
			require.ErrorIs(t, err, kind)
			require.Equal(t, agent.Running, agent.Result.Get(snap).Reason)
			require.Equal(t, llm.Retryable(failure), llm.Retryable(err))
			snap, err = th.Invoke(t.Context())
			require.NoError(t, err)
			assert.Equal(t, "user:hi | assistant:ok", roles(snap))
		})
	}
}

// TestModelPanicIsNodeError proves that a panic of the model is a NodeError, and that the
// input of the run is stored.
func TestModelPanicIsNodeError(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]llm.Model{
		"at once": llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] { panic("boom") }),
		"in the stream": llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				if yield(llm.Chunk{Kind: llm.ChunkText, Text: "I"}, nil) {
					panic("boom")
				}
			}
		}),
		"nil function": llm.ModelFunc(nil),
	} {
		snap, err := newAgent(t, model, nil, agent.Options{Graph: memory()}).Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
		ne, ok := errors.AsType[*graph.NodeError](err)
		require.True(t, ok, "%s: got %v", name, err)
		assert.Equal(t, agent.ModelNode, ne.Node, name)
		require.ErrorContains(t, err, "panic", name)
		assert.Equal(t, "user:hi", roles(snap), name)
	}
}

// TestPartialReplyIsNotStored proves that an incomplete reply of a cancelled run is not
// stored, and that the thread can resume.
func TestPartialReplyIsNotStored(t *testing.T) {
	t.Parallel()
	g := newAgent(t, llmtest.NewScript(llmtest.Say("one two three four"), llmtest.Say("five")), nil, agent.Options{Graph: memory()})
	th := g.Thread("t")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for c, err := range agent.Chunks(th.Stream(ctx, agent.Messages.Put(llm.User("count")))) {
		last = err
		if c.Kind == agent.ChunkText {
			cancel()
		}
	}
	require.ErrorIs(t, last, context.Canceled)
	snap, err := th.Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "user:count", roles(snap))
	snap, err = th.Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "user:count | assistant:five", roles(snap))
}

// TestConcurrentRunIsRejected proves that a second run on a thread fails while the first
// one holds the thread.
func TestConcurrentRunIsRejected(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	g := newAgent(t, llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		close(started)
		<-release
		return llm.Reply(llm.Assistant("ok"))
	}), nil, agent.Options{Graph: memory()})
	var first sync.WaitGroup
	first.Go(func() {
		_, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("one")))
		assert.NoError(t, err)
	})
	<-started
	_, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("two")))
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	close(release)
	first.Wait()
	snap, err := g.Thread("t").Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "user:one | assistant:ok", roles(snap))
}

// TestChunkJSON proves the JSON of each kind of chunk.
func TestChunkJSON(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("add", "Adds.", add))
	model := llmtest.NewScript(
		llmtest.Calls(llm.ToolCall{ID: "c1", Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)}),
		llmtest.Say("3").Costing(llm.Usage{Input: 4, Output: 1}),
	)
	w := watch(newAgent(t, model, set, agent.Options{}).Stream(t.Context(), agent.Messages.Put(llm.User("1+2"))))
	got := map[agent.ChunkKind]string{}
	for _, c := range w.chunks {
		if c.MessageID != "" {
			c.MessageID = "m"
		}
		text, err := json.Marshal(c)
		require.NoError(t, err)
		got[c.Kind] = string(text)
	}
	for kind, want := range map[agent.ChunkKind]string{
		agent.ChunkTurn:         `{"kind":"turn","node":"agent","task":"agent","turn":{"agent":"helper","number":2,"most":10}}`,
		agent.ChunkText:         `{"kind":"text","node":"agent","task":"agent","message_id":"m","text":"3"}`,
		agent.ChunkToolStarted:  `{"kind":"tool_started","node":"tools","task":"tools[0]","call":{"id":"c1","name":"add","arguments":{"a":1,"b":2}}}`,
		agent.ChunkToolFinished: `{"kind":"tool_finished","node":"tools","task":"tools[0]","call":{"id":"c1","name":"add","arguments":{"a":1,"b":2}},"answer":{"role":"tool","name":"add","parts":[{"type":"text","text":"3"}],"tool_call_id":"c1","status":"success"}}`,
		agent.ChunkUsage:        `{"kind":"usage","node":"agent","task":"agent","message_id":"m","usage":{"input":4,"output":1,"total":5}}`,
		agent.ChunkOutcome:      `{"kind":"outcome","node":"agent","task":"agent","outcome":{"agent":"helper","reason":"answered","turns":2,"usage":{"input":4,"output":1,"total":5}}}`,
		agent.ChunkEnd:          `{"kind":"end"}`,
	} {
		assert.Equal(t, want, got[kind])
	}
}
