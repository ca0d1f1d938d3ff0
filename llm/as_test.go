package llm_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

type verdict struct {
	Score  int    `json:"score" jsonschema:"0 to 10"`
	Reason string `json:"reason,omitempty"`
}

func (v *verdict) Validate() error {
	if v.Score > 10 {
		return fmt.Errorf("score: %d is more than 10", v.Score)
	}
	return nil
}

func TestAs(t *testing.T) {
	t.Parallel()
	paid := llm.Usage{Input: 10, Output: 2}
	two := llmtest.Calls(llm.ToolCall{Name: "look"}, llm.ToolCall{Name: "answer", Arguments: []byte(`{"score":1}`)})
	tests := []struct {
		name     string
		replies  []llmtest.Reply
		want     verdict
		corrects string // what the model was told in the second turn
	}{
		{"by a call", []llmtest.Reply{llmtest.Call("answer", `{"score":7,"reason":"good"}`)}, verdict{7, "good"}, ""},
		{"among calls", []llmtest.Reply{two}, verdict{1, ""}, ""},
		{"in a text", []llmtest.Reply{llmtest.Say(`{"score":7}`)}, verdict{7, ""}, ""},
		{"in a block", []llmtest.Reply{llmtest.Say("Here:\n```json\n{\"score\":7}\n```\nDone.")}, verdict{7, ""}, ""},
		{"within a text", []llmtest.Reply{llmtest.Say(`I say {"score": 7}.`)}, verdict{7, ""}, ""},
		{"a wrong type", []llmtest.Reply{llmtest.Call("answer", `{"score":"high"}`), llmtest.Call("answer", `{"score":3}`)}, verdict{3, ""}, `score: want an integer, got the string "high"`},
		{"an unknown field", []llmtest.Reply{llmtest.Call("answer", `{"score":1,"mood":1}`), llmtest.Call("answer", `{"score":3}`)}, verdict{3, ""}, "mood: there is no such field"},
		{"what the type refuses", []llmtest.Reply{llmtest.Call("answer", `{"score":11}`), llmtest.Call("answer", `{"score":10}`)}, verdict{10, ""}, "score: 11 is more than 10"},
		{"a number too large", []llmtest.Reply{llmtest.Call("answer", `{"score":99999999999999999999}`), llmtest.Call("answer", `{"score":3}`)}, verdict{3, ""}, "does not fit"},
		{"broken arguments", []llmtest.Reply{llmtest.Call("answer", `{"score":`), llmtest.Call("answer", `{"score":3}`)}, verdict{3, ""}, "the arguments are not JSON: unexpected end"},
		{"another tool", []llmtest.Reply{llmtest.Call("look", `{}`), llmtest.Call("answer", `{"score":3}`)}, verdict{3, ""}, "Not called"},
		{"no JSON at all", []llmtest.Reply{llmtest.Say("It is good."), llmtest.Call("answer", `{"score":3}`)}, verdict{3, ""}, "not valid JSON"},
		{"nothing", []llmtest.Reply{llmtest.Say(""), llmtest.Say(`{"score":3}`)}, verdict{3, ""}, "call the tool answer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for i := range test.replies {
				test.replies[i] = test.replies[i].Costing(paid)
			}
			model := llmtest.NewScript(test.replies...)
			r := llm.Request{Messages: []llm.Message{llm.User("Judge this.")}, Tools: []llm.ToolSpec{{Name: "look", Schema: []byte(`{}`)}}}
			got, usage, err := llm.As[verdict](t.Context(), model, r)
			if err != nil || got != test.want {
				t.Errorf("got %+v and %v, want %+v", got, err, test.want)
			}
			if want := int64(10 * len(test.replies)); usage.Input != want {
				t.Errorf("got usage %+v, want %d tokens of input", usage, want)
			}
			checkCorrected(t, model.Requests(), test.corrects)
			if len(r.Messages) != 1 || len(r.Tools) != 1 {
				t.Errorf("the request was changed: %+v", r)
			}
		})
	}
}

// checkCorrected looks at what a model was told about its first reply.
func checkCorrected(t *testing.T, requests []llm.Request, want string) {
	t.Helper()
	first := requests[0]
	if len(first.Tools) != 2 || first.ToolChoice.Name != "answer" || !strings.Contains(string(first.Tools[1].Schema), `"0 to 10"`) {
		t.Errorf("asked with %+v", first)
	}
	if (want != "") != (len(requests) == 2) {
		t.Fatalf("asked %d times", len(requests))
	}
	if want == "" {
		return
	}
	var told []string
	for _, m := range requests[1].Messages[1:] {
		if m.Role != llm.RoleAssistant {
			told = append(told, m.Text())
		}
	}
	if text := strings.Join(told, "\n"); !strings.Contains(text, want) {
		t.Errorf("the model was told %q, want %q", text, want)
	}
}

func TestAsTakesAnyType(t *testing.T) {
	t.Parallel()
	ask := llm.Request{Messages: []llm.Message{llm.User("?")}}
	numbers, _, err := llm.As[[]int](t.Context(), llmtest.NewScript(llmtest.Call("answer", `{"answer":[1,2]}`)), ask)
	if err != nil || !reflect.DeepEqual(numbers, []int{1, 2}) {
		t.Errorf("got %v and %v", numbers, err)
	}
	numbers, _, err = llm.As[[]int](t.Context(), llmtest.NewScript(llmtest.Say(`The numbers are [1,2].`)), ask)
	if err != nil || !reflect.DeepEqual(numbers, []int{1, 2}) {
		t.Errorf("bare: got %v and %v", numbers, err)
	}
	word, _, err := llm.As[string](t.Context(), llmtest.NewScript(llmtest.Call("answer", `{"answer":"yes"}`)), ask)
	if err != nil || word != "yes" {
		t.Errorf("got %q and %v", word, err)
	}
	counts, _, err := llm.As[map[string]int](t.Context(), llmtest.NewScript(llmtest.Call("answer", `{"a":1}`)), ask)
	if err != nil || counts["a"] != 1 {
		t.Errorf("got %v and %v", counts, err)
	}
	maybe, _, err := llm.As[*verdict](t.Context(), llmtest.NewScript(llmtest.Call("answer", `{"score":2}`)), ask)
	if err != nil || maybe == nil || maybe.Score != 2 {
		t.Errorf("got %v and %v", maybe, err)
	}
}

func TestAsWritesJSON(t *testing.T) {
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
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewScript(llmtest.Say(""), llmtest.Say(`{"score":4}`))
			got, _, err := llm.As[verdict](t.Context(), model, llm.Request{Messages: []llm.Message{llm.User("?")}, Format: test.format})
			if err != nil || got.Score != 4 {
				t.Fatalf("got %+v and %v", got, err)
			}
			asked := model.Requests()
			if !reflect.DeepEqual(asked[0].Format, test.want) || len(asked[0].Tools) > 0 {
				t.Errorf("asked for %+v", asked[0])
			}
			if text := asked[0].Messages[0].Text(); !strings.Contains(text, "JSON") || !strings.Contains(text, test.told) {
				t.Errorf("told %q", text)
			}
			if text := asked[1].Messages[2].Text(); !strings.Contains(text, "there is no answer; write JSON") {
				t.Errorf("then told %q", text)
			}
		})
	}
	model := llmtest.NewScript(llmtest.Say(`{"score":4}`))
	if _, _, err := llm.As[verdict](t.Context(), model, llm.Request{Messages: []llm.Message{llm.User("?")}, Format: llm.Format{Type: llm.FormatSchema}}); err != nil {
		t.Error(err)
	}
	if schema := model.Requests()[0].Format.Schema; !strings.Contains(string(schema), `"score"`) {
		t.Errorf("asked for %s, want the schema of the type", schema)
	}
}

func TestAsValidatesBehindAPointer(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Call("answer", `{"score":11}`), llmtest.Call("answer", `{"score":3}`))
	got, _, err := llm.As[*verdict](t.Context(), model, hello)
	if err != nil || got.Score != 3 {
		t.Errorf("got %+v and %v, want the answer that is valid", got, err)
	}
}

func TestAsFails(t *testing.T) {
	t.Parallel()
	ask := llm.Request{Messages: []llm.Message{llm.User("?")}, Tools: []llm.ToolSpec{{Name: "answer", Schema: []byte(`{}`)}}}
	cost := llm.Usage{Input: 1, Output: 1}
	model := llmtest.NewScript(llmtest.Call("answer_", `{}`).Costing(cost), llmtest.Call("answer_", `{"score":99}`).Costing(cost))
	got, usage, err := llm.As[verdict](t.Context(), model, ask)
	if !errors.Is(err, llm.ErrMalformed) || !strings.Contains(err.Error(), "99 is more than 10") || got != (verdict{}) || usage.Total != 4 {
		t.Errorf("got %+v, %+v and %v", got, usage, err)
	}
	cutOff := llmtest.Reply{Chunks: []llm.Chunk{
		{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Name: "answer_", Arguments: `{"score":`}},
		{Kind: llm.ChunkEnd, StopReason: llm.StopLength, Usage: &cost},
	}}
	if _, usage, err = llm.As[verdict](t.Context(), llmtest.NewScript(cutOff), ask); !errors.Is(err, llm.ErrMalformed) || usage != cost {
		t.Errorf("got %+v and %v, want the usage of a reply that was cut off", usage, err)
	}
	_, _, err = llm.As[verdict](t.Context(), llmtest.NewScript(llmtest.Fail(llm.ErrAuth)), ask)
	if !errors.Is(err, llm.ErrAuth) {
		t.Errorf("got %v, want the model's error", err)
	}
	_, _, err = llm.As[chan int](t.Context(), llmtest.Echo{}, ask)
	checkInvalid(t, err, "chan int is unsupported: it cannot be read from JSON")
	_, _, err = llm.As[verdict](t.Context(), llmtest.Echo{}, llm.Request{})
	checkInvalid(t, err, "no messages")
}
