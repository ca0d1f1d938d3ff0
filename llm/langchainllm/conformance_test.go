package langchainllm_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
	"github.com/weft-go/weft/llm/modeltest"
)

func TestOpenAIKeepsTheRules(t *testing.T) {
	t.Parallel()
	const (
		hello = `{"choices":[{"index":0,"delta":{"content":"Hello, "}}]}`
		world = `{"choices":[{"index":0,"delta":{"content":"world."}}]}`
		usage = `{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}`
	)
	end := func(reason string) string {
		return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
	}
	scenes := map[modeltest.Scene][]string{
		modeltest.Text: {hello, world, end("stop"), usage, "[DONE]"},
		modeltest.Calls: {
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":"{\"city\":"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Athens\"}"}}]}}]}`,
			end("tool_calls"), usage, "[DONE]",
		},
		modeltest.Cut:  {hello},
		modeltest.Stop: {hello, world, end("surprise"), usage, "[DONE]"},
		modeltest.Hang: {hello},
	}
	modeltest.Run(t, func(t *testing.T, s modeltest.Scene) llm.Model {
		wire := &langchainllm.Transport{}
		provider, err := openai.New(openai.WithToken("a key"), openai.WithModel("m"),
			openai.WithBaseURL(playing(t, s, scenes[s])), openai.WithHTTPClient(wire.Client()))
		require.NoError(t, err)
		return langchainllm.New(provider, langchainllm.Options{})
	})
}

func TestAnthropicKeepsTheRules(t *testing.T) {
	t.Parallel()
	const (
		start = `{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":12,"output_tokens":1}}}`
		open  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
		hello = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello, "}}`
		world = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"world."}}`
		shut  = `{"type":"content_block_stop","index":0}`
		stop  = `{"type":"message_stop"}`
	)
	end := func(reason string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}`
	}
	scenes := map[modeltest.Scene][]string{
		modeltest.Text: {start, open, hello, world, shut, end("end_turn"), stop},
		modeltest.Calls: {
			start,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"weather","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"\"Athens\"}"}}`,
			shut,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"b","name":"weather","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Oslo\"}"}}`,
			`{"type":"content_block_stop","index":1}`, end("tool_use"), stop,
		},
		modeltest.Cut:  {start, open, hello},
		modeltest.Stop: {start, open, hello, world, shut, end("surprise"), stop},
		modeltest.Hang: {start, open, hello},
	}
	modeltest.Run(t, func(t *testing.T, s modeltest.Scene) llm.Model {
		wire := &langchainllm.Transport{}
		provider, err := anthropic.New(anthropic.WithToken("a key"), anthropic.WithModel("m"),
			anthropic.WithBaseURL(playing(t, s, scenes[s])), anthropic.WithHTTPClient(wire.Client()))
		require.NoError(t, err)
		return langchainllm.New(provider, langchainllm.Options{})
	})
}

// playing returns the URL of a server that streams the events.
func playing(t *testing.T, s modeltest.Scene, events []string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		assert.NoError(t, err)
		w.Header().Set("Content-Type", "text/event-stream")
		_, err = io.WriteString(w, "data: "+strings.Join(events, "\n\ndata: ")+"\n\n")
		assert.NoError(t, err)
		if s == modeltest.Hang {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}
