package wire

import (
	"cmp"
	"encoding/json"

	"github.com/weft-go/weft/llm"
)

// refused is the stop reason of a reply in which the model declines to answer.
const refused = "refusal"

// A completion decodes a reply in the form of OpenAI's chat completions. It also accepts the
// variants of that form that other servers write.
type completion struct {
	call     *Call
	think    thinkTags
	tools    toolCalls
	declined bool
}

type completionEvent struct {
	Object  json.RawMessage `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int             `json:"index"`
		Delta        json.RawMessage `json:"delta"`
		Message      json.RawMessage `json:"message"`
		FinishReason *string         `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

// A completionDelta keeps its fields as JSON, so that a field of an unexpected form does not
// make the others unreadable.
type completionDelta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
	FunctionCall     json.RawMessage `json:"function_call"`
}

func (s *completion) event(data []byte) bool {
	if string(data) == "[DONE]" {
		s.call.note(func(f *Facts) { f.Complete = true })
		return true
	}
	var e completionEvent
	if err := json.Unmarshal(data, &e); err != nil {
		s.call.fail(Failure{Message: "an event of the stream cannot be read", Kind: llm.ErrTransport})
		return true
	}
	return !s.read(e, data)
}

func (s *completion) whole(data []byte) bool {
	var e completionEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false
	}
	if !s.read(e, data) {
		return true
	}
	if len(e.Choices) > 0 {
		s.call.note(func(f *Facts) { f.Complete = true })
		return true
	}
	if e.Choices != nil {
		s.call.fail(Failure{Kind: llm.ErrEmpty, Message: "the reply has no choices"})
		return true
	}
	return false
}

// read reads an event, or a whole reply, which has a message instead of a delta. It reports
// false if the event has an error.
func (s *completion) read(e completionEvent, data []byte) bool {
	if said := errorIn(object{"error": e.Error, "object": e.Object}, data); said != nil {
		s.call.fail(failureOf(said))
		return false
	}
	if usage := read[openAIUsage](e.Usage).usage(); usage != nil {
		s.call.note(func(f *Facts) { f.Usage = usage })
	}
	for _, choice := range e.Choices {
		if choice.Index != 0 {
			continue
		}
		s.delta(read[completionDelta](choice.Delta))
		s.delta(read[completionDelta](choice.Message))
		if r := choice.FinishReason; r != nil && *r != "" {
			s.call.note(func(f *Facts) { f.Stop, f.Complete = *r, true })
		}
		if s.declined {
			s.call.note(func(f *Facts) { f.Stop = refused })
		}
	}
	return true
}

func (s *completion) delta(d completionDelta) {
	if text := cmp.Or(read[string](d.ReasoningContent), read[string](d.Reasoning)); text != "" {
		s.think.off = true
		s.call.reasoning(text)
	}
	reasoning, text := contentTexts(d.Content)
	s.call.reasoning(reasoning)
	if text != "" {
		s.call.text(s.reasoned(s.think.add(text)))
	}
	if refusal := read[string](d.Refusal); refusal != "" {
		s.declined = true
		s.call.text(refusal)
	}
	pieces := read[[]object](d.ToolCalls)
	if function := read[object](d.FunctionCall); function != nil {
		pieces = append(pieces, object{"function": d.FunctionCall})
	}
	if len(pieces) == 0 {
		return
	}
	for _, chunk := range s.tools.add(pieces, s.call.Request.Tools) {
		s.call.toolCall(chunk)
	}
}

// reasoned emits reasoning and returns text.
func (s *completion) reasoned(reasoning, text string) string {
	s.call.reasoning(reasoning)
	return text
}

func (s *completion) end() {
	stop := s.call.Facts().Stop
	isAnswer := stop == "stop" && len(s.tools.calls) == 0
	s.call.text(s.reasoned(s.think.end(isAnswer)))
	for _, chunk := range s.tools.end() {
		s.call.toolCall(chunk)
	}
}

// contentTexts reads content that is a text or, from some servers, a list of parts.
// Mistral's API has reasoning parts.
func contentTexts(data json.RawMessage) (reasoning, text string) {
	if len(data) == 0 || data[0] != '[' {
		return "", read[string](data)
	}
	for _, part := range read[[]object](data) {
		text += read[string](part["text"])
		for _, thought := range read[[]object](part["thinking"]) {
			reasoning += read[string](thought["text"])
		}
	}
	return reasoning, text
}

type openAIUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	CacheHit   int64 `json:"prompt_cache_hit_tokens"` // DeepSeek's name
	Details    struct {
		Cached int64 `json:"cached_tokens"`
		Write  int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// usage returns the usage, or nil if the server sent none. The prompt includes cached
// tokens.
func (u openAIUsage) usage() *llm.Usage {
	if u.Prompt == 0 && u.Completion == 0 {
		return nil
	}
	return &llm.Usage{
		Input: u.Prompt, Output: u.Completion, Total: u.Prompt + u.Completion,
		Cached: cmp.Or(u.Details.Cached, u.CacheHit), CacheWrite: u.Details.Write, Reasoning: u.OutputDetails.Reasoning,
	}
}
