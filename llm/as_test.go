package llm_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

type verdict struct {
	Score  int    `json:"score" jsonschema:"0 to 10"`
	Grade  string `json:"grade,omitempty" enum:"good,bad"`
	Reason string `json:"reason,omitempty"`
}

func (v *verdict) Validate() error {
	if v.Score > 10 {
		return fmt.Errorf("score: %d is more than 10", v.Score)
	}
	return nil
}

func TestAsReadsAndRepairsAnswers(t *testing.T) {
	t.Parallel()
	two := llmtest.Calls(llm.ToolCall{Name: "look"}, llm.ToolCall{Name: "answer", Arguments: []byte(`{"score":1}`)})
	good := llmtest.Call("answer", `{"score":3}`)
	tests := []struct {
		name     string
		replies  []llmtest.Reply
		want     verdict
		corrects string // part of the correction that the model got
	}{
		{"a call", []llmtest.Reply{llmtest.Call("answer", `{"score":7,"reason":"good"}`)}, verdict{Score: 7, Reason: "good"}, ""},
		{"among calls", []llmtest.Reply{two}, verdict{Score: 1}, ""},
		{"a text", []llmtest.Reply{llmtest.Say(`{"score":7}`)}, verdict{Score: 7}, ""},
		{"a block", []llmtest.Reply{llmtest.Say("Here:\n```json\n{\"score\":7}\n```\nDone.")}, verdict{Score: 7}, ""},
		{"within a text", []llmtest.Reply{llmtest.Say(`I say {"score": 7}.`)}, verdict{Score: 7}, ""},
		{"a wrong type", []llmtest.Reply{llmtest.Call("answer", `{"score":"high"}`), good}, verdict{Score: 3}, `score: want an integer, got the string "high"`},
		{"outside the enum", []llmtest.Reply{llmtest.Call("answer", `{"score":1,"grade":"meh"}`), good}, verdict{Score: 3}, `grade: want one of "good", "bad", got the string "meh"`},
		{"an unknown field", []llmtest.Reply{llmtest.Call("answer", `{"score":1,"mood":1}`), good}, verdict{Score: 3}, "mood: there is no such field"},
		{"rejected by Validate", []llmtest.Reply{llmtest.Call("answer", `{"score":11}`), good}, verdict{Score: 3}, "score: 11 is more than 10"},
		{"a number too large", []llmtest.Reply{llmtest.Call("answer", `{"score":99999999999999999999}`), good}, verdict{Score: 3}, "does not fit"},
		{"broken arguments", []llmtest.Reply{llmtest.Call("answer", `{"score":`), good}, verdict{Score: 3}, "the arguments are not JSON: unexpected end"},
		{"another tool", []llmtest.Reply{llmtest.Call("look", `{}`), good}, verdict{Score: 3}, "Not called"},
		{"no JSON", []llmtest.Reply{llmtest.Say("It is good."), good}, verdict{Score: 3}, "not valid JSON"},
		{"nothing", []llmtest.Reply{llmtest.Say(""), llmtest.Say(`{"score":3}`)}, verdict{Score: 3}, "call the tool answer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for i := range tt.replies {
				tt.replies[i] = tt.replies[i].Costing(llm.Usage{Input: 10, Output: 2})
			}
			model := llmtest.NewScript(tt.replies...)
			r := llm.Request{Messages: []llm.Message{llm.User("Judge this.")}, Tools: []llm.ToolSpec{{Name: "look", Schema: []byte(`{}`)}}}
			got, usage, err := llm.As[verdict](t.Context(), model, r)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			assert.EqualValues(t, 10*len(tt.replies), usage.Input)
			checkCorrection(t, model.Requests(), tt.corrects)
			assert.Len(t, r.Messages, 1, "the request was changed")
			assert.Len(t, r.Tools, 1, "the request was changed")
		})
	}
}

// checkCorrection checks the first request of As, and the text with which the second one
// corrects the first reply.
func checkCorrection(t *testing.T, requests []llm.Request, want string) {
	t.Helper()
	first := requests[0]
	require.Len(t, first.Tools, 2)
	assert.Equal(t, "answer", first.ToolChoice.Name)
	assert.Contains(t, string(first.Tools[1].Schema), `"0 to 10"`)
	if want == "" {
		require.Len(t, requests, 1)
		return
	}
	require.Len(t, requests, 2)
	var told []string
	for _, m := range requests[1].Messages[1:] {
		if m.Role != llm.RoleAssistant {
			told = append(told, m.Text())
		}
	}
	assert.Contains(t, strings.Join(told, "\n"), want)
}

// checkAs asks for an answer of type T with one scripted reply.
func checkAs[T any](t *testing.T, reply llmtest.Reply, want T) {
	t.Helper()
	got, _, err := llm.As[T](t.Context(), llmtest.NewScript(reply), hello)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

type tree struct {
	Name  string  `json:"name"`
	Left  *tree   `json:"left,omitempty"`
	Right []*tree `json:"right,omitempty"`
}

type move struct {
	_    llm.OneOf
	Walk *struct{ Steps int } `json:"walk,omitempty"`
	Wait *verdict             `json:"wait,omitempty"`
}

func TestAsReadsAnyType(t *testing.T) {
	t.Parallel()
	checkAs(t, llmtest.Call("answer", `{"answer":[1,2]}`), []int{1, 2})
	checkAs(t, llmtest.Say(`The numbers are [1,2].`), []int{1, 2})
	checkAs(t, llmtest.Call("answer", `{"answer":"yes"}`), "yes")
	checkAs(t, llmtest.Call("answer", `{"a":1}`), map[string]int{"a": 1})
	checkAs(t, llmtest.Call("answer", `{"score":2}`), &verdict{Score: 2})
	checkAs(t, llmtest.Call("answer", `{"answer":1.5}`), json.Number("1.5"))
	checkAs(t, llmtest.Call("answer", `{"name":"a","left":{"name":"b"},"right":[{"name":"c"}]}`),
		tree{Name: "a", Left: &tree{Name: "b"}, Right: []*tree{{Name: "c"}}})
	checkAs(t, llmtest.Call("answer", `{"root":{"name":"a"}}`), struct {
		Root *tree `json:"root"`
	}{&tree{Name: "a"}})
	checkAs(t, llmtest.Call("answer", `{"walk":null,"wait":{"score":1}}`), move{Wait: &verdict{Score: 1}})
}

// TestAsNamesTheAlternativesOfAUnion proves that the correction of an answer with no
// alternative or several alternatives names the alternatives.
func TestAsNamesTheAlternativesOfAUnion(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{`{}`, `{"walk":{"Steps":1},"wait":{"score":1}}`} {
		model := llmtest.NewScript(llmtest.Call("answer", wrong), llmtest.Call("answer", `{"walk":{"Steps":1}}`))
		got, _, err := llm.As[move](t.Context(), model, hello)
		require.NoError(t, err)
		assert.Equal(t, 1, got.Walk.Steps)
		told := model.Requests()[1].Messages
		assert.Contains(t, told[len(told)-1].Text(), "the answer: want an object with exactly one of the fields walk, wait, got ")
	}
}

func TestAsAsksForJSON(t *testing.T) {
	t.Parallel()
	own := []byte(`{"type":"object","description":"my own"}`)
	tests := []struct {
		name   string
		format llm.Format
		want   llm.Format
		told   string
	}{
		{"an object", llm.Format{Type: llm.FormatJSON}, llm.Format{Type: llm.FormatJSON}, `"0 to 10"`},
		{"a schema", llm.Format{Type: llm.FormatSchema, Schema: own}, llm.Format{Type: llm.FormatSchema, Schema: own}, "my own"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewScript(llmtest.Say(""), llmtest.Say(`{"score":4}`))
			got, _, err := llm.As[verdict](t.Context(), model, llm.Request{Messages: []llm.Message{llm.User("?")}, Format: tt.format})
			require.NoError(t, err)
			assert.Equal(t, 4, got.Score)
			asked := model.Requests()
			assert.Equal(t, tt.want, asked[0].Format)
			assert.Empty(t, asked[0].Tools)
			assert.Contains(t, asked[0].Messages[0].Text(), "JSON")
			assert.Contains(t, asked[0].Messages[0].Text(), tt.told)
			assert.Contains(t, asked[1].Messages[2].Text(), "there is no answer; write JSON")
		})
	}
	model := llmtest.NewScript(llmtest.Say(`{"score":4}`))
	_, _, err := llm.As[verdict](t.Context(), model, llm.Request{Messages: []llm.Message{llm.User("?")}, Format: llm.Format{Type: llm.FormatSchema}})
	require.NoError(t, err)
	assert.Contains(t, string(model.Requests()[0].Format.Schema), `"score"`, "the schema of the type")
}

func TestAsValidatesBehindAPointer(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Call("answer", `{"score":11}`), llmtest.Call("answer", `{"score":3}`))
	got, _, err := llm.As[*verdict](t.Context(), model, hello)
	require.NoError(t, err)
	assert.Equal(t, 3, got.Score)
}

type toolPlan struct {
	Name      string         `json:"name"`
	Arguments map[string]int `json:"arguments"`
}

// TestAsDoesNotReadAWrittenCallAsTheAnswer proves that As reads a tool call in the text of a
// reply as a call of the answer tool, and asks again if it names another tool.
func TestAsDoesNotReadAWrittenCallAsTheAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       map[string]any
		corrects   string
	}{
		{"the answer tool", `{"name":"answer","arguments":{"a":1}}`, map[string]any{"a": 1.0}, ""},
		{"arguments as a string", `<tool_call>{"id":"1","name":"answer","arguments":"{\"a\":1}"}</tool_call>`, map[string]any{"a": 1.0}, ""},
		{"another tool", `{"name":"look","arguments":{"a":1}}`, map[string]any{"b": 2.0}, `the text is a call of the tool "look"; call the tool answer to answer`},
		{"an unknown tool", `{"name":"find","arguments":{}}`, map[string]any{"b": 2.0}, `the text is a call of the tool "find"`},
		{"more fields", `{"name":"look","arguments":{},"score":1}`, map[string]any{"name": "look", "arguments": map[string]any{}, "score": 1.0}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewScript(llmtest.Say(tt.text), llmtest.Call("answer", `{"b":2}`))
			got, _, err := llm.As[map[string]any](t.Context(), model, hello)
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
			if tt.corrects != "" {
				told := model.Requests()[1].Messages
				assert.Contains(t, told[len(told)-1].Text(), tt.corrects)
			}
		})
	}
	t.Run("a type with these fields", func(t *testing.T) {
		t.Parallel()
		checkAs(t, llmtest.Say(`{"name":"look","arguments":{"a":1}}`), toolPlan{"look", map[string]int{"a": 1}})
	})
	t.Run("JSON without tools", func(t *testing.T) {
		t.Parallel()
		r := hello
		r.Format.Type = llm.FormatJSON
		got, _, err := llm.As[map[string]any](t.Context(), llmtest.NewScript(llmtest.Say(`{"name":"look","arguments":{}}`)), r)
		require.NoError(t, err)
		assert.Equal(t, "look", got["name"])
	})
	t.Run("JSON with tools", func(t *testing.T) {
		t.Parallel()
		r := hello
		r.Format.Type, r.Tools = llm.FormatJSON, []llm.ToolSpec{{Name: "look", Schema: []byte(`{}`)}}
		written := llmtest.Say(`{"name":"look","arguments":{}}`)
		_, _, err := llm.As[map[string]any](t.Context(), llmtest.NewScript(written, written), r)
		require.ErrorContains(t, err, `the text is a call of the tool "look"; write the answer itself`)
	})
}

// TestAsErrorsKeepTheText proves that the last text of the model is in the error, even if
// the request for a better answer fails.
func TestAsErrorsKeepTheText(t *testing.T) {
	t.Parallel()
	cutOff := llmtest.Reply{Chunks: []llm.Chunk{
		{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Name: "answer", Arguments: `{"score":`}},
		{Kind: llm.ChunkEnd, StopReason: llm.StopLength},
	}}
	tests := []struct {
		name     string
		replies  []llmtest.Reply
		is       error
		text     string
		problems int
	}{
		{"texts", []llmtest.Reply{llmtest.Say("no idea"), llmtest.Say("still no idea")}, llm.ErrMalformed, "still no idea", 1},
		{"calls", []llmtest.Reply{llmtest.Call("answer", `{}`), llmtest.Call("answer", `{"score":true}`)}, llm.ErrMalformed, `{"score":true}`, 1},
		{"a failed correction", []llmtest.Reply{llmtest.Say("no idea"), llmtest.Fail(llm.ErrAuth)}, llm.ErrAuth, "no idea", 1},
		{"a cut off call", []llmtest.Reply{cutOff}, llm.ErrMalformed, `{"score":`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := llm.As[verdict](t.Context(), llmtest.NewScript(tt.replies...), hello)
			require.ErrorIs(t, err, tt.is)
			require.ErrorContains(t, err, "llm: as llm_test.verdict: ")
			var e *llm.AnswerError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, tt.text, e.Text)
			assert.Len(t, e.Problems, tt.problems)
		})
	}
}

func TestAsFails(t *testing.T) {
	t.Parallel()
	ask := llm.Request{Messages: []llm.Message{llm.User("?")}, Tools: []llm.ToolSpec{{Name: "answer", Schema: []byte(`{}`)}}}
	cost := llm.Usage{Input: 1, Output: 1}
	model := llmtest.NewScript(llmtest.Call("answer_", `{}`).Costing(cost), llmtest.Call("answer_", `{"score":99}`).Costing(cost))
	got, usage, err := llm.As[verdict](t.Context(), model, ask)
	require.ErrorIs(t, err, llm.ErrMalformed)
	require.ErrorContains(t, err, "99 is more than 10")
	assert.Zero(t, got)
	assert.EqualValues(t, 4, usage.Total)
	cutOff := llmtest.Reply{Chunks: []llm.Chunk{
		{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Name: "answer_", Arguments: `{"score":`}},
		{Kind: llm.ChunkEnd, StopReason: llm.StopLength, Usage: &cost},
	}}
	_, usage, err = llm.As[verdict](t.Context(), llmtest.NewScript(cutOff), ask)
	require.ErrorIs(t, err, llm.ErrMalformed)
	assert.Equal(t, llm.Usage{Input: 1, Output: 1, Total: 2}, usage, "the usage of a reply that was cut off")
	_, _, err = llm.As[verdict](t.Context(), llmtest.NewScript(llmtest.Fail(llm.ErrAuth)), ask)
	require.ErrorIs(t, err, llm.ErrAuth)
	_, _, err = llm.As[chan int](t.Context(), llmtest.Echo{}, ask)
	checkInvalid(t, err, "chan int is unsupported: it cannot be read from JSON")
	_, _, err = llm.As[verdict](t.Context(), llmtest.Echo{}, llm.Request{})
	checkInvalid(t, err, "no messages")
}

// TestAsNamesItsTool proves that the tool of As has the name of the format.
func TestAsNamesItsTool(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Call("Plan", `{"score":3}`))
	got, _, err := llm.As[verdict](t.Context(), model, llm.Request{Messages: []llm.Message{llm.User("?")}, Format: llm.Format{Name: "Plan"}})
	require.NoError(t, err)
	assert.Equal(t, verdict{Score: 3}, got)
	sent := model.Requests()[0]
	require.Len(t, sent.Tools, 1)
	assert.Equal(t, "Plan", sent.Tools[0].Name)
	assert.Equal(t, "Plan", sent.ToolChoice.Name)
}

// TestAnswerToolReadsCalls proves that a loop can offer an AnswerTool and read its calls.
func TestAnswerToolReadsCalls(t *testing.T) {
	t.Parallel()
	tool, err := llm.NewAnswerTool[verdict]("judge")
	require.NoError(t, err)
	require.NoError(t, tool.Spec().Validate())
	assert.Equal(t, "judge", tool.Spec().Name)
	got, err := tool.Read(llm.ToolCall{ID: "1", Name: "judge", Arguments: []byte(`{"score":3}`)})
	require.NoError(t, err)
	assert.Equal(t, verdict{Score: 3}, got)
	for call, want := range map[*llm.ToolCall]string{
		{Arguments: []byte(`{"score":3,"grade":"meh"}`)}: `grade: want one of "good", "bad"`,
		{Arguments: []byte(`{"score":11}`)}:              "score: 11 is more than 10",
		new(llm.InvalidCall("1", "judge", "{", "cut")):   "the arguments are not JSON: cut",
	} {
		got, err := tool.Read(*call)
		require.ErrorContains(t, err, want)
		require.ErrorIs(t, err, llm.ErrMalformed)
		var e *llm.AnswerError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, call.Text(), e.Text)
		assert.Zero(t, got)
	}
	names, err := llm.NewAnswerTool[[]string]("")
	require.NoError(t, err)
	list, err := names.Read(llm.ToolCall{Arguments: []byte(`{"answer":["a"]}`)})
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, list)
	_, err = llm.NewAnswerTool[func()]("")
	require.ErrorIs(t, err, llm.ErrInvalid)
}
