package contract_test

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// thoughtOut is a reply with reasoning and a tool call.
var thoughtOut = said{reasoning: "Add them.", in: 10, out: 4}.calling(saidCall{"call_1", "add", `{"a":1}`})

func silentReasoning(context.Context, []byte, []byte) error { return nil }

var anthropicFaults = []fault{
	{
		name: "4 a line over 64 KiB fails", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say(strings.Repeat("x", 70000)))},
		bare:    failsWith("token too long"), ours: wantText(strings.Repeat("x", 70000)),
	},
	{
		name: "5 only the first part of a message is sent", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			parts := []llms.ContentPart{llms.TextPart("let me"), llms.ToolCall{ID: "c1", FunctionCall: &llms.FunctionCall{Name: "add", Arguments: "{}"}}}
			if _, err := m.GenerateContent(ctx, append(human, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: parts})); err != nil {
				return ""
			}
			if all := f.requests(); !strings.Contains(all[len(all)-1].text, "tool_use") {
				return "sent " + all[len(all)-1].text
			}
			return ""
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, history())
			s := f.last(t).text
			assert.Equal(t, 2, strings.Count(s, "tool_use_id"))
			assert.Equal(t, 2, strings.Count(s, `"tool_use"`))
		},
	},
	{
		name: "6 arguments that are empty fail", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			part := llms.ToolCall{ID: "c1", FunctionCall: &llms.FunctionCall{Name: "add"}}
			_, err := m.GenerateContent(ctx, append(human, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{part}}))
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			r := history()
			r.Messages[2].ToolCalls[0].Arguments = nil
			r.Messages[2].ToolCalls[1] = llm.InvalidCall("call_2", "add", `{"a":`, "cut off")
			must(t, m, r)
		},
	},
	{
		name: "6 a message without parts panics", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) (got string) {
			defer func() { got = fmt.Sprint(recover()) }()
			_, err := m.GenerateContent(ctx, append(human, llms.MessageContent{Role: llms.ChatMessageTypeAI}))
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			r := hello
			r.Messages = append(r.Messages, llm.Assistant(""), llm.User("and?"))
			must(t, m, r)
		},
	},
	{
		name: "6 an empty answer is an error", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(said{stop: "end", in: 1, out: 1})},
		bare:    failsWith("no response"),
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			h := must(t, m, hello)
			assert.Empty(t, h.text())
			assert.Equal(t, llm.StopEnd, h.message.StopReason)
		},
	},
	{
		name: "6 a block of another kind is an error", backend: "anthropic",
		answers: []http.HandlerFunc{sse(`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"x"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s"}}`, `{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"ok"}}`, `{"type":"content_block_stop","index":2}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`)},
		bare: failsWith("unknown content block type"), ours: wantText("ok"),
	},
	{
		name: "6 an error in the stream says nothing of its kind", backend: "anthropic",
		answers: []http.HandlerFunc{sse(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, _, err := libraryText(ctx, m)
			if llms.IsRateLimitError(err) || llms.IsProviderUnavailableError(err) {
				return ""
			}
			return errorText(err)
		},
		ours: wantKind(llm.ErrOverloaded),
	},
	{
		name: "a choice of a tool is dropped", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say().calling(saidCall{"a", "add", `{"a":1}`}))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, human, libraryTools, llms.WithToolChoice("required")); err != nil || f.requests()[0].body["tool_choice"] != nil {
				return ""
			}
			return "dropped"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			r := withTools(hello)
			r.ToolChoice.Mode = llm.ToolsRequired
			must(t, m, r)
			assert.Equal(t, `{"type":"any"}`, toJSON(f.last(t).body["tool_choice"]))
		},
	},
	{
		name: "5 only the first result of a message is sent", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			results := llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
				llms.ToolCallResponse{ToolCallID: "c1", Content: "one"}, llms.ToolCallResponse{ToolCallID: "c2", Content: "two"},
			}}
			if _, err := m.GenerateContent(ctx, append(human, results)); err != nil {
				return ""
			}
			if sent := f.requests()[0].text; !strings.Contains(sent, "two") {
				return "sent " + sent
			}
			return ""
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, history())
			s := f.last(t).text
			assert.Contains(t, s, `"call_1"`)
			assert.Contains(t, s, "no such number")
		},
	},
	{
		name: "only the first part of the instructions is sent", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, append(human, llms.TextParts(llms.ChatMessageTypeSystem, "Be brief.", "Be kind."))); err != nil {
				return ""
			}
			return unless("Be brief. Be kind.", str(f.requests()[0].body["system"]))
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{llm.Text("Be brief. "), llm.Text("Be kind.")}}, llm.User("hi")}})
			assert.Equal(t, "Be brief. Be kind.", f.last(t).body["system"])
		},
	},
	{
		name: "7 the signature of reasoning is lost", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(thoughtOut)},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			r, err := m.GenerateContent(ctx, human, libraryTools, llms.WithStreamingFunc(silent), llms.WithStreamingReasoningFunc(silentReasoning))
			if err != nil {
				return ""
			}
			for _, c := range r.Choices {
				if strings.Contains(fmt.Sprintf("%+v", c), "SIGNED") {
					return ""
				}
			}
			return "lost"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			reply := must(t, m, withTools(hello)).message
			r := withTools(hello)
			r.Messages = append(r.Messages, reply, llm.ToolResult(reply.ToolCalls[0], "1"))
			must(t, m, r)
			assert.Contains(t, f.last(t).text, `"signature":"SIGNED"`)
		},
	},
	{
		name: "7 reasoning goes with a temperature that is refused", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, human, llms.WithThinkingMode(llms.ThinkingModeLow), llms.WithMaxTokens(9000)); err != nil {
				return ""
			}
			if body := f.requests()[0].body; body["thinking"] != nil && body["temperature"] == 0.0 {
				return "sent temperature 0"
			}
			return ""
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			r := hello
			r.Reasoning.Effort, r.Temperature = llm.EffortLow, number(0)
			must(t, m, r)
			body := f.last(t).body
			got, ok := body["temperature"]
			require.NotNil(t, body["thinking"])
			if ok {
				assert.Equal(t, 1.0, got)
			}
		},
	},
	{
		name: "7 a reader of reasoning alone gets an error", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(thoughtOut)},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, human, llms.WithStreamingReasoningFunc(silentReasoning))
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			assert.Equal(t, "Add them.", reasoning(must(t, m, withTools(hello))))
		},
	},
	{
		name: "7 a reply has 2048 tokens when nothing is said", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, human); err != nil {
				return ""
			}
			if f.requests()[0].body["max_tokens"] == 2048.0 {
				return "sent 2048"
			}
			return ""
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, hello)
			assert.Equal(t, 4096.0, f.last(t).body["max_tokens"])
		},
	},
	{
		name: "usage is repeated on every block", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("Let me.").calling(saidCall{"a", "add", `{"a":1}`}))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			r, err := m.GenerateContent(ctx, human, libraryTools)
			if err != nil {
				return ""
			}
			sum := 0
			for _, c := range r.Choices {
				sum += c.GenerationInfo["OutputTokens"].(int)
			}
			return unless("4", fmt.Sprint(sum))
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			want := llm.Usage{Input: 10, Output: 4, Total: 14, Cached: 3}
			got := must(t, m, withTools(hello)).message.Usage
			require.NotNil(t, got)
			assert.Equal(t, want, *got)
		},
	},
	{
		name: "that a tool failed is not told", backend: "anthropic",
		answers: []http.HandlerFunc{sayAnthropic(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			// The library has no field for the error of a tool.
			if _, ok := reflect.TypeFor[llms.ToolCallResponse]().FieldByName("IsError"); ok {
				return ""
			}
			return "no field"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, history())
			assert.Equal(t, 1, strings.Count(f.last(t).text, `"is_error":true`))
		},
	},
}
