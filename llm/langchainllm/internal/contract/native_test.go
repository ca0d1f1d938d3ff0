package contract_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

func second(_ llms.Model, m *langchainllm.Model) *langchainllm.Model { return m }

func TestNativeOllama(t *testing.T) {
	t.Parallel()
	f := newFake(t, body("application/x-ndjson", `{"message":{"role":"assistant","content":"he"},"done":false}
{"message":{"role":"assistant","content":"y"},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}
`))
	r := llm.Request{Messages: []llm.Message{llm.System("Be brief."), llm.User("a", llm.Text("b"), llm.Image("image/png", []byte("x")))}}
	h := must(t, second(nativeOllama(t, f)), r)
	assert.Equal(t, "hey", h.text())
	assert.Equal(t, int64(7), h.message.Usage.Total)
}

func TestNativeMistral(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(
		`{"choices":[{"index":0,"delta":{"content":"he"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"y"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}`, "[DONE]"))
	h := must(t, second(nativeMistral(t, f)), hello)
	assert.Equal(t, "hey", h.text())
	assert.Equal(t, int64(7), h.message.Usage.Total)
}

// TestMistralIgnoresItsContext proves that a cancelled call returns although the library ignores
// its context.
func TestMistralIgnoresItsContext(t *testing.T) {
	t.Parallel()
	answer := make(chan struct{})
	defer close(answer)
	f := newFake(t, func(http.ResponseWriter, *http.Request) { <-answer })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := llm.Generate(ctx, second(nativeMistral(t, f)), hello)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestDetect(t *testing.T) {
	t.Parallel()
	f := newFake(t, jsonBody(`{}`))
	for _, b := range backends {
		want := b.provider
		if want == langchainllm.Compatible || want == langchainllm.MistralAPI {
			want = langchainllm.OpenAI // Detect sees only the type of llms/openai
		}
		assert.Equal(t, want, langchainllm.Detect(b.bare(t, f)))
	}
	for _, m := range []llms.Model{nil, wrapped{}, &wrapped{}} {
		assert.Equal(t, langchainllm.Generic, langchainllm.Detect(m))
	}
	assert.Equal(t, "acme", langchainllm.New(wrapped{}, langchainllm.Options{Provider: "acme"}).String())
}

type wrapped struct{ llms.Model }
