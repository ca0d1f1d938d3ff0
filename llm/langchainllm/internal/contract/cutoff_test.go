package contract_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// TestStreamWithoutAnEndIsRetryable proves that a stream that the server ends before its last
// event is a transport error, so that Retry and Fallback act on it. The model does not ask
// again by itself: the caller would pay twice.
func TestStreamWithoutAnEndIsRetryable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, backend string
		events        []string
	}{
		{"anthropic, before any text", "anthropic", []string{
			`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1,"output_tokens":1}}}`,
		}},
		{"anthropic, within a block", "anthropic", []string{
			`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half an"}}`,
		}},
		{"anthropic, within a tool call", "anthropic", []string{
			`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"add","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
		}},
		{"openai, before any text", "openai", []string{`{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`}},
		{"openai, within the text", "openai", []string{`{"choices":[{"index":0,"delta":{"content":"half an"}}]}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, sse(test.events...))
			b := backends[slices.IndexFunc(backends, func(b backend) bool { return b.name == test.backend })]
			e := failure(t, b.model(t, f), withTools(hello), llm.ErrTransport)
			assert.True(t, e.Retryable())
			assert.Len(t, f.requests(), 1, "requests")
		})
	}
}

// TestToolCallThatALimitCutsOffIsMalformed proves that a tool call without the end of its
// arguments is the same error for each provider, and that the model does not ask again.
func TestToolCallThatALimitCutsOffIsMalformed(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]string{
		"anthropic": {
			`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"add","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`,
		},
		"openai": {
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"add","arguments":"{\"a\":"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, `[DONE]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, sse(events...))
			b := backends[slices.IndexFunc(backends, func(b backend) bool { return b.name == name })]
			h := ask(t, b.model(t, f), withTools(hello))
			require.ErrorIs(t, h.err, llm.ErrMalformed)
			require.ErrorContains(t, h.err, `"add" are not JSON`)
			assert.Len(t, f.requests(), 1, "requests")
		})
	}
}

// TestReplyWithoutChoicesIsEmpty proves that a reply without choices is the same error when it
// is streamed and when it is not, and that the model does not ask again.
func TestReplyWithoutChoicesIsEmpty(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"streamed":     sse(`{"choices":[]}`, `[DONE]`),
		"not streamed": body("application/json", `{"choices":[]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, answer)
			h := ask(t, backends[0].model(t, f), hello)
			require.ErrorIs(t, h.err, llm.ErrEmpty)
			assert.True(t, llm.Retryable(h.err), "a retry can help")
			assert.Len(t, f.requests(), 1, "requests")
		})
	}
}
