package llm

import (
	"encoding/json"
	"strings"
)

// stopKeys are the keys under which providers store the stop reason.
var stopKeys = []string{"finish_reason", "stop_reason", "finishReason", "stopReason", "done_reason"}

// finishReasons are the providers' names for each stop reason. [ToLangChain] writes the first name.
var finishReasons = map[StopReason][]string{
	StopEnd:       {"stop", "end_turn", "stop_sequence", "eos", "complete", "completed"},
	StopToolCalls: {"tool_calls", "tool_use", "function_call"},
	StopLength:    {"length", "max_tokens", "model_length", "model_context_window_exceeded"},
	StopFilter: {
		"content_filter", "safety", "image_safety", "refusal", "recitation", "prohibited_content", "blocklist",
		"spii", "language", "guardrail_intervened", "content_filtered",
	},
}

func finishReason(r StopReason) string {
	if words := finishReasons[r]; words != nil {
		return words[0]
	}
	return string(r)
}

// ParseStopReason converts a provider's name of a stop reason, such as "end_turn",
// "MAX_TOKENS" or "FinishReasonSafety", to a StopReason. It ignores case, and separators
// such as "_". It returns "" for an unknown name.
func ParseStopReason(word string) StopReason {
	word = plainWord(word)
	for reason, words := range finishReasons {
		for _, w := range words {
			if plainWord(w) == word {
				return reason
			}
		}
	}
	return ""
}

var betweenWords = strings.NewReplacer("_", "", "-", "", " ", "")

func plainWord(word string) string {
	return strings.TrimPrefix(betweenWords.Replace(strings.ToLower(word)), "finishreason")
}

// readStop sets the stop reason from the metadata. It removes "finish_reason" from the
// metadata if [ToLangChain] writes the same name for the stop reason.
func (m *Message) readStop() {
	metadata := object(m.Metadata)
	m.StopReason = ParseStopReason(metadata.firstText(stopKeys...))
	if m.StopReason != "" && metadata.text("finish_reason") == finishReason(m.StopReason) {
		delete(metadata, "finish_reason")
	}
}

// number returns the value of the first of the keys that the object has, or zero if
// it has none. It reports false if this value is not a whole number of at least zero.
func (o object) number(keys ...string) (int64, bool) {
	for _, key := range keys {
		value, ok := o[key]
		if !ok || string(value) == "null" {
			continue
		}
		var n int64
		if json.Unmarshal(value, &n) != nil || n < 0 {
			return 0, false
		}
		return n, true
	}
	return 0, true
}

// readUsage reads usage_metadata, or else the provider's usage.
func readUsage(data object) *Usage {
	if usage := data.object("usage_metadata"); len(usage) > 0 {
		return readUsageMetadata(usage)
	}
	metadata := data.object("response_metadata")
	for _, key := range []string{"usage", "token_usage", "tokenUsage"} {
		if usage := metadata.object(key); len(usage) > 0 {
			return readProviderUsage(usage)
		}
	}
	return nil
}

func readUsageMetadata(o object) *Usage {
	read, wrote := o.object("input_token_details"), o.object("output_token_details")
	var u Usage
	for _, field := range []struct {
		from object
		key  string
		to   *int64
	}{
		{o, "input_tokens", &u.Input},
		{o, "output_tokens", &u.Output},
		{o, "total_tokens", &u.Total},
		{read, "cache_read", &u.Cached},
		{read, "cache_creation", &u.CacheWrite},
		{wrote, "reasoning", &u.Reasoning},
	} {
		n, ok := field.from.number(field.key)
		if !ok {
			return nil
		}
		*field.to = n
	}
	return &u
}

// readProviderUsage reads the usage of OpenAI, whose input includes cached tokens,
// or of Anthropic, whose input does not.
func readProviderUsage(o object) *Usage {
	input, okInput := o.number("input_tokens", "prompt_tokens", "promptTokens")
	output, okOutput := o.number("output_tokens", "completion_tokens", "completionTokens")
	cached, okCached := o.number("cache_read_input_tokens")
	written, okWritten := o.number("cache_creation_input_tokens")
	if !okInput || !okOutput || !okCached || !okWritten || input+output == 0 {
		return nil
	}
	u := Usage{Input: input + cached + written, Output: output, Cached: cached, CacheWrite: written}
	if n, ok := o.object("prompt_tokens_details").number("cached_tokens"); ok && cached == 0 {
		u.Cached = n
	}
	if n, ok := o.object("completion_tokens_details").number("reasoning_tokens"); ok {
		u.Reasoning = n
	}
	u.Total = u.Input + u.Output
	return &u
}

func langChainUsage(u Usage) map[string]any {
	theirs := map[string]any{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Total}
	read := map[string]int64{}
	if u.Cached != 0 {
		read["cache_read"] = u.Cached
	}
	if u.CacheWrite != 0 {
		read["cache_creation"] = u.CacheWrite
	}
	if len(read) > 0 {
		theirs["input_token_details"] = read
	}
	if u.Reasoning != 0 {
		theirs["output_token_details"] = map[string]int64{"reasoning": u.Reasoning}
	}
	return theirs
}
