package contract_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/mistral"
	"github.com/tmc/langchaingo/llms/ollama"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// nativeFault is a fault of a package of langchaingo that cannot be used with tools. The
// backends ollama and mistral of the other tests use llms/openai with the same servers.
type nativeFault struct {
	name   string
	open   func(t *testing.T, f *fake) (llms.Model, *langchainllm.Model)
	answer http.HandlerFunc
	bare   func(ctx context.Context, m llms.Model, f *fake) string
	ours   func(t *testing.T, m llm.Model, f *fake)
}

func nativeOllama(t *testing.T, f *fake) (llms.Model, *langchainllm.Model) {
	t.Helper()
	m, err := ollama.New(ollama.WithModel("qwen3"), ollama.WithServerURL(f.URL))
	require.NoError(t, err)
	return m, langchainllm.New(m, langchainllm.Options{})
}

func nativeMistral(t *testing.T, f *fake) (llms.Model, *langchainllm.Model) {
	t.Helper()
	m, err := mistral.New(mistral.WithAPIKey("key-of-the-test"), mistral.WithEndpoint(f.URL), mistral.WithModel("mistral-large"), mistral.WithMaxRetries(1))
	require.NoError(t, err)
	return m, langchainllm.New(m, langchainllm.Options{})
}

// refusesTools checks that a request with tools is an error that names an alternative, and is not sent.
func refusesTools(t *testing.T, m llm.Model, f *fake) {
	t.Helper()
	for _, r := range []llm.Request{withTools(hello), {Messages: history().Messages}} {
		e := failure(t, m, r, llm.ErrBadRequest)
		assert.ErrorContains(t, e, "llms/openai")
	}
	assert.Empty(t, f.requests())
}

var ollamaSays = jsonBody(`{"message":{"role":"assistant","content":"hey","thinking":"hm","tool_calls":[{"function":{"name":"add","arguments":{}}}]},"done":true}` + "\n")

var nativeFaults = []nativeFault{
	{
		name: "10 ollama: tools are dropped", open: nativeOllama, answer: ollamaSays,
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			if _, err := m.GenerateContent(ctx, human, libraryTools); err != nil || f.requests()[0].body["tools"] != nil {
				return ""
			}
			return "dropped"
		},
		ours: refusesTools,
	},
	{
		name: "10 ollama: calls in a reply are ignored", open: nativeOllama, answer: ollamaSays,
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			r, err := m.GenerateContent(ctx, human, libraryTools)
			if err != nil || len(r.Choices[0].ToolCalls) > 0 || r.Choices[0].ReasoningContent != "" {
				return ""
			}
			return "ignored"
		},
		ours: refusesTools,
	},
	{
		name: "10 ollama: calls in a conversation are an error", open: nativeOllama, answer: ollamaSays,
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			part := llms.ToolCall{ID: "c1", FunctionCall: &llms.FunctionCall{Name: "add", Arguments: "{}"}}
			_, err := m.GenerateContent(ctx, append(human, llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{part}}))
			return errorText(err)
		},
		ours: refusesTools,
	},
	{
		name: "10 ollama: two texts are an error", open: nativeOllama, answer: ollamaSays,
		bare: func(ctx context.Context, m llms.Model, _ *fake) string {
			_, err := m.GenerateContent(ctx, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "a", "b")})
			return errorText(err)
		},
		ours: func(t *testing.T, m llm.Model, f *fake) {
			must(t, m, llm.Request{Messages: []llm.Message{llm.User("a", llm.Text("b"))}})
			assert.Contains(t, f.last(t).text, `a\nb`)
		},
	},
	{
		name: "10 mistral: results have no ids", open: nativeMistral,
		answer: jsonBody(`{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`),
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			result := llms.ToolCallResponse{ToolCallID: "c1", Name: "add", Content: "one"}
			if _, err := m.GenerateContent(ctx, append(human, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{result}})); err != nil {
				return ""
			}
			if sent := f.requests()[0].text; strings.Contains(sent, "one") && !strings.Contains(sent, "c1") {
				return "sent " + sent
			}
			return ""
		},
		ours: refusesTools,
	},
	{
		name: "10 mistral: the context is ignored", open: nativeMistral,
		answer: jsonBody(`{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`),
		bare: func(ctx context.Context, m llms.Model, f *fake) string {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			if _, err := m.GenerateContent(ctx, human); err == nil && len(f.requests()) == 1 {
				return "answered"
			}
			return ""
		},
		ours: func(t *testing.T, m llm.Model, _ *fake) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := llm.Generate(ctx, m, hello)
			assert.ErrorIs(t, err, context.Canceled)
		},
	},
}

func TestFaultsOfNativeProviders(t *testing.T) {
	t.Parallel()
	for _, fault := range nativeFaults {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, fault.answer)
			bare, _ := fault.open(t, f)
			assert.NotEmpty(t, fault.bare(t.Context(), bare, f), "langchaingo has no such fault any more")
			f = newFake(t, fault.answer)
			_, ours := fault.open(t, f)
			fault.ours(t, ours, f)
		})
	}
}
