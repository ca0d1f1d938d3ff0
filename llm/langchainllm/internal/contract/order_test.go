package contract_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// TestToolCallsAreNotHeldBack proves that the pieces of a tool call reach the reader while the
// server still writes. The server waits until the reader has seen the first piece.
func TestToolCallsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][2][]string{
		"openai": {
			{piece(0, `"id":"a","function":{"name":"add","arguments":"{\"a\""}`)},
			{piece(0, `"function":{"arguments":":1}"}`), finished, "[DONE]"},
		},
		"anthropic": {
			{
				`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"add","input":{}}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`,
			},
			{
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":":1}"}}`, `{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan struct{})
			f := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				sse(events[0]...)(w, r)
				select {
				case <-seen:
				case <-r.Context().Done():
					return
				}
				sse(events[1]...)(w, r)
			})
			var got []llm.ToolCallDelta
			var reply llm.Message
			for c, err := range llm.Stream(t.Context(), backendOf(name).model(t, f), withTools(hello), &reply) {
				require.NoError(t, err)
				if c.Kind == llm.ChunkToolCall {
					if got = append(got, c.ToolCall); c.ToolCall.Arguments == `{"a"` {
						close(seen)
					}
				}
			}
			assert.Equal(t, "a", got[0].ID)
			assert.Equal(t, "add", got[0].Name)
			assert.Equal(t, llm.ToolCallDelta{Arguments: ":1}"}, got[len(got)-1])
			assert.Equal(t, `add{"a":1}`, calls(reply))
		})
	}
}

// TestGeminiPartsKeepTheirOrder proves that the parts of a reply of Gemini, with its reasoning,
// images and signatures, are yielded and stored in their order and go back unchanged with the
// next request.
func TestGeminiPartsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := newFake(t, jsonBody(`[{"candidates":[{"content":{"role":"model","parts":[{"text":"First ","thought":true}]}}]},
		{"candidates":[{"content":{"parts":[{"text":"this.","thought":true,"thoughtSignature":"dGhpcw=="},{"text":"A cat:"}]}}]},
		{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw=="},"thoughtSignature":"aW1n"}]}}]},
		{"candidates":[{"content":{"parts":[{"text":"Now that.","thought":true},{"text":"And a sum."},
			{"functionCall":{"name":"add","args":{"a":1}},"thoughtSignature":"Y2FsbA=="},{"functionCall":{"name":"now"}}]},"finishReason":1}]}]`),
		sayGoogle(say("ok")))
	m := backendOf("googleai").model(t, f)
	r := withTools(hello)
	h := must(t, m, r)
	image := llm.Image("image/png", []byte("\x89PNG"))
	image.Signature = "aW1n"
	want := []llm.Part{
		{Type: llm.PartReasoning, Text: "First this.", Signature: "gemini:dGhpcw=="},
		llm.Text("A cat:"), image,
		{Type: llm.PartReasoning, Text: "Now that."},
		llm.Text("And a sum."),
	}
	assert.Equal(t, want, h.message.Parts)
	require.Len(t, h.message.ToolCalls, 2)
	assert.Equal(t, llm.ChunkReasoning, h.chunks[0].Kind, "reasoning comes first")

	first, second := h.message.ToolCalls[0], h.message.ToolCalls[1]
	r.Messages = append(r.Messages, h.message, llm.ToolResult(first, "1"), llm.ToolResult(second, "noon"))
	must(t, m, r)
	sent := list(list(f.last(t).body["contents"])[1]["parts"])
	assert.JSONEq(t, `[{"text":"First this.","thought":true,"thoughtSignature":"dGhpcw=="},{"text":"A cat:"},
		{"inlineData":{"mimeType":"image/png","data":"iVBORw=="},"thoughtSignature":"aW1n"},{"text":"And a sum."},
		{"functionCall":{"name":"add","args":{"a":1}},"thoughtSignature":"Y2FsbA=="},{"functionCall":{"name":"now","args":{}}}]`, toJSON(sent))
}

// TestClaudesThoughtsGoBackUnchanged proves that signed and redacted reasoning goes back to
// Anthropic in its order among the other blocks, as the API sent it.
func TestClaudesThoughtsGoBackUnchanged(t *testing.T) {
	t.Parallel()
	content := []string{
		`{"type":"thinking","thinking":"First this.","signature":"S1"}`,
		`{"type":"redacted_thinking","data":"SECRET"}`,
		`{"type":"text","text":"Let me see."}`,
		`{"type":"thinking","thinking":"","signature":"S2"}`,
		`{"type":"tool_use","id":"call_1","name":"add","input":{"a":1}}`,
	}
	events := []string{`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`}
	for i, block := range content {
		at := toJSON(i)
		start, deltas := block, []string(nil)
		switch i {
		case 0:
			start = `{"type":"thinking","thinking":"","signature":""}`
			deltas = []string{`{"type":"thinking_delta","thinking":"First "}`, `{"type":"thinking_delta","thinking":"this."}`, `{"type":"signature_delta","signature":"S1"}`}
		case 3:
			start, deltas = `{"type":"thinking","thinking":""}`, []string{`{"type":"signature_delta","signature":"S2"}`}
		}
		events = append(events, `{"type":"content_block_start","index":`+at+`,"content_block":`+start+`}`)
		for _, d := range deltas {
			events = append(events, `{"type":"content_block_delta","index":`+at+`,"delta":`+d+`}`)
		}
		events = append(events, `{"type":"content_block_stop","index":`+at+`}`)
	}
	events = append(events, `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`)
	f := newFake(t, sse(events...), sayAnthropic(say("1")))
	m := backendOf("anthropic").model(t, f)
	r := withTools(hello)
	r.Reasoning.Effort = llm.EffortLow
	reply := must(t, m, r).message
	// Reasoning that another provider signed is not sent: Anthropic would reject it.
	foreign := llm.Assistant("Well.")
	foreign.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: "hm", Signature: "gemini:c2ln"}}, foreign.Parts...)
	r.Messages = []llm.Message{llm.User("hi"), foreign, llm.User("hi"), reply, llm.ToolResult(reply.ToolCalls[0], "1")}
	must(t, m, r)
	messages := list(f.last(t).body["messages"])
	assert.NotNil(t, f.last(t).body["thinking"])
	assert.JSONEq(t, `[{"type":"text","text":"Well."}]`, toJSON(messages[1]["content"]))
	sent := list(messages[3]["content"])
	require.Len(t, sent, len(content))
	for i, want := range content {
		assert.JSONEq(t, want, toJSON(sent[i]))
	}
}

// TestThinkTagsAreReasoning proves that the text between think tags is a reasoning part, and that
// the next request does not contain it.
func TestThinkTagsAreReasoning(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(delta(`{"content":"<thi"}`), delta(`{"content":"nk>\nhm</th"}`), delta(`{"content":"ink>\n\nok"}`), stopped, "[DONE]"))
	m := backendOf("ollama").model(t, f)
	h := must(t, m, hello)
	assert.Equal(t, []llm.Part{{Type: llm.PartReasoning, Text: "hm"}, llm.Text("ok")}, h.message.Parts)
	must(t, m, llm.Request{Messages: []llm.Message{llm.User("hi"), h.message, llm.User("and?")}})
	assert.NotContains(t, f.last(t).text, "hm")
}

// TestToolCallsWithoutIDsAreTwo proves that two calls without ids and with the same index stay
// two calls in the message.
func TestToolCallsWithoutIDsAreTwo(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(piece(0, `"function":{"name":"add","arguments":"{\"a\":1}"}`), piece(0, `"function":{"name":"add","arguments":"{\"a\":2}"}`),
		piece(0, `"function":{"name":"now","arguments":null}`), finished, "[DONE]"))
	h := must(t, backendOf("ollama").model(t, f), withTools(hello))
	assert.Equal(t, `add{"a":1} add{"a":2} now{}`, calls(h.message))
}

// TestStoredRedactedThinkingReachesClaude proves that redacted reasoning in a row of LangChain is
// sent back to Anthropic unchanged.
func TestStoredRedactedThinkingReachesClaude(t *testing.T) {
	t.Parallel()
	messages, err := llm.FromLangChain([]byte(`[{"type":"human","data":{"content":"hi"}},
		{"type":"ai","data":{"content":[{"type":"redacted_thinking","data":"SECRET"},{"type":"text","text":"so"}]}},{"type":"human","data":{"content":"and?"}}]`))
	require.NoError(t, err)
	f := newFake(t, sayAnthropic(say("ok")))
	must(t, backendOf("anthropic").model(t, f), llm.Request{Messages: messages})
	sent := list(f.last(t).body["messages"])
	assert.JSONEq(t, `[{"type":"redacted_thinking","data":"SECRET"},{"type":"text","text":"so"}]`, toJSON(sent[1]["content"]))
}
