package contract_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

// TestCacheMarksReachAnthropic proves that the marks of system messages, texts, images, and the
// results of tools are sent, and that an unmarked request has none.
func TestCacheMarksReachAnthropic(t *testing.T) {
	t.Parallel()
	f := newFake(t, sayAnthropic(say("ok")))
	m := backendOf("anthropic").model(t, f)
	c := call("call_1", "add", `{"a":1}`)
	r := withTools(llm.Request{Messages: []llm.Message{
		llm.System("Be brief."), llm.System("Long ago.").Cache(time.Hour),
		llm.User("What is this?", llm.Image("image/png", []byte("x"))).Cache(0),
		llm.Assistant("Let me see.", c), llm.ToolResult(c, "1").Cache(time.Minute), llm.User("And?"),
	}})
	must(t, m, r)
	body := f.last(t).body
	assert.JSONEq(t, `[{"type":"text","text":"Be brief."},{"type":"text","text":"Long ago.","cache_control":{"type":"ephemeral","ttl":"1h"}}]`, toJSON(body["system"]))
	messages := list(body["messages"])
	assert.JSONEq(t, `[{"type":"text","text":"What is this?"},
		{"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="},"cache_control":{"type":"ephemeral"}}]`, toJSON(messages[0]["content"]))
	assert.JSONEq(t, `[{"type":"tool_result","tool_use_id":"call_1","content":"1","cache_control":{"type":"ephemeral","ttl":"5m"}},{"type":"text","text":"And?"}]`, toJSON(messages[2]["content"]))
	assert.Empty(t, r.Messages[3].Parts[0].Metadata)

	must(t, m, history())
	assert.NotContains(t, f.last(t).text, "cache_control")
}

// TestCacheKeyReachesOpenAI proves that only OpenAI gets the cache key, that no API gets cache
// marks that it would reject, and that no text is lost.
func TestCacheKeyReachesOpenAI(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("ok")))
		r := llm.Request{Messages: []llm.Message{llm.System("Be brief.").Cache(0), llm.User("hi").Cache(0)}, CacheKey: "tenant-7"}
		must(t, b.model(t, f), r)
		if b.name == "openai" {
			assert.Equal(t, "tenant-7", f.last(t).body["prompt_cache_key"])
		} else {
			assert.NotContains(t, f.last(t).text, "tenant-7")
		}
		assert.Contains(t, f.last(t).text, "Be brief.")
		if b.name != "anthropic" {
			assert.NotContains(t, f.last(t).text, "cache_control")
		}
	})
}

// TestCachedTokensAreAPartOfTheInput proves that usage has the same meaning for every provider:
// each one read 100 tokens, 60 of them from its cache.
func TestCachedTokensAreAPartOfTheInput(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		backend string
		events  []string
		array   string
		write   int64
	}{
		"openai": {backend: "openai", events: []string{
			delta(`{"content":"ok"}`), stopped,
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":2}}}`, "[DONE]",
		}},
		"deepseek": {backend: "ollama", events: []string{
			delta(`{"content":"ok"}`), stopped,
			`{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":60,"prompt_cache_miss_tokens":40,"completion_tokens_details":{"reasoning_tokens":2}}}`, "[DONE]",
		}},
		"anthropic": {backend: "anthropic", write: 30, events: []string{
			`{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_read_input_tokens":60,"cache_creation_input_tokens":30,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"ok"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}`, `{"type":"message_stop"}`,
		}},
		"gemini": {backend: "googleai", array: `[{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":1}],
			"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":3,"thoughtsTokenCount":2,"cachedContentTokenCount":60}}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := sse(test.events...)
			if test.array != "" {
				answer = jsonBody(test.array)
			}
			got := must(t, backendOf(test.backend).model(t, newFake(t, answer)), hello).message.Usage
			require.NotNil(t, got)
			want := llm.Usage{Input: 100, Output: 5, Total: 105, Cached: 60, CacheWrite: test.write}
			if test.backend != "anthropic" { // Anthropic does not count its reasoning
				want.Reasoning = 2
			}
			assert.Equal(t, want, *got)
		})
	}
}
