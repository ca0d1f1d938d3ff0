package contract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

var googleFaults = []fault{
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
			assert.Len(t, list(f.last(t).body["contents"]), 4)
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
			assert.ErrorIs(t, last, context.Canceled)
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
			assert.Equal(t, `call::add{"a":1}#c2ln`, readGoogle(f.last(t)).Turns[1].Parts[0])
		},
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
		ours: wantText("ok"), // addTool has a list of types, and nowTool has no properties
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
			assert.False(t, failure(t, m, llm.Request{Messages: []llm.Message{llm.System("be nice")}}, llm.ErrBadRequest).Retryable())
		},
	},
	{
		name: "8 what a schema chooses from is lost", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			schema := map[string]any{"type": "object", "properties": map[string]any{"unit": map[string]any{"type": "string", "enum": []string{"celsius"}}}}
			if _, err := m.GenerateContent(ctx, human, libraryTool(schema)); err != nil || strings.Contains(f.requests()[0].text, "celsius") {
				return ""
			}
			return "lost"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			r := hello
			r.Tools = []llm.ToolSpec{{Name: "weather", Schema: json.RawMessage(`{"type":"object","properties":{"unit":{"type":"string","enum":["celsius"]},"at":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`)}}
			must(t, m, r)
			s := f.last(t).text
			assert.Contains(t, s, "celsius")
			assert.Contains(t, s, "anyOf")
		},
	},
	{
		name: "8 the model of one call is that of the next", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			reasons := m.(llms.ReasoningModel)
			before := reasons.SupportsReasoning()
			if _, err := m.GenerateContent(ctx, human, llms.WithModel("gemini-3-pro")); err != nil || reasons.SupportsReasoning() == before {
				return ""
			}
			return "it is written without a lock"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			var all sync.WaitGroup // the race detector finds the fault
			for range 4 {
				all.Go(func() {
					for _, err := range m.Stream(t.Context(), hello) {
						assert.NoError(t, err)
					}
				})
			}
			all.Wait()
			for _, a := range f.requests() {
				assert.Contains(t, a.path, "gemini-2.5-flash", "asked %s", a.path)
			}
		},
	},
	{
		name: "8 one message that is not the user's is refused as if it were odd", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "be nice")})
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			e := failure(t, m, llm.Request{Messages: []llm.Message{llm.System("be nice")}}, llm.ErrBadRequest)
			assert.Empty(t, f.requests())
			assert.ErrorContains(t, e, "message of the user")
		},
	},
	{
		name: "calls have no ids", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say().calling(saidCall{"", "add", `{"a":1}`}, saidCall{"", "add", `{"a":1}`}))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			r, err := m.GenerateContent(ctx, human, libraryTools)
			if err != nil || r.Choices[0].ToolCalls[0].ID != "" {
				return ""
			}
			return "none"
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			c := must(t, m, withTools(hello)).message.ToolCalls
			require.Len(t, c, 2)
			require.NotEmpty(t, c[0].ID)
			require.NotEmpty(t, c[1].ID)
			assert.NotEqual(t, c[1].ID, c[0].ID)
		},
	},
	{
		name: "the last instructions take the place of the others", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("ok"))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			one, two := llms.TextParts(llms.ChatMessageTypeSystem, "Be brief."), llms.TextParts(llms.ChatMessageTypeSystem, "Be kind.")
			if _, err := m.GenerateContent(ctx, []llms.MessageContent{one, two, human[0]}); err != nil || strings.Contains(f.requests()[0].text, "brief") {
				return ""
			}
			return "lost"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, history())
			assert.Equal(t, "Be brief.\n\nBe kind.", readGoogle(f.last(t)).System)
		},
	},
	{
		name: "an image is fetched by the library", backend: "googleai",
		answers: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { // for every request
			if r.URL.Path == "/a.png" {
				w.Header().Set("Content-Type", "image/png")
				return
			}
			sayGoogle(say("ok"))(w, r)
		}},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			image := llms.MessageContent{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{llms.ImageURLPart(f.URL + "/a.png")}}
			if _, err := m.GenerateContent(ctx, []llms.MessageContent{image}); err != nil || len(f.requests()) < 2 {
				return ""
			}
			return "fetched"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			e := failure(t, m, llm.Request{Messages: []llm.Message{llm.User("", llm.ImageURL(f.URL+"/a.png"))}}, llm.ErrBadRequest)
			assert.Empty(t, f.requests())
			assert.ErrorContains(t, e, "no URL")
		},
	},
	{
		name: "usage is wrong while streaming", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say("one ", "two"))},
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			r, err := m.GenerateContent(ctx, human, llms.WithStreamingFunc(silent))
			if err != nil {
				return ""
			}
			return unless("4", fmt.Sprint(r.Choices[0].GenerationInfo["CompletionTokens"]))
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			got := must(t, m, hello).message.Usage
			require.NotNil(t, got)
			assert.Equal(t, int64(4), got.Output)
		},
	},
	{
		name: "a choice of a tool is dropped", backend: "googleai",
		answers: []http.HandlerFunc{sayGoogle(say().calling(saidCall{"a", "add", `{"a":1}`}))},
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, human, libraryTools, llms.WithToolChoice("required")); err != nil || f.requests()[0].body["toolConfig"] != nil {
				return ""
			}
			return "dropped"
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			r := withTools(hello)
			r.ToolChoice.Mode = llm.ToolsRequired
			must(t, m, r)
			assert.Contains(t, readGoogle(f.last(t)).Choice, `"ANY"`)
		},
	},
}
