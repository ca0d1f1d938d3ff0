package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/tools"
)

// A langchainEvent is an event of the stream mode "events".
type langchainEvent struct {
	Event    string         `json:"event"`
	Name     string         `json:"name"`
	Run      string         `json:"run_id"`
	Parents  []string       `json:"parent_ids"`
	Metadata map[string]any `json:"metadata"`
	Data     struct {
		Input  any
		Output any
		Chunk  map[string]any
	} `json:"data"`
}

func (w *wire) langchainEvents(body map[string]any) (kinds []string, events []langchainEvent) {
	w.t.Helper()
	for _, e := range w.events(w.send(http.MethodPost, "/runs/stream", body), nil) {
		if e.name != "events" {
			continue
		}
		var le langchainEvent
		require.NoError(w.t, json.Unmarshal([]byte(e.data), &le), e.data)
		kinds, events = append(kinds, le.Event+" "+le.Name), append(events, le)
	}
	return kinds, events
}

func TestEventsOfARunAreThoseOfLangChain(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	kinds, events := w.langchainEvents(map[string]any{
		"assistant_id": "tools", "stream_mode": []string{"events", "values"},
		"input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": "add 2 3", "id": "h1"}}},
	})
	assert.Equal(t, []string{
		"on_chain_start tools",
		"on_chain_start agent", "on_chat_model_start model",
		"on_chat_model_stream model", "on_chat_model_stream model", "on_chat_model_stream model", "on_chat_model_stream model",
		"on_chat_model_end model", "on_chain_stream agent", "on_chain_stream tools", "on_chain_end agent",
		"on_chain_start tools", "on_chain_stream tools", "on_chain_stream tools", "on_chain_end tools",
		"on_chain_start agent", "on_chat_model_start model",
		"on_chat_model_stream model", "on_chat_model_stream model", "on_chat_model_stream model", "on_chat_model_stream model", "on_chat_model_stream model",
		"on_chat_model_end model", "on_chain_stream agent", "on_chain_stream tools", "on_chain_end agent",
		"on_chain_end tools",
	}, kinds)
	run := events[0].Run
	for _, e := range events {
		assert.Equal(t, run, e.Metadata["run_id"])
		assert.Equal(t, e.Run != run, len(e.Parents) == 1)
	}
	// The name of a tool and its arguments are in different chunks.
	name := events[3].Data.Chunk["tool_call_chunks"].([]any)[0].(map[string]any)
	assert.Equal(t, "add", name["name"])
	assert.Equal(t, "call-1", name["id"])
	assert.Empty(t, name["args"])
	assert.Equal(t, `{"a": 2, `, events[4].Data.Chunk["tool_call_chunks"].([]any)[0].(map[string]any)["args"])
	assert.Equal(t, "agent", events[3].Metadata["langgraph_node"])
	assert.Equal(t, map[string]any{}, events[6].Data.Chunk["response_metadata"])
	call := events[7].Data.Output.(map[string]any)["tool_calls"].([]any)[0].(map[string]any)
	assert.Equal(t, map[string]any{"a": 2.0, "b": 3.0}, call["args"])
	assert.Len(t, events[len(events)-1].Data.Output.(map[string]any)["messages"], 4)
}

// weatherAgent returns an agent with a tool. The model of the agent returns the replies.
func weatherAgent(t *testing.T, replies ...llmtest.Reply) *graph.Graph {
	t.Helper()
	weather := tools.New("weather", "Tells the weather in a city.", func(ctx context.Context, in struct{ City string }) (string, error) {
		tools.Report(ctx, tools.Progress{Done: 1, Total: 2})
		if in.City == "Atlantis" {
			return "", errors.New("there is no such city")
		}
		return "sunny in " + in.City, nil
	})
	set, err := tools.NewSet(weather)
	require.NoError(t, err)
	g, err := agent.New("weather", llmtest.NewScript(replies...), set, agent.Options{
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	require.NoError(t, err)
	return g
}

func TestCallsOfToolsAreEvents(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) {
		o.Graphs = map[string]*graph.Graph{"weather": weatherAgent(
			t, llmtest.Call("weather", `{"City":"Athens"}`), llmtest.Call("weather", `{"City":"Atlantis"}`), llmtest.Say("Sunny."),
		)}
	})
	thread := w.thread()
	resp := w.send(http.MethodPost, "/threads/"+thread+"/runs/stream", map[string]any{
		"assistant_id": "weather", "stream_mode": []string{"tools", "events", "custom"},
		"input": map[string]any{"messages": []any{map[string]any{"role": "user", "content": "the weather in Athens?"}}},
	})
	var calls []map[string]any
	var kinds []string
	for _, e := range w.events(resp, nil) {
		var data map[string]any
		require.NoError(t, json.Unmarshal([]byte(e.data), &data))
		switch e.name {
		case "tools":
			calls = append(calls, data)
		case "events":
			if data["name"] == "weather" && strings.HasPrefix(data["event"].(string), "on_tool") {
				kinds = append(kinds, data["event"].(string))
				assert.Equal(t, "weather", data["name"])
			}
		case "custom":
			assert.NotContains(t, e.data, "call_id", "a call of a tool is not a custom event")
		}
	}
	assert.Equal(t, []string{"on_tool_start", "on_tool_end", "on_tool_start", "on_tool_end"}, kinds)
	var names []any
	for _, c := range calls {
		names = append(names, c["event"])
		assert.NotEmpty(t, c["toolCallId"])
	}
	require.Equal(t, []any{"on_tool_start", "on_tool_event", "on_tool_end", "on_tool_start", "on_tool_event", "on_tool_error"}, names)
	assert.Equal(t, map[string]any{"City": "Athens"}, calls[0]["input"])
	assert.Equal(t, "sunny in Athens", calls[2]["output"].(map[string]any)["content"])
	assert.Equal(t, calls[0]["toolCallId"], calls[2]["output"].(map[string]any)["tool_call_id"])
	assert.Contains(t, calls[5]["error"], "there is no such city")

	all := w.events(w.send(http.MethodPost, "/threads/"+thread+"/stream/events", map[string]any{"channels": []string{"tools", "lifecycle"}}),
		func(e wireEvent) bool { return strings.Contains(e.data, `"completed"`) })
	var happened []string
	for _, e := range all {
		var m socketMessage
		require.NoError(t, json.Unmarshal([]byte(e.data), &m))
		if m.Method == "tools" {
			var data struct{ Event string }
			require.NoError(t, json.Unmarshal(m.Params.Data, &data))
			happened = append(happened, data.Event)
		}
	}
	assert.Equal(t, []string{"tool-started", "tool-output-delta", "tool-finished", "tool-started", "tool-output-delta", "tool-error"}, happened)
}

// Clients that work with any graph, such as the AG-UI client, send values for channels that only some graphs have.
func TestInputForUnknownChannelsIsIgnoredBesideOther(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	got := w.json(http.MethodPost, "/runs/wait", map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 0, "ag-ui": map[string]any{}}})
	assert.Equal(t, []any{"a:begin", "a:done"}, got["steps"])
	got = w.json(http.MethodPost, "/runs/wait", map[string]any{"assistant_id": "slow", "input": map[string]any{"tags": "a"}})
	assert.Contains(t, got["__error__"].(map[string]any)["message"], `none of the channels ["tags"]`)
}
