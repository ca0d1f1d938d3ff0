package contract_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// answering replies to every request with streamed, or with whole if the request does not ask for
// a stream.
type answering struct{ streamed, whole string }

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	text := a.whole
	if streams(r) {
		text = a.streamed
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(text)),
	}, nil
}

// FuzzReply proves that any stream, with or without a Transport, results in an error, or in a
// message with the yielded text.
func FuzzReply(f *testing.F) {
	f.Add("data: "+delta(`{"content":"a"}`)+"\ndata: "+stopped+"\ndata: [DONE]\n", `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`)
	f.Add("data: "+delta(`{"content":"a","tool_calls":[{"index":1,"id":"x","type":"function","function":{"name":"f","arguments":"{"}},null]}`)+"\ndata: "+finished+"\n",
		`{"choices":[{"message":{"content":"ab","tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	f.Add("data: "+delta(`{"content":"[{\"id\":\"1\",\"type\":\"\",\"function\":{\"name\":\"\",\"arguments\":\"x\"}}]"}`)+"\n", "{}")
	f.Fuzz(func(t *testing.T, streamed, whole string) {
		transport := answering{streamed, whole}
		wired := (&langchainllm.Transport{Base: transport}).Client()
		for provider, client := range map[langchainllm.Provider]*http.Client{
			langchainllm.OpenAI: wired, langchainllm.Generic: {Transport: transport},
		} {
			o := langchainllm.Options{Provider: provider}
			h := ask(t, langchainllm.New(openOpenAI(t, "http://api", client), o), withTools(hello))
			if h.err == nil {
				assert.Equal(t, llm.RoleAssistant, h.message.Role)
			}
		}
	})
}
