package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

var (
	messages = state.Keyed("messages", llm.ByID)
	oneCall  = state.Last[llm.ToolCall]("call")
)

func viewOf(t *testing.T, writes ...state.Write) state.View {
	t.Helper()
	schema, err := statecore.NewSchema[state.Handle](messages, oneCall)
	require.NoError(t, err)
	return after(t, schema, schema.Empty(), writes)
}

// after applies the writes of one task to a state.
func after(t *testing.T, schema *statecore.Schema, view state.View, writes []state.Write) state.View {
	t.Helper()
	tx := schema.Begin(view)
	for _, w := range writes {
		require.NoError(t, statecore.Apply(tx, 0, []state.Write{w}))
	}
	view, err := tx.Finish(true)
	require.NoError(t, err)
	return view
}

func doubling() tools.Tool {
	return doing("double", func(_ context.Context, n int) (string, error) {
		if n < 0 {
			return "", waiting{true}
		}
		return fmt.Sprint(2 * n), nil
	})
}

func TestNodeAnswersWhatIsPending(t *testing.T) {
	t.Parallel()
	a, b, c := numbered(1, "double"), numbered(2, "double"), numbered(3, "halve")
	tests := []struct {
		name  string
		given []llm.Message
		want  []string // texts of the new messages
	}{
		{"no messages", nil, nil},
		{"no assistant", []llm.Message{llm.User("hi")}, nil},
		{"no calls", []llm.Message{llm.Assistant("", a), llm.Assistant("done")}, nil},
		{"all of them", []llm.Message{llm.User("hi"), llm.Assistant("", a, b, c)}, []string{"2", "4", `there is no tool "halve"; the tools are double`}},
		{"the rest", []llm.Message{llm.Assistant("", a, b), llm.ToolResult(b, "4")}, []string{"2"}},
		{"none left", []llm.Message{llm.Assistant("", a), llm.ToolError(a, "no")}, nil},
		{"a user in between", []llm.Message{llm.Assistant("", a, b), llm.ToolResult(a, "2"), llm.User("wait")}, []string{"4"}},
		{"the same ids again", []llm.Message{llm.Assistant("", a), llm.ToolResult(a, "2"), llm.Assistant("", a)}, []string{"2"}},
	}
	node := tools.Node(mustSet(t, doubling()), messages, tools.Options{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			view := viewOf(t, messages.Put(test.given...))
			update, err := node(t.Context(), view)
			require.NoError(t, err)
			got := messages.Get(viewOf(t, append([]state.Write{messages.Put(messages.Get(view)...)}, update...)...))
			var texts []string
			for _, m := range got[len(test.given):] {
				assert.Equal(t, llm.RoleTool, m.Role)
				assert.NotEmpty(t, m.ID)
				texts = append(texts, m.Text())
			}
			assert.Equal(t, test.want, texts)
		})
	}
}

func TestNodeReturnsAPause(t *testing.T) {
	t.Parallel()
	node := tools.Node(mustSet(t, doubling()), messages, tools.Options{})
	view := viewOf(t, messages.Put(llm.Assistant("", numbered(1, "double"), numbered(-1, "double"))))
	update, err := node(t.Context(), view)
	assert.Nil(t, update)
	assert.ErrorIs(t, err, waiting{true})
}

func TestCallNode(t *testing.T) {
	t.Parallel()
	node := tools.CallNode(mustSet(t, doubling()), oneCall, messages, tools.Options{})
	update, err := node(t.Context(), viewOf(t, oneCall.Put(numbered(4, "double"))))
	require.NoError(t, err)
	got := messages.Get(viewOf(t, update...))
	require.Len(t, got, 1)
	assert.Equal(t, "8", got[0].Text())
	assert.Equal(t, "call_4", got[0].ToolCallID)
	assert.NotEmpty(t, got[0].ID)
	update, err = node(t.Context(), viewOf(t, oneCall.Put(numbered(-1, "double"))))
	assert.Nil(t, update)
	assert.ErrorIs(t, err, waiting{true})
	_, err = node(t.Context(), viewOf(t))
	assert.ErrorContains(t, err, `no call was sent in channel "call"`)
}

// TestMessagesSurviveStorage proves that messages are equal after they were stored and
// replayed.
func TestMessagesSurviveStorage(t *testing.T) {
	t.Parallel()
	schema, err := statecore.NewSchema[state.Handle](messages)
	require.NoError(t, err)
	call := numbered(1, "double")
	turn := llm.Assistant("Grüße <b>", call)
	turn.Usage = &llm.Usage{Input: 1, Output: 2, Total: 3}
	turn.Metadata = map[string]json.RawMessage{"k": json.RawMessage(`{"a":[1,null]}`)}
	given := []llm.Message{llm.User("hi", llm.Part{Type: llm.PartImage, MIMEType: "image/png", Data: []byte{1, 2}}), turn, llm.ToolResult(call, "2\u0000")}
	view := after(t, schema, schema.Empty(), []state.Write{messages.Put(given...)})
	replay := schema.Replay(nil)
	err = schema.Snapshot(view, 0, func(channel string, k statecore.Kind, data []byte) {
		assert.NoError(t, replay.Apply(channel, k, data))
	})
	require.NoError(t, err)
	got, want := messages.Get(replay.View()), messages.Get(view)
	assert.Equal(t, want, got)
	assert.Len(t, got, len(given))
}
