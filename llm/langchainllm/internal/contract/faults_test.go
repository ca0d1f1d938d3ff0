package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// A fault of langchaingo v0.1.14. The test of each shows the library at fault,
// so that we notice when it is mended, and the model at right.
type fault struct {
	name    string
	backend string
	answers []http.HandlerFunc
	// bare asks the library, and returns what shows the fault, or an empty text
	// when it is not there any more.
	bare func(ctx context.Context, m llms.Model, f *fake) string
	// ours asks through the model.
	ours func(t *testing.T, m llm.Model, f *fake)
	// wiredOnly: it takes a Transport to mend it.
	wiredOnly bool
}

var human = []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "hi")}

func libraryTool(parameters any) llms.CallOption {
	return llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "add", Parameters: parameters}}})
}

var libraryTools = libraryTool(map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "integer"}}})

func silent(context.Context, []byte) error { return nil }

// libraryCalls streams from the library, and returns its calls.
func libraryCalls(ctx context.Context, m llms.Model) string {
	r, err := m.GenerateContent(ctx, human, libraryTools, llms.WithStreamingFunc(silent))
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, c := range r.Choices {
		for _, call := range c.ToolCalls {
			all = append(all, call.FunctionCall.Name+call.FunctionCall.Arguments)
		}
	}
	return strings.Join(all, " ")
}

// unless returns got if it is not what a library without the fault gives.
func unless(want, got string) string {
	if got == want {
		return ""
	}
	return "got " + got
}

func wantCalls(want string) func(*testing.T, llm.Model, *fake) {
	return func(t *testing.T, m llm.Model, _ *fake) {
		t.Helper()
		if got := calls(must(t, m, withTools(hello)).message); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func wantText(want string) func(*testing.T, llm.Model, *fake) {
	return func(t *testing.T, m llm.Model, _ *fake) {
		t.Helper()
		if got := must(t, m, withTools(hello)).text(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func wantKind(kind error) func(*testing.T, llm.Model, *fake) {
	return func(t *testing.T, m llm.Model, _ *fake) {
		t.Helper()
		if e := failure(t, m, hello, kind); !e.Retryable() {
			t.Errorf("got %v", e)
		}
	}
}

// libraryText streams from the library; an error is no text.
func libraryText(ctx context.Context, m llms.Model) (seen, text string, err error) {
	r, err := m.GenerateContent(ctx, human, llms.WithStreamingFunc(func(_ context.Context, b []byte) error {
		seen += string(b)
		return nil
	}))
	if err != nil {
		return seen, "", err
	}
	for _, c := range r.Choices {
		text += c.Content
	}
	return seen, text, nil
}

// isSuccess shows a fault that is reported as an answer.
func isSuccess(ctx context.Context, m llms.Model, _ *fake) string {
	_, text, err := libraryText(ctx, m)
	if err != nil {
		return ""
	}
	return "answered " + text
}

func failsWith(part string) func(context.Context, llms.Model, *fake) string {
	return func(ctx context.Context, m llms.Model, _ *fake) string {
		if _, _, err := libraryText(ctx, m); err != nil && strings.Contains(err.Error(), part) {
			return err.Error()
		}
		return ""
	}
}

func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

func piece(index int, fields string) string {
	return delta(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s}]}`, index, fields))
}

const (
	finished = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
	stopped  = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
)

var (
	twoCalls = sayOpenAI(say().calling(saidCall{"a", "add", `{"a":1}`}, saidCall{"b", "now", `{"b":2}`}))
	oneCall  = sayOpenAI(say().calling(saidCall{"a", "add", `{"a":1}`}))
)

// onlyWhole streams what comes first, and answers whole with the other.
func onlyWhole(streamed, whole http.HandlerFunc) []http.HandlerFunc {
	return []http.HandlerFunc{streamed, whole}
}

var faults = []fault{
	{
		name: "1 interleaved calls are mixed up", backend: "openai",
		answers: onlyWhole(sayOpenAI(said{interleaved: true}.calling(saidCall{"a", "add", `{"a":1}`}, saidCall{"b", "now", `{"b":2}`})), twoCalls),
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			return unless(`add{"a":1} now{"b":2}`, libraryCalls(ctx, m))
		},
		ours: wantCalls(`add{"a":1} now{"b":2}`),
	},
	{
		name: "1 calls announced together swap arguments that still parse", backend: "openai",
		answers: onlyWhole(sse(piece(0, `"id":"a","type":"function","function":{"name":"add","arguments":""}`),
			piece(1, `"id":"b","type":"function","function":{"name":"now","arguments":""}`),
			piece(0, `"function":{"arguments":"{\"a\":1}"}`), finished, "[DONE]"),
			sayOpenAI(say().calling(saidCall{"a", "add", `{"a":1}`}, saidCall{"b", "now", `{}`}))),
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			return unless(`add{"a":1} now`, libraryCalls(ctx, m))
		},
		ours: wantCalls(`add{"a":1} now{}`),
	},
	{
		name: "1 an empty piece of arguments makes another call", backend: "openai",
		answers: onlyWhole(sse(piece(0, `"id":"a","type":"function","function":{"name":"add","arguments":""}`),
			piece(0, `"function":{"arguments":""}`), piece(0, `"function":{"arguments":"{\"a\":1}"}`), finished, "[DONE]"), oneCall),
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			return unless(`add{"a":1}`, libraryCalls(ctx, m))
		},
		ours: wantCalls(`add{"a":1}`),
	},
	{
		name: "1 a type on every piece makes a call of each", backend: "openai",
		answers: onlyWhole(sse(piece(0, `"id":"a","type":"function","function":{"name":"add","arguments":"{\"a\""}`),
			piece(0, `"id":"","type":"function","function":{"name":"","arguments":":1}"}`), finished, "[DONE]"), oneCall),
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			return unless(`add{"a":1}`, libraryCalls(ctx, m))
		},
		ours: wantCalls(`add{"a":1}`),
	},
	{
		name: "2 text beside a call is not streamed, and the call is streamed as text", backend: "openai",
		answers: []http.HandlerFunc{sse(delta(`{"content":"Let "}`),
			delta(`{"content":"me","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"add","arguments":"{}"}}]}`), finished, "[DONE]")},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			seen, text, _ := libraryText(ctx, m)
			return unless(text, seen)
		},
		ours: wantText("Let me"),
	},
	{
		name: "3 the reason to stop is overwritten", backend: "openai",
		answers: []http.HandlerFunc{sse(delta(`{"content":"cut"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`,
			`{"choices":[{"index":0,"delta":{"content":""}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, "[DONE]")},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			r, err := m.GenerateContent(ctx, human, llms.WithStreamingFunc(silent))
			if err != nil {
				return ""
			}
			return unless("length", r.Choices[0].StopReason)
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			if got := must(t, m, hello).message.StopReason; got != llm.StopLength {
				t.Errorf("got %q", got)
			}
		},
		wiredOnly: true,
	},
	{
		name: "3 a stream that broke off is an answer", backend: "openai",
		answers: []http.HandlerFunc{sse(delta(`{"content":"half"}`))},
		bare:    isSuccess, ours: wantKind(llm.ErrTransport),
	},
	{
		name: "3 an error in the stream is an answer", backend: "openai",
		answers: []http.HandlerFunc{sse(`{"error":{"message":"overloaded","code":529}}`), status(529, `{"error":{"message":"overloaded"}}`)},
		bare:    isSuccess, ours: wantKind(llm.ErrOverloaded),
	},
	{
		name: "4 a line over 64 KiB fails", backend: "openai",
		answers: []http.HandlerFunc{sayOpenAI(say(strings.Repeat("x", 70000)))},
		bare:    failsWith("token too long"), ours: wantText(strings.Repeat("x", 70000)),
	},
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
			if s := f.last(t).text; strings.Count(s, "tool_use_id") != 2 || strings.Count(s, `"tool_use"`) != 2 {
				t.Errorf("sent %s", s)
			}
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
			if h := must(t, m, hello); h.text() != "" || h.message.StopReason != llm.StopEnd {
				t.Errorf("got %q, %q", h.text(), h.message.StopReason)
			}
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
		bare: failsWith("unknown content block type"), ours: wantText("ok"), wiredOnly: true,
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
		name: "8 results in messages of their own are turns of their own", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			result := func(text string) llms.MessageContent {
				return llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{Name: "add", Content: text}}}
			}
			if _, err := m.GenerateContent(ctx, append(human, result("1"), result("2"))); err != nil {
				return ""
			}
			all := f.requests()
			return unless("2", fmt.Sprint(len(list(all[len(all)-1].body["contents"]))))
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, history())
			if n := len(list(f.last(t).body["contents"])); n != 4 {
				t.Errorf("sent %d turns, want 4", n)
			}
		},
	},
	{
		name: "8 the error of the reader is swallowed", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("one", "two"))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, human, llms.WithStreamingFunc(func(context.Context, []byte) error { return errors.New("stop") }))
			if err == nil {
				return "answered"
			}
			return ""
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			for _, err := range m.Stream(ctx, hello) {
				last = err
				cancel()
			}
			if !errors.Is(last, context.Canceled) {
				t.Errorf("got %v", last)
			}
		},
	},
	{
		name: "8 the signature of a call is lost", backend: "googleai",
		answers: []http.HandlerFunc{jsonBody(`[{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"add","args":{"a":1}},"thoughtSignature":"c2ln"}]},"finishReason":1}]}]`)},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			r, err := m.GenerateContent(ctx, human, libraryTools, llms.WithStreamingFunc(silent))
			if err != nil || strings.Contains(fmt.Sprintf("%+v", r.Choices[0]), "c2ln") {
				return ""
			}
			return "lost"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			reply := must(t, m, withTools(hello)).message
			r := withTools(hello)
			r.Messages = append(r.Messages, reply, llm.ToolResult(reply.ToolCalls[0], "1"))
			must(t, m, r)
			if got := readGoogle(f.last(t)).Turns[1].Parts[0]; got != `call::add{"a":1}#c2ln` {
				t.Errorf("sent back %s", got)
			}
		},
		wiredOnly: true,
	},
	{
		name: "8 a busy server is asked for ten minutes", backend: "googleai",
		answers: []http.HandlerFunc{status(503, `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`)},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			ctx, cancel := context.WithTimeout(ctx, 2500*time.Millisecond)
			defer cancel()
			if _, err := m.GenerateContent(ctx, human); err == nil || len(f.requests()) < 2 {
				return ""
			}
			return fmt.Sprint(len(f.requests()), " requests")
		},
		ours: wantKind(llm.ErrOverloaded),
	},
	{
		name: "8 a schema of Go's is refused", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, human, libraryTool(json.RawMessage(`{"type":"object"}`)))
			return errorText(err)
		},
		ours: wantText("ok"), // addTool has a list of types, nowTool no properties
	},
	{
		name: "8 instructions alone panic", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) (got string) {
			defer func() { got = fmt.Sprint(recover()) }()
			system := llms.TextParts(llms.ChatMessageTypeSystem, "be nice")
			_, err := m.GenerateContent(ctx, []llms.MessageContent{system, system})
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			if e := failure(t, m, llm.Request{Messages: []llm.Message{llm.System("be nice")}}, llm.ErrBadRequest); e.Retryable() {
				t.Errorf("got %v", e)
			}
		},
	},
	{
		name: "9 a temperature of zero is sent when none is set", backend: "openai",
		answers: []http.HandlerFunc{sayOpenAI(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, human); err != nil {
				return ""
			}
			return unless("<nil>", fmt.Sprint(f.requests()[0].body["temperature"]))
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, hello)
			if got := f.last(t).body["temperature"]; got == 0.0 {
				t.Errorf("sent %v", got)
			}
		},
	},
	{
		name: "9 top_p is dropped", backend: "openai",
		answers: []http.HandlerFunc{sayOpenAI(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, human, llms.WithTopP(0.25)); err != nil {
				return ""
			}
			return unless("0.25", fmt.Sprint(f.requests()[0].body["top_p"]))
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			r := hello
			r.TopP = number(0.25)
			must(t, m, r)
			if got := f.last(t).body["top_p"]; got != 0.25 {
				t.Errorf("sent %v", got)
			}
		},
		wiredOnly: true,
	},
	{
		name: "11 a stream loses its calls", backend: "bedrock",
		answers: []http.HandlerFunc{sayBedrock(say("Let me.").calling(saidCall{"a", "add", `{"a":1}`}))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			return unless(`add{"a":1}`, libraryCalls(ctx, m))
		},
		ours: wantCalls(`add{"a":1}`),
	},
	{
		name: "a call that is null panics", backend: "openai",
		answers: onlyWhole(sse(delta(`{"tool_calls":[null]}`), finished, "[DONE]"), oneCall),
		bare: func(ctx context.Context, m llms.Model, _ *fake) (got string) {
			defer func() { got = fmt.Sprint(recover()) }()
			libraryCalls(ctx, m)
			return ""
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			h := ask(t, m, withTools(hello))
			if h.err != nil && !llm.Retryable(h.err) {
				t.Errorf("got %v", h.err)
			}
		},
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
			if got := f.last(t).body["tool_choice"]; toJSON(got) != `{"type":"any"}` {
				t.Errorf("sent %v", got)
			}
		},
		wiredOnly: true,
	},
	{
		name: "the wait that is asked for is lost", backend: "openai",
		answers: []http.HandlerFunc{status(429, `{"error":{"message":"slow down"}}`)},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, human)
			if strings.Contains(fmt.Sprintf("%+v", err), "7") {
				return ""
			}
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			if e := failure(t, m, hello, llm.ErrRateLimit); e.RetryAfter != 7*time.Second {
				t.Errorf("got %v", e.RetryAfter)
			}
		},
		wiredOnly: true,
	},
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range faults {
		for _, b := range backends {
			if b.name != fault.backend {
				continue
			}
			t.Run(b.name+"/"+fault.name, func(t *testing.T) {
				t.Parallel()
				f := newFake(t, fault.answers...)
				if shown := fault.bare(t.Context(), b.bare(t, f), f); shown == "" || shown == "<nil>" {
					t.Error("langchaingo has no such fault any more")
				}
				if !fault.wiredOnly {
					f := newFake(t, fault.answers...)
					fault.ours(t, b.model(t, f, false), f)
				}
				if b.wires {
					f := newFake(t, fault.answers...)
					fault.ours(t, b.model(t, f, true), f)
				}
			})
		}
	}
}

// TestFaultsOfNativeProviders: two packages of langchaingo lose tools, and are
// refused them.
func TestFaultsOfNativeProviders(t *testing.T) {
	t.Parallel()
	f := newFake(t, jsonBody(`{"message":{"role":"assistant","content":"hey"},"done":true}`+"\n"))
	for _, m := range nativeModels(t, f) {
		h := ask(t, m, withTools(hello))
		if !errors.Is(h.err, llm.ErrBadRequest) || !strings.Contains(h.err.Error(), "llms/openai") {
			t.Errorf("%s: got %v", m, h.err)
		}
		h = ask(t, m, llm.Request{Messages: history().Messages})
		if !errors.Is(h.err, llm.ErrBadRequest) {
			t.Errorf("%s: got %v", m, h.err)
		}
	}
	if n := len(f.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
