package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
)

// kindsGraph returns a graph with channels of every kind, with and without a default. Its node writes only messages.
func kindsGraph(t *testing.T) *graph.Graph {
	t.Helper()
	joined := func(current, update string) (string, error) { return current + update, nil }
	five, two, text := func() int { return 5 }, func() []int { return []int{1, 2} }, func() string { return "d" }
	said := llm.User("hi")
	said.ID = "h1"
	b := graph.New("kinds", agent.Messages,
		state.Last[int]("last"), state.Last[int]("lastDefault").Default(five),
		state.LastWins[int]("wins"), state.LastWins[int]("winsDefault").Default(five),
		state.Optional[int]("optional"), state.Optional[int]("optionalDefault").Default(five),
		state.Sum[int]("sum"), state.Sum[int]("sumDefault").Default(five),
		state.Max[int]("max"), state.Max[int]("maxDefault").Default(func() int { return -5 }),
		state.Append[int]("list"), state.Append[int]("listDefault").Default(two),
		state.Keyed("keyed", llm.ByID), state.Set[string]("set"),
		state.Map[string, int]("map"), state.Map[string, int]("mapDefault").Default(func() map[string]int { return map[string]int{"a": 1} }),
		state.NewChannel("custom", joined), state.NewChannel("customDefault", joined).Default(text),
		state.Ephemeral[int]("ephemeral"), state.Untracked[int]("untracked").Default(five),
		state.Append[llm.Message]("saidDefault").Default(func() []llm.Message {
			return []llm.Message{said}
		}),
	)
	b.Node("n", func(context.Context, state.View) (state.Update, error) {
		return state.Update{agent.Messages.Put(llm.Assistant("Fine."))}, nil
	})
	b.Edge(graph.Start, "n")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

const initialValues = `{
	"lastDefault": 5, "winsDefault": 5, "optionalDefault": 5, "sum": 0, "sumDefault": 5, "max": 0, "maxDefault": -5,
	"list": [], "listDefault": [1, 2], "keyed": [], "set": [], "map": {}, "mapDefault": {"a": 1}, "customDefault": "d",
	"saidDefault": [{"type": "human", "id": "h1", "content": "hi", "additional_kwargs": {}, "response_metadata": {}}]
}`

// For a channel that was never written, clients see the same value as nodes.
func TestChannelsShowTheirInitialValues(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Graphs["kinds"] = kindsGraph(t) })
	for _, e := range w.events(w.send(http.MethodPost, "/threads/"+studioThread+"/runs/stream", map[string]any{
		"assistant_id": "kinds", "if_not_exists": "create", "stream_mode": "values", "input": map[string]any{"messages": []any{}},
	}), nil) {
		if e.name != "values" {
			continue
		}
		var got map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(e.data), &got))
		delete(got, "messages")
		assert.JSONEq(t, initialValues, string(encoded(got)))
	}
}

// The server writes the state of an AG-UI client only to channels in which an update replaces the value.
func TestAGUIWritesNoStateToChannelsThatMerge(t *testing.T) {
	t.Parallel()
	w := newWire(t, func(o *server.Options) { o.Graphs["kinds"] = kindsGraph(t) })
	_, events := w.agui("kinds", map[string]any{"messages": []any{message("h1", "user", "hi")}, "state": map[string]any{
		"last": 1, "wins": 1, "optional": 1, "ephemeral": 1,
		"sum": 1, "max": 1, "list": []int{1}, "set": []string{"a"}, "map": map[string]int{"a": 1}, "custom": "a",
		"sumDefault": 1, "maxDefault": 1, "listDefault": []int{1}, "mapDefault": map[string]int{"b": 1}, "customDefault": "a",
	}})
	got, _ := events[1]["snapshot"].(map[string]any)
	for name, want := range map[string]any{
		"last": 1.0, "wins": 1.0, "optional": 1.0, "ephemeral": 1.0, "sum": 0.0, "max": 0.0, "list": []any{}, "set": []any{}, "map": map[string]any{}, "custom": nil,
		"sumDefault": 5.0, "maxDefault": -5.0, "listDefault": []any{1.0, 2.0}, "mapDefault": map[string]any{"a": 1.0}, "customDefault": "d",
	} {
		assert.Equal(t, want, got[name], name)
	}
}
