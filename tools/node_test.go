package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

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
	if err != nil {
		t.Fatal(err)
	}
	return after(t, schema, schema.Empty(), writes)
}

// after returns the state after the writes of one task.
func after(t *testing.T, schema *statecore.Schema, view state.View, writes []state.Write) state.View {
	t.Helper()
	tx := schema.Begin(view)
	for _, w := range writes {
		if err := statecore.Apply(tx, 0, []state.Write{w}); err != nil {
			t.Fatal(err)
		}
	}
	view, err := tx.Finish(true)
	if err != nil {
		t.Fatal(err)
	}
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
			if err != nil {
				t.Fatal(err)
			}
			got := messages.Get(viewOf(t, append([]state.Write{messages.Put(messages.Get(view)...)}, update...)...))
			var texts []string
			for _, m := range got[len(test.given):] {
				if m.Role != llm.RoleTool || m.ID == "" {
					t.Errorf("got %+v, want a tool message with an id", m)
				}
				texts = append(texts, m.Text())
			}
			if !reflect.DeepEqual(texts, test.want) {
				t.Errorf("got %q, want %q", texts, test.want)
			}
		})
	}
}

func TestNodeReturnsAPause(t *testing.T) {
	t.Parallel()
	node := tools.Node(mustSet(t, doubling()), messages, tools.Options{})
	view := viewOf(t, messages.Put(llm.Assistant("", numbered(1, "double"), numbered(-1, "double"))))
	update, err := node(t.Context(), view)
	if update != nil || !errors.Is(err, waiting{true}) {
		t.Errorf("got %v and %v, want the pause alone", update, err)
	}
}

func TestCallNode(t *testing.T) {
	t.Parallel()
	node := tools.CallNode(mustSet(t, doubling()), oneCall, messages, tools.Options{})
	update, err := node(t.Context(), viewOf(t, oneCall.Put(numbered(4, "double"))))
	if err != nil {
		t.Fatal(err)
	}
	got := messages.Get(viewOf(t, update...))
	if len(got) != 1 || got[0].Text() != "8" || got[0].ToolCallID != "call_4" || got[0].ID == "" {
		t.Errorf("got %+v", got)
	}
	if update, err := node(t.Context(), viewOf(t, oneCall.Put(numbered(-1, "double")))); update != nil || !errors.Is(err, waiting{true}) {
		t.Errorf("got %v and %v, want the pause alone", update, err)
	}
	if _, err := node(t.Context(), viewOf(t)); err == nil || !strings.Contains(err.Error(), `no call was sent in channel "call"`) {
		t.Errorf("got %v", err)
	}
}

// What package llm makes has to survive package state.
func TestMessagesSurviveStorage(t *testing.T) {
	t.Parallel()
	schema, err := statecore.NewSchema[state.Handle](messages)
	if err != nil {
		t.Fatal(err)
	}
	call := numbered(1, "double")
	turn := llm.Assistant("Grüße <b>", call)
	turn.Usage = &llm.Usage{Input: 1, Output: 2, Total: 3}
	turn.Metadata = map[string]json.RawMessage{"k": json.RawMessage(`{"a":[1,null]}`)}
	given := []llm.Message{llm.User("hi", llm.Part{Type: llm.PartImage, MIMEType: "image/png", Data: []byte{1, 2}}), turn, llm.ToolResult(call, "2\u0000")}
	view := after(t, schema, schema.Empty(), []state.Write{messages.Put(given...)})
	replay := schema.Replay(nil)
	if err := schema.Snapshot(view, func(channel string, k statecore.Kind, data []byte) {
		if err := replay.Apply(channel, k, data); err != nil {
			t.Error(err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if got, want := messages.Get(replay.View()), messages.Get(view); !reflect.DeepEqual(got, want) || len(got) != len(given) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
