package contract_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm"
)

// reasoning returns the reasoning in the chunks.
func reasoning(h heard) string {
	var b strings.Builder
	for _, c := range h.chunks {
		if c.Kind == llm.ChunkReasoning {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

func TestReasoningIsStreamedApart(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		if b.name == "googleai" || b.name == "bedrock" {
			return // see TestGeminiThoughts; bedrock has none
		}
		s := say("It is ", "4.")
		s.reasoning = "Two and two."
		h := must(t, b.model(t, newFake(t, b.say(s))), hello)
		assert.Equal(t, "It is 4.", h.text())
		assert.Equal(t, "Two and two.", reasoning(h))
		assert.Equal(t, llm.PartReasoning, h.message.Parts[0].Type)
		assert.Equal(t, "Two and two.", h.message.Parts[0].Text)
	})
}

// TestReasoningEffort proves that the effort is sent if the provider has such a setting, and
// ignored otherwise.
func TestReasoningEffort(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("ok")))
		r := hello
		r.Reasoning.Effort = llm.EffortLow
		must(t, b.model(t, f), r)
		sent := f.last(t)
		config, _ := sent.body["generationConfig"].(object)
		got := toJSON([]any{sent.body["reasoning_effort"], sent.body["thinking"], config["thinkingConfig"]})
		want := map[string]string{
			"openai": `["low",null,null]`, "ollama": `["low",null,null]`,
			"anthropic": `[null,{"budget_tokens":1024,"type":"enabled"},null]`,
			"googleai":  `[null,null,{"thinkingBudget":1024}]`,
		}[b.name]
		if want == "" {
			want = `[null,null,null]`
		}
		assert.Equal(t, want, got)
		if b.name == "anthropic" {
			assert.Greater(t, sent.body["max_tokens"].(float64), float64(1024))
		}
	})
}

// TestThinkingWithTools proves that Claude gets its signed reasoning back with the results of its
// tools.
func TestThinkingWithTools(t *testing.T) {
	t.Parallel()
	b := backends[3]
	s := say("Let me see.").calling(saidCall{"call_1", "add", `{"a":1}`})
	s.reasoning = "Add them."
	r := withTools(hello)
	r.Reasoning.Effort = llm.EffortHigh

	f := newFake(t, b.say(s), b.say(say("3")))
	m := b.model(t, f)
	reply := must(t, m, r).message
	want := llm.Part{Type: llm.PartReasoning, Text: "Add them.", Signature: "SIGNED"}
	require.Equal(t, want, reply.Parts[0])
	r.Messages = append(r.Messages, reply, llm.ToolResult(reply.ToolCalls[0], "1"))
	must(t, m, r)
	got := readAnthropic(f.last(t)).Turns
	parts := []string{`{"signature":"SIGNED","thinking":"Add them.","type":"thinking"}`, "Let me see.", `call:call_1:add{"a":1}`}
	require.Len(t, got, 3)
	assert.Equal(t, parts, got[1].Parts)
	assert.Len(t, list(f.last(t).body["messages"]), 3)
}

// TestNoThinking proves that a request does not ask for reasoning if the API would reject that.
func TestNoThinking(t *testing.T) {
	t.Parallel()
	forced := withTools(hello)
	forced.ToolChoice.Mode = llm.ToolsRequired
	unsigned := history()
	unsigned.Messages = unsigned.Messages[:5] // the results of calls of another provider
	none := withTools(hello)
	none.Reasoning.Effort = llm.EffortNone
	for _, r := range []llm.Request{forced, unsigned, none} {
		if r.Reasoning.Effort == "" {
			r.Reasoning.Effort = llm.EffortHigh
		}
		f := newFake(t, sayAnthropic(say().calling(saidCall{"a", "add", `{"a":1}`})))
		must(t, backends[3].model(t, f), r)
		assert.Nil(t, f.last(t).body["thinking"])
	}
}

func TestMaxTokensOfOptions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		f := newFake(t, b.say(say("ok")))
		o := langchainllm.Options{Provider: b.provider, MaxTokens: 77}
		client := (&langchainllm.Transport{Base: toServer{f.URL, http.DefaultTransport}}).Client()
		must(t, langchainllm.New(b.open(t, f.URL, client), o), hello)
		assert.Equal(t, 77.0, settings(f.last(t))["max"])
	})
}

func TestRedactedThinking(t *testing.T) {
	t.Parallel()
	b := backends[3]
	events := anthropicEvents(say("Hm.").calling(saidCall{"call_1", "add", `{"a":1}`}))
	events = append(events[:1:1], append([]string{
		`{"type":"content_block_start","index":7,"content_block":{"type":"redacted_thinking","data":"SECRET"}}`,
		`{"type":"content_block_stop","index":7}`,
	}, events[1:]...)...)
	f := newFake(t, sse(events...), b.say(say("3")))
	m := b.model(t, f)
	r := withTools(hello)
	reply := must(t, m, r).message
	r.Messages = append(r.Messages, reply, llm.ToolResult(reply.ToolCalls[0], "1"))
	must(t, m, r)
	assert.Equal(t, `{"data":"SECRET","type":"redacted_thinking"}`, readAnthropic(f.last(t)).Turns[1].Parts[0])
}

func TestGeminiThoughts(t *testing.T) {
	t.Parallel()
	f := newFake(t, jsonBody(`[{"candidates":[{"content":{"parts":[{"text":"hm","thought":true}]}}]},
		{"candidates":[{"content":{"parts":[{"text":"4"},{"executableCode":{"code":"2+2"}}]},"finishReason":"STOP"}],
		 "usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1,"thoughtsTokenCount":9,"totalTokenCount":15}},
		{"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1,"thoughtsTokenCount":9,"totalTokenCount":15}}]`))
	h := must(t, backends[4].model(t, f), hello)
	assert.Equal(t, "4", h.text())
	assert.Equal(t, "hm", reasoning(h))
	assert.Equal(t, int64(9), h.message.Usage.Reasoning)
	assert.Equal(t, int64(10), h.message.Usage.Output)
}

func TestGeminiBlocksThePrompt(t *testing.T) {
	t.Parallel()
	f := newFake(t, jsonBody(`[{"promptFeedback":{"blockReason":"SAFETY"}}]`))
	e := failure(t, backends[4].model(t, f), hello, llm.ErrContentFilter)
	assert.False(t, e.Retryable())
	assert.ErrorContains(t, e, "SAFETY")
}

// TestNoAnswer proves that a reply that ended without content is an error.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	google := func(reason string) http.HandlerFunc {
		return jsonBody(`[{"candidates":[{"content":{"role":"model"},"finishReason":"` + reason + `"}]}]`)
	}
	tests := []struct {
		name   string
		b      backend
		answer http.HandlerFunc
		kind   error
		retry  bool
	}{
		{"a call that Gemini could not read", backends[4], google("MALFORMED_FUNCTION_CALL"), llm.ErrEmpty, true},
		{"held back", backends[4], google("SAFETY"), llm.ErrContentFilter, false},
		{"an error as the reason", backends[0], sse(`{"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`, "[DONE]"), llm.ErrEmpty, true},
		{"nothing but the end", backends[0], sse("[DONE]"), llm.ErrEmpty, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := llm.Generate(t.Context(), test.b.model(t, newFake(t, test.answer)), hello)
			assert.ErrorIs(t, err, test.kind)
			assert.Equal(t, test.retry, llm.Retryable(err))
		})
	}
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, b backend) {
		for said, want := range map[string]llm.StopReason{"length": llm.StopLength, "filter": llm.StopFilter, "end": llm.StopEnd} {
			s := say("some")
			s.stop = said
			assert.Equal(t, want, must(t, b.model(t, newFake(t, b.say(s))), hello).message.StopReason)
		}
	})
}

// TestMistralIsStrict proves that a request to Mistral has no field that its API rejects.
func TestMistralIsStrict(t *testing.T) {
	t.Parallel()
	f := newFake(t, sayOpenAI(say("ok")))
	r := hello
	seed := int64(7)
	r.Seed, r.Reasoning.Effort, r.MaxTokens = &seed, llm.EffortLow, 9
	must(t, backends[2].model(t, f), r)
	sent := f.last(t).body
	for _, key := range []string{"seed", "reasoning_effort", "stream_options", "metadata", "max_completion_tokens"} {
		assert.Nil(t, sent[key])
	}
	assert.Equal(t, 7.0, sent["random_seed"])
	assert.Equal(t, 9.0, sent["max_tokens"])
}
