package contract_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

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

// onlyWhole returns the answers of a fake: first a streamed reply, then a reply that is not streamed.
func onlyWhole(streamed, whole http.HandlerFunc) []http.HandlerFunc {
	return []http.HandlerFunc{streamed, whole}
}

var openAIFaults = []fault{
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
			assert.Equal(t, llm.StopLength, must(t, m, hello).message.StopReason)
		},
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
			assert.NotEqual(t, 0.0, f.last(t).body["temperature"])
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
			assert.Equal(t, 0.25, f.last(t).body["top_p"])
		},
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
			if h.err != nil {
				assert.True(t, llm.Retryable(h.err), "got %v", h.err)
			}
		},
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
			e := failure(t, m, hello, llm.ErrRateLimit)
			assert.Equal(t, 7*time.Second, e.RetryAfter)
		},
	},
	{
		name: "9 metadata is posted", backend: "openai",
		answers: []http.HandlerFunc{sayOpenAI(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, human, llms.WithMetadata(map[string]any{"prompt_caching": true, "mine": 1})); err != nil {
				return ""
			}
			return unless("null", toJSON(f.requests()[0].body["metadata"]))
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			r := history() // with every part that could become metadata
			r.Reasoning.Effort, r.MaxTokens = llm.EffortHigh, 9
			r.Messages[1].Metadata = map[string]json.RawMessage{"mine": json.RawMessage("1")}
			must(t, m, r)
			body := f.last(t).body
			assert.Nil(t, body["metadata"])
			assert.NotContains(t, f.last(t).text, "mine")
		},
	},
	{
		name: "9 text that is marked for the cache is dropped", backend: "openai",
		answers: []http.HandlerFunc{sayOpenAI(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			part := llms.WithCacheControl(llms.TextPart("long ago"), &llms.CacheControl{Type: "ephemeral"})
			if _, err := m.GenerateContent(ctx, []llms.MessageContent{{Role: llms.ChatMessageTypeSystem, Parts: []llms.ContentPart{part}}, human[0]}); err != nil {
				return ""
			}
			if sent := f.requests()[0].text; !strings.Contains(sent, "long ago") {
				return "sent " + sent
			}
			return ""
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			part := llm.Text("long ago")
			part.Metadata = map[string]json.RawMessage{"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}
			must(t, m, llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Parts: []llm.Part{part}}, llm.User("hi")}})
			s := readOpenAI(f.last(t))
			assert.Equal(t, "long ago", s.System)
		},
	},
	{
		name: "the bytes of an image are of a type that nobody knows", backend: "openai",
		answers: []http.HandlerFunc{sayOpenAI(say("A cat."))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, []llms.MessageContent{{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.BinaryPart("image/png", []byte("x"))}}}); err != nil {
				return ""
			}
			if sent := f.requests()[0].text; strings.Contains(sent, `"type":"binary"`) {
				return "sent " + sent
			}
			return ""
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, llm.Request{Messages: []llm.Message{llm.User("", llm.Image("image/png", []byte("x")))}})
			assert.Equal(t, []string{"image:data:image/png;base64,eA=="}, readOpenAI(f.last(t)).Turns[0].Parts)
		},
	},
	{
		name: "an error is of no kind", backend: "openai",
		answers: []http.HandlerFunc{status(502, `<html>Bad Gateway</html>`)},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, human)
			if llms.IsProviderUnavailableError(err) || llms.IsProviderUnavailableError(llms.NewErrorMapper("openai").Map(err)) {
				return ""
			}
			return errorText(err)
		},
		ours: wantKind(llm.ErrOverloaded),
	},
}
