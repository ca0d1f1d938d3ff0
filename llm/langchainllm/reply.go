package langchainllm

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// An answer is the reply that a library returned.
type answer struct {
	text      string
	reasoning []thought
	calls     []llm.ToolCallDelta
	stop      string // the provider's stop reason
	usage     *llm.Usage
	info      map[string]any
}

type thought struct{ text, signature string }

// collect joins the choices of a response. Some libraries return a choice for each
// block, each with the usage of the whole reply.
func collect(response *llms.ContentResponse) answer {
	var a answer
	if response == nil {
		return a
	}
	var text strings.Builder
	for _, choice := range response.Choices {
		if choice == nil {
			continue
		}
		text.WriteString(choice.Content)
		a.think(choice)
		if a.stop == "" {
			a.stop = choice.StopReason
		}
		if a.usage == nil {
			a.usage = usage(choice.GenerationInfo)
		}
		if a.info == nil {
			a.info = choice.GenerationInfo
		}
		for _, call := range choice.ToolCalls {
			a.call(call)
		}
		if len(choice.ToolCalls) == 0 && choice.FuncCall != nil {
			a.call(llms.ToolCall{FunctionCall: choice.FuncCall})
		}
	}
	a.text = text.String()
	return a
}

// think reads the reasoning of a choice.
func (a *answer) think(choice *llms.ContentChoice) {
	signature, _ := choice.GenerationInfo["ThinkingSignature"].(string)
	text := choice.ReasoningContent
	if text == "" && choice.Content == "" && len(choice.ToolCalls) == 0 {
		text, _ = choice.GenerationInfo["ThinkingContent"].(string)
	}
	if text != "" || signature != "" {
		a.reasoning = append(a.reasoning, thought{text, signature})
	}
}

func (a *answer) call(call llms.ToolCall) {
	delta := llm.ToolCallDelta{Index: len(a.calls), ID: call.ID}
	if call.FunctionCall != nil {
		delta.Name, delta.Arguments = call.FunctionCall.Name, call.FunctionCall.Arguments
	}
	// Remove an id that another call has. An empty id is set later.
	for _, other := range a.calls {
		if other.ID == delta.ID {
			delta.ID = ""
		}
	}
	if strings.TrimSpace(delta.Arguments) == "" || delta.Arguments == "null" {
		delta.Arguments = "{}"
	}
	a.calls = append(a.calls, delta)
}

// sound reports whether every call has a name, and arguments that are JSON. If not,
// the library most likely garbled them.
func (a *answer) sound() bool {
	for _, call := range a.calls {
		if call.Name == "" || !json.Valid([]byte(call.Arguments)) {
			return false
		}
	}
	return true
}

// noEnd has the stop reasons of replies that did not end normally. An empty reply with
// one of them is an error.
var noEnd = []string{"", "error", "other", "malformedfunctioncall", "unexpectedtoolcall", "malformedresponse", "toomanytoolcalls"}

// stopReason translates a provider's stop reason.
func stopReason(said string, calls bool) llm.StopReason {
	reason := llm.ParseStopReason(said)
	name := strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(said), "_", ""), "finishreason")
	switch {
	case reason == llm.StopLength, reason == llm.StopFilter:
		return reason
	case calls:
		return llm.StopToolCalls
	case slices.Contains(noEnd, name):
		return ""
	}
	return llm.StopEnd
}

// usage reads the numbers of tokens, or returns nil if there are none. Each library has
// its own keys and number types.
func usage(info map[string]any) *llm.Usage {
	if nested, ok := info["usage"]; ok && nested != nil {
		return usageOf(nested)
	}
	in, knowsIn := number(info, "PromptTokens", "InputTokens", "input_tokens")
	out, knowsOut := number(info, "CompletionTokens", "OutputTokens", "output_tokens")
	if !knowsIn && !knowsOut || in == 0 && out == 0 {
		return nil
	}
	u := llm.Usage{Input: in, Output: out}
	_, anthropic := info["CacheCreationInputTokens"]
	if anthropic {
		// Anthropic reports cached tokens apart from the input.
		u.Cached, _ = number(info, "CacheReadInputTokens")
		u.CacheWrite, _ = number(info, "CacheCreationInputTokens")
		u.Input += u.Cached + u.CacheWrite
	} else {
		u.Cached, _ = number(info, "PromptCachedTokens", "CachedTokens", "CacheReadInputTokens")
	}
	u.Reasoning, _ = number(info, "ReasoningTokens", "CompletionReasoningTokens", "ThinkingTokens")
	u.Total = u.Input + u.Output
	return &u
}

// usageOf reads a struct of a library by its JSON form.
func usageOf(v any) *llm.Usage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var u struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
	}
	if err := json.Unmarshal(data, &u); err != nil || u.Prompt == 0 && u.Completion == 0 {
		return nil
	}
	return &llm.Usage{Input: u.Prompt, Output: u.Completion, Total: u.Prompt + u.Completion}
}

// number returns the value of the first key that has a number.
func number(info map[string]any, keys ...string) (int64, bool) {
	for _, key := range keys {
		v := reflect.ValueOf(info[key])
		switch {
		case !v.IsValid():
		case v.CanInt():
			return max(v.Int(), 0), true
		case v.CanFloat():
			return max(int64(v.Float()), 0), true
		case v.CanUint():
			return int64(v.Uint() & (1<<62 - 1)), true
		}
	}
	return 0, false
}

// metadata returns the values for which a message has no field: the provider's stop
// reason, and all other values of the library that are not zero.
func (a *answer) metadata() map[string]json.RawMessage {
	kept := map[string]json.RawMessage{}
	for key, value := range a.info {
		v := reflect.ValueOf(value)
		if !v.IsValid() || v.IsZero() || key == "ThinkingContent" || key == "ThinkingSignature" || key == "OutputContent" {
			continue
		}
		if data, err := json.Marshal(value); err == nil {
			kept[key] = data
		}
	}
	all := map[string]json.RawMessage{}
	if data, err := json.Marshal(kept); err == nil && len(kept) > 0 {
		all["generation_info"] = data
	}
	if data, err := json.Marshal(a.stop); err == nil && a.stop != "" {
		all["stop_reason"] = data
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
