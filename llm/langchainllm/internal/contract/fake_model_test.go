package contract_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// modelFunc is a model of langchaingo of an unknown provider.
type modelFunc func(ctx context.Context, messages []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error)

func (f modelFunc) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	return f(ctx, messages, o)
}

func (modelFunc) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.New("not used")
}

func response(choices ...*llms.ContentChoice) *llms.ContentResponse {
	return &llms.ContentResponse{Choices: choices}
}

func TestModelThatDoesNotStream(t *testing.T) {
	t.Parallel()
	m := langchainllm.New(modelFunc(func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
		return response(&llms.ContentChoice{Content: "all at once"}), nil
	}), langchainllm.Options{})
	h := must(t, m, hello)
	assert.Equal(t, "all at once", h.text())
	assert.Equal(t, llm.StopEnd, h.message.StopReason)
	assert.Nil(t, h.message.Usage)
}

// TestTail proves that text that a library returned but did not stream is yielded at the end.
func TestTail(t *testing.T) {
	t.Parallel()
	m := langchainllm.New(modelFunc(func(ctx context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
		if err := o.StreamingFunc(ctx, []byte("half of ")); err != nil {
			return nil, err
		}
		return response(&llms.ContentChoice{Content: "half of it"}), nil
	}), langchainllm.Options{})
	h := must(t, m, hello)
	assert.Equal(t, "half of it", h.text())
	assert.Len(t, h.chunks, 3)
}

// TestTextLikeACall proves that text that looks like a piece of a call is text.
func TestTextLikeACall(t *testing.T) {
	t.Parallel()
	const text = `[{"id":"1","type":"function","function":{"name":"add","arguments":"{}"}}]`
	m := langchainllm.New(modelFunc(func(ctx context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
		for _, piece := range []string{"Look: ", text, " is it."} {
			if err := o.StreamingFunc(ctx, []byte(piece)); err != nil {
				return nil, err
			}
		}
		return response(&llms.ContentChoice{Content: "Look: " + text + " is it."}), nil
	}), langchainllm.Options{})
	h := must(t, m, hello)
	assert.Equal(t, "Look: "+text+" is it.", h.text())
}

// TestSecondAnswer proves that, after a garbled stream and a second answer, the reply keeps the text
// that was already yielded.
func TestSecondAnswer(t *testing.T) {
	t.Parallel()
	broken := &llms.ContentChoice{Content: "Let me see.", ToolCalls: []llms.ToolCall{{ID: "1", FunctionCall: &llms.FunctionCall{Name: "add", Arguments: `{"a":`}}}}
	whole := llms.ToolCall{ID: "1", FunctionCall: &llms.FunctionCall{Name: "add", Arguments: `{"a":1}`}}
	tests := []struct {
		name   string
		second *llms.ContentChoice
		text   string
		err    error
	}{
		{"the same", &llms.ContentChoice{Content: "Let me see.", ToolCalls: []llms.ToolCall{whole}}, "Let me see.", nil},
		{"longer", &llms.ContentChoice{Content: "Let me see. So.", ToolCalls: []llms.ToolCall{whole}}, "Let me see. So.", nil},
		{"another, with calls", &llms.ContentChoice{Content: "Well.", ToolCalls: []llms.ToolCall{whole}}, "Let me see.", nil},
		{"another", &llms.ContentChoice{Content: "Well."}, "", llm.ErrTransport},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			info := map[string]any{"PromptTokens": int32(2), "CompletionTokens": float64(1)}
			m := langchainllm.New(modelFunc(func(ctx context.Context, _ []llms.MessageContent, o llms.CallOptions) (*llms.ContentResponse, error) {
				choice := *test.second
				if o.StreamingFunc != nil {
					choice = *broken
					if err := o.StreamingFunc(ctx, []byte(choice.Content)); err != nil {
						return nil, err
					}
				}
				choice.GenerationInfo = info
				return response(&choice), nil
			}), langchainllm.Options{Provider: langchainllm.Vertex})
			h := ask(t, m, withTools(hello))
			require.ErrorIs(t, h.err, test.err)
			require.Equal(t, test.text, h.message.Text())
			if test.err == nil {
				assert.Equal(t, `add{"a":1}`, calls(h.message))
				assert.Equal(t, int64(3), h.message.Usage.Total)
			}
		})
	}
}

// TestChoices proves that the choices of a reply become one message, and that their usage is
// counted once.
func TestChoices(t *testing.T) {
	t.Parallel()
	info := map[string]any{"InputTokens": 5, "OutputTokens": 2, "CacheReadInputTokens": 4, "CacheCreationInputTokens": 1}
	thinking := map[string]any{"ThinkingContent": "hm", "ThinkingSignature": "S", "InputTokens": 5, "OutputTokens": 2, "CacheReadInputTokens": 4, "CacheCreationInputTokens": 1}
	m := langchainllm.New(modelFunc(func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
		return response(
			&llms.ContentChoice{GenerationInfo: thinking, StopReason: "tool_use"},
			&llms.ContentChoice{Content: "a", GenerationInfo: info},
			nil,
			&llms.ContentChoice{Content: "b", GenerationInfo: info},
			&llms.ContentChoice{ToolCalls: []llms.ToolCall{{ID: "x", FunctionCall: &llms.FunctionCall{Name: "add"}}}, GenerationInfo: info},
			&llms.ContentChoice{ToolCalls: []llms.ToolCall{{ID: "x", FunctionCall: &llms.FunctionCall{Name: "now", Arguments: "null"}}}},
			&llms.ContentChoice{FuncCall: &llms.FunctionCall{Name: "old", Arguments: `{"z":1}`}},
		), nil
	}), langchainllm.Options{})
	got := must(t, m, withTools(hello)).message
	want := llm.Usage{Input: 10, Output: 2, Total: 12, Cached: 4, CacheWrite: 1}
	assert.Equal(t, "ab", got.Text())
	assert.Equal(t, `add{} now{} old{"z":1}`, calls(got))
	assert.Equal(t, want, *got.Usage)
	assert.Equal(t, llm.StopToolCalls, got.StopReason)
	assert.Equal(t, "S", got.Parts[0].Signature)
	assert.Equal(t, "x", got.ToolCalls[0].ID)
	assert.NotEqual(t, "x", got.ToolCalls[1].ID)
}

func TestOddReplies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		reply func() (*llms.ContentResponse, error)
		text  string
	}{
		{"nothing", func() (*llms.ContentResponse, error) { return nil, nil }, "no reply and no error"},
		{"no choice", func() (*llms.ContentResponse, error) { return response(), nil }, "no reply and no error"},
		{"a panic", func() (*llms.ContentResponse, error) { panic("index out of range") }, "langchaingo panicked: index out of range"},
		{"a call of nothing", func() (*llms.ContentResponse, error) {
			return response(&llms.ContentChoice{ToolCalls: []llms.ToolCall{{}}}), nil
		}, "no name"},
		{"an error", func() (*llms.ContentResponse, error) { return nil, errors.New("status code: 503: busy") }, "status 503"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := langchainllm.New(modelFunc(func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
				return test.reply()
			}), langchainllm.Options{Name: "acme"})
			h := ask(t, m, hello)
			assert.ErrorContains(t, h.err, test.text)
			if e, ok := errors.AsType[*llm.Error](h.err); ok {
				assert.Equal(t, "acme", e.Provider)
			}
		})
	}
}

// TestMissingTransportIsAnError proves that a model without the Transport that it needs fails at
// its first call with an error that says what to do. The conversation does not reach the
// provider.
func TestMissingTransportIsAnError(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		if !b.wires {
			return
		}
		for name, answer := range map[string]http.HandlerFunc{"answer": b.say(say("ok")), "error": status(400, `{"error":{"message":"no"}}`)} {
			f := newFake(t, answer)
			m := langchainllm.New(b.bare(t, f), langchainllm.Options{Provider: b.provider})
			e := failure(t, m, llm.Request{Messages: []llm.Message{llm.User("a secret")}}, llm.ErrBadRequest)
			require.ErrorContains(t, e, "langchainllm.Transport", name)
			require.ErrorContains(t, e, "WithHTTPClient", name)
			assert.False(t, e.Retryable(), name)
			assert.NotContains(t, f.last(t).text, "a secret", name)
		}
	})
}

func TestNoModel(t *testing.T) {
	t.Parallel()
	e := failure(t, langchainllm.New(nil, langchainllm.Options{}), hello, llm.ErrBadRequest)
	assert.ErrorContains(t, e, "no model")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		provider langchainllm.Provider
		request  llm.Request
		text     string
	}{
		{langchainllm.Anthropic, llm.Request{Messages: []llm.Message{llm.System("a")}}, "message of the user"},
		{langchainllm.GoogleAI, llm.Request{Messages: []llm.Message{llm.User("a"), llm.Assistant("b")}}, "end with the user"},
		{langchainllm.OpenAI, llm.Request{Messages: []llm.Message{llm.User("", llm.File("a.zip", "application/zip", []byte("x")))}}, "part 0: part of type file (application/zip)"},
		{langchainllm.Mistral, llm.Request{Messages: []llm.Message{llm.User("", llm.Image("image/png", []byte("x")))}}, "no images"},
		{langchainllm.Anthropic, llm.Request{Messages: []llm.Message{llm.User("", llm.ImageURL("data:image/png;base64,???"))}}, "data URL"},
		{langchainllm.OpenAI, llm.Request{Messages: []llm.Message{llm.Assistant("", call("1", "f", "{}")), {Role: llm.RoleTool, ToolCallID: "1", Parts: []llm.Part{llm.Image("image/png", []byte("x"))}}}}, "part 0: the provider takes no part of type image in the result of a tool"},
	}
	for i, test := range tests {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			m := langchainllm.New(modelFunc(func(context.Context, []llms.MessageContent, llms.CallOptions) (*llms.ContentResponse, error) {
				t.Error("the model was asked")
				return nil, nil
			}), langchainllm.Options{Provider: test.provider})
			e := failure(t, m, test.request, llm.ErrBadRequest)
			assert.False(t, e.Retryable())
			assert.Equal(t, string(test.provider), e.Provider)
			assert.ErrorContains(t, e, test.text)
		})
	}
}
