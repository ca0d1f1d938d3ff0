package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

// The last chunk of a streamed message and the stored message have the same finish reason.
func TestStreamedAndStoredMessagesHaveOneFinishReason(t *testing.T) {
	t.Parallel()
	bot, err := agent.New("bot", llmtest.NewScript(llmtest.Say("hello")), nil, agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	require.NoError(t, err)
	w := newWire(t, func(o *server.Options) { o.Graphs = map[string]*graph.Graph{"bot": bot} })
	thread := w.thread()
	reasons := map[string][]any{}
	for _, e := range w.events(w.send(http.MethodPost, "/threads/"+thread+"/runs/stream", map[string]any{
		"assistant_id": "bot", "input": map[string]any{"messages": "hi"}, "stream_mode": []string{"messages-tuple", "messages"},
	}), nil) {
		var list []map[string]any
		if !strings.HasPrefix(e.name, "messages") || json.Unmarshal([]byte(e.data), &list) != nil {
			continue
		}
		meta, _ := list[0]["response_metadata"].(map[string]any)
		if r, ok := meta["finish_reason"]; ok {
			reasons[e.name] = append(reasons[e.name], r)
		}
	}
	var state struct {
		Values struct {
			Messages []struct {
				Response map[string]any `json:"response_metadata"`
			} `json:"messages"`
		} `json:"values"`
	}
	require.NoError(t, json.NewDecoder(w.send(http.MethodGet, "/threads/"+thread+"/state", nil).Body).Decode(&state))
	assert.Equal(t, "stop", state.Values.Messages[1].Response["finish_reason"])
	require.NotEmpty(t, reasons)
	for event, all := range reasons {
		for _, r := range all {
			assert.Equal(t, "stop", r, event)
		}
	}
}

// The metadata of a streamed message is stored with its first chunk. Clients get the metadata with each chunk, also if
// they begin in the middle of the message, or if the first chunk was removed.
func TestMetadataOfAMessageIsStoredOnce(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	resp := w.send(http.MethodPost, "/threads/"+thread+"/runs/stream", map[string]any{
		"assistant_id": "tools", "input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": "add 2 3"}}},
		"stream_mode": []string{"messages-tuple"}, "stream_resumable": true,
	})
	got := w.events(resp, nil)
	_, run, _ := strings.Cut(resp.Header.Get("Content-Location"), "/runs/")
	log, err := w.runs.Events(t.Context(), thread, 0, 0)
	require.NoError(t, err)
	pieces, with := map[string]int{}, map[string]int{}
	middle := 0 // the position in the middle of the last message
	for i := range log {
		var m struct {
			ID       string          `json:"id"`
			Metadata json.RawMessage `json:"metadata"`
		}
		if log[i].Kind != "message" {
			continue
		}
		require.NoError(t, json.Unmarshal(log[i].Data, &m))
		pieces[m.ID]++
		if len(m.Metadata) > 0 {
			with[m.ID]++
		} else if m.ID == "ai-3" && middle == 0 {
			middle = i
		}
	}
	require.Greater(t, pieces["ai-3"], 3)
	for id := range pieces {
		assert.Equal(t, 1, with[id], id)
	}
	nodes := func(events []wireEvent) (all []string) {
		for _, e := range events {
			var pair [2]map[string]any
			if e.name == "messages" {
				require.NoError(t, json.Unmarshal([]byte(e.data), &pair))
				node, _ := pair[1]["langgraph_node"].(string)
				all = append(all, node)
			}
		}
		return all
	}
	all := nodes(got)
	assert.NotContains(t, all, "", "a piece without metadata")
	path := "/threads/" + thread + "/runs/" + run + "/stream"
	w.json(http.MethodGet, "/threads/"+thread+"/runs/"+run+"/join", nil)
	again := w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", itoa(middle)), nil)
	assert.Equal(t, got[len(got)-len(again):], again, "from the middle of a message")
	_, err = w.runs.Trim(t.Context(), thread, runs.Bounds{Events: len(log) - middle})
	require.NoError(t, err)
	rest := nodes(w.events(w.send(http.MethodGet, path, nil, "Last-Event-ID", "-1"), nil))
	require.NotEmpty(t, rest)
	assert.NotContains(t, rest, "", "after the first piece was removed")
}

// Chunks without an id, such as those that node.Tee emits of Model.Stream, get one id for each reply, and keep their
// node.
func TestPiecesWithoutAnIDAreOneMessageForEachReply(t *testing.T) {
	t.Parallel()
	say := func(n int) graph.NodeFunc {
		return func(ctx context.Context, _ state.View) (state.Update, error) {
			for range n {
				model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
					return func(yield func(llm.Chunk, error) bool) {
						_ = yield(llm.Chunk{Kind: llm.ChunkText, Text: "hel"}, nil) && yield(llm.Chunk{Kind: llm.ChunkText, Text: "lo"}, nil) && yield(llm.Chunk{Kind: llm.ChunkEnd, StopReason: llm.StopEnd}, nil)
					}
				})
				for _, err := range node.Tee(ctx, model.Stream(ctx, llm.Request{})) {
					if err != nil {
						return nil, err
					}
				}
			}
			return nil, nil
		}
	}
	failed := false
	b := graph.New("raw")
	b.Node("one", say(1))
	b.Node("two", say(2))
	b.Node("retried", node.Retry(node.RetryPolicy{}, func(ctx context.Context, s state.View) (state.Update, error) {
		if !failed {
			failed = true
			graph.Emit(ctx, llm.Chunk{Kind: llm.ChunkText, Text: "wro"})
			return nil, errors.New("cut off")
		}
		return say(1)(ctx, s)
	}))
	b.Node("whole", func(ctx context.Context, _ state.View) (state.Update, error) {
		for range 2 {
			m := llm.Assistant("hello")
			m.ID = ""
			graph.Emit(ctx, m)
		}
		return nil, nil
	})
	b.Edge(graph.Start, "one")
	b.Edge("one", "two")
	b.Edge("two", "retried")
	b.Edge("retried", "whole")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	w := newWire(t, func(o *server.Options) { o.Graphs = map[string]*graph.Graph{"raw": g} })
	type reply struct{ node, text string }
	replies, order := map[string]reply{}, []string{}
	for _, e := range w.events(w.send(http.MethodPost, "/runs/stream", map[string]any{"assistant_id": "raw", "input": map[string]any{}, "stream_mode": []string{"messages-tuple"}}), nil) {
		var pair [2]map[string]any
		if e.name != "messages" {
			continue
		}
		require.NoError(t, json.Unmarshal([]byte(e.data), &pair))
		id, _ := pair[0]["id"].(string)
		require.NotEmpty(t, id)
		in, _ := pair[1]["langgraph_node"].(string)
		text, _ := pair[0]["content"].(string)
		before, known := replies[id]
		if !known {
			order = append(order, id)
		}
		require.True(t, !known || before.node == in, "two nodes with one id")
		replies[id] = reply{in, before.text + text}
	}
	var got []reply
	for _, id := range order {
		got = append(got, replies[id])
	}
	assert.Equal(t, []reply{{"one", "hello"}, {"two", "hello"}, {"two", "hello"}, {"retried", "wro"}, {"retried", "hello"}, {"whole", "hello"}, {"whole", "hello"}}, got)
}
