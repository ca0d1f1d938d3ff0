package wire

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
)

// openAI is the form of OpenAI's chat completions and of all who speak it.
type openAI struct{}

func (openAI) request(body object, c *Call) error {
	r := &c.Request
	// The library sends zero for what nobody set, and nothing for top_p.
	if r.Temperature == nil {
		delete(body, "temperature")
	}
	if r.TopP != nil {
		body["top_p"] = raw(*r.TopP)
	}
	if r.Seed != nil {
		body["seed"] = raw(*r.Seed)
	}
	if r.Reasoning.Effort != llm.EffortDefault {
		body["reasoning_effort"] = raw(r.Reasoning.Effort)
	}
	if r.Format.Type == llm.FormatSchema {
		body["response_format"] = raw(map[string]any{
			"type": "json_schema",
			"json_schema": map[string]any{
				"name": cmp.Or(r.Format.Name, "answer"), "schema": r.Format.Schema,
			},
		})
	}
	delete(body, "metadata")
	if c.Mistral {
		forMistral(body, r)
	}
	return nil
}

// forMistral takes out what Mistral does not know, and refuses.
func forMistral(body object, r *llm.Request) {
	for _, key := range []string{"seed", "reasoning_effort", "stream_options"} {
		delete(body, key)
	}
	if r.Seed != nil {
		body["random_seed"] = raw(*r.Seed)
	}
}

func (openAI) reply(data []byte, c *Call) []byte {
	body := read[object](data)
	if said := errorIn(body, data); said != nil {
		c.fail(failureOf(said))
		return data
	}
	choices := read[[]object](body["choices"])
	if len(choices) == 0 {
		if _, ok := body["choices"]; !ok {
			return nil
		}
		c.fail(Failure{Kind: llm.ErrEmpty, Message: "the reply has no choices"})
		return data
	}
	c.note(func(f *Facts) { f.Complete, f.Stop = true, read[string](choices[0]["finish_reason"]) })
	message := read[object](choices[0]["message"])
	declined := read[string](message["refusal"]) != "" && contentText(message["content"]) == ""
	renamed := message["reasoning_content"] == nil && message["reasoning"] != nil
	if !declined && !renamed {
		return data
	}
	if declined {
		message["content"] = message["refusal"]
		delete(message, "refusal")
		choices[0]["finish_reason"] = raw(refused)
		c.note(func(f *Facts) { f.Stop = refused })
	}
	if renamed {
		// Some servers have another word for it.
		message["reasoning_content"] = message["reasoning"]
	}
	choices[0]["message"] = raw(message)
	body["choices"] = raw(choices)
	return raw(body)
}

// refused is why a reply ended in which the model says that it will not answer.
const refused = "refusal"

// streamed is for servers that do not stream.
func (openAI) streamed(data []byte, c *Call) []byte {
	body := read[object](data)
	choices := read[[]object](body["choices"])
	if len(choices) == 0 {
		return nil
	}
	message := read[object](choices[0]["message"])
	calls := read[[]object](message["tool_calls"])
	for i, call := range calls {
		if call != nil {
			call["index"] = raw(i)
		}
	}
	message = maps.Clone(message)
	if len(calls) > 0 {
		message["tool_calls"] = raw(calls)
	}
	whole := raw(map[string]any{
		"choices": []any{map[string]any{"index": 0, "delta": message, "finish_reason": choices[0]["finish_reason"]}},
		"usage":   body["usage"],
	})
	text := "data: " + string(whole) + "\n\ndata: [DONE]\n\n"
	out, err := io.ReadAll(openAI{}.stream(io.NopCloser(strings.NewReader(text)), c))
	if err != nil {
		return nil // a text can not fail to be read
	}
	return out
}

func (openAI) stream(body io.ReadCloser, c *Call) io.ReadCloser {
	return newEvents(body, &completion{call: c}, c)
}

// A completion mends a stream of chunks. The library puts the arguments of tool
// calls together without regard to whose they are, forgets the reason to stop,
// and does not know an error or a stream that broke off. So the calls are held
// back and passed on whole, and why the reply ended is noted.
type completion struct {
	call     *Call
	calls    []*toolCall
	last     *toolCall // that a piece without id and index belongs to
	declined bool      // the model said that it will not answer
}

type toolCall struct {
	index               int
	id, name, arguments string
}

type chunk struct {
	Object  json.RawMessage `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int             `json:"index"`
		Delta        json.RawMessage `json:"delta"`
		FinishReason *string         `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

// A chunkDelta is read field by field: one that a server has its own idea of does
// not take the others with it.
type chunkDelta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ToolCalls        json.RawMessage `json:"tool_calls"`
}

func (s *completion) event(data []byte) ([][]byte, bool) {
	if string(data) == "[DONE]" {
		s.call.note(func(f *Facts) { f.Complete = true })
		return s.flush(), true
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		s.call.fail(Failure{Message: "an event of the stream can not be read", Kind: llm.ErrTransport})
		return nil, true
	}
	if said := errorIn(object{"error": c.Error, "object": c.Object}, data); said != nil {
		s.call.fail(failureOf(said))
		return nil, true
	}
	var out [][]byte
	if failed(c.Usage) {
		out = append(out, raw(map[string]any{"choices": []any{}, "usage": c.Usage}))
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		out = append(out, s.delta(read[chunkDelta](choice.Delta))...)
		if r := choice.FinishReason; r != nil && *r != "" {
			s.call.note(func(f *Facts) { f.Stop, f.Complete = *r, true })
		}
		if s.declined {
			s.call.note(func(f *Facts) { f.Stop = refused })
		}
	}
	return out, false
}

func (s *completion) delta(d chunkDelta) [][]byte {
	var out [][]byte
	if text := cmp.Or(read[string](d.ReasoningContent), read[string](d.Reasoning)); text != "" {
		for _, piece := range pieces(text) {
			out = append(out, openAIDelta(map[string]any{"reasoning_content": piece}))
		}
	}
	refusal := read[string](d.Refusal)
	s.declined = s.declined || refusal != ""
	if text := contentText(d.Content) + refusal; text != "" {
		for _, piece := range pieces(text) {
			out = append(out, openAIDelta(map[string]any{"content": piece}))
		}
	}
	for _, piece := range read[[]object](d.ToolCalls) {
		if piece != nil {
			s.add(piece)
		}
	}
	return out
}

// add adds a piece to the call that it is of.
func (s *completion) add(piece object) {
	index, function := read[*int](piece["index"]), read[object](piece["function"])
	id, name := word(piece["id"]), read[string](function["name"])
	call := s.find(index, id, name)
	if call == nil {
		call = &toolCall{index: len(s.calls)}
		if index != nil {
			call.index = *index
		}
		s.calls = append(s.calls, call)
	}
	call.id, call.name = cmp.Or(call.id, id), cmp.Or(call.name, name)
	call.arguments += argumentsText(function["arguments"])
	s.last = call
}

// find returns the call that a piece is of, or nil when it begins one. Some
// servers give no index, and some give the same to all.
func (s *completion) find(index *int, id, name string) *toolCall {
	if index == nil && id == "" {
		return s.last
	}
	for _, call := range slices.Backward(s.calls) {
		if index == nil {
			if call.id == id {
				return call
			}
			continue
		}
		other := id != "" && call.id != "" && call.id != id || name != "" && call.name != "" && call.name != name
		if call.index == *index && !other {
			return call
		}
	}
	return nil
}

// word reads a string, or a number as it is written.
func word(data json.RawMessage) string {
	if n := read[json.Number](data); n != "" {
		return n.String()
	}
	return read[string](data)
}

// contentText reads text, or the parts that some servers stream instead.
func contentText(data json.RawMessage) string {
	if len(data) == 0 || data[0] != '[' {
		return read[string](data)
	}
	var text string
	for _, part := range read[[]object](data) {
		text += read[string](part["text"])
	}
	return text
}

// argumentsText reads arguments, which some servers send as an object and not
// as its text.
func argumentsText(data json.RawMessage) string {
	if len(data) > 0 && data[0] == '{' {
		return string(data)
	}
	return read[string](data)
}

func (s *completion) end() [][]byte { return s.flush() }

// flush passes on the calls, each after the one before it. A reply that broke
// off is no answer, and its calls are not passed on.
func (s *completion) flush() [][]byte {
	var out [][]byte
	if !s.call.Facts().Complete {
		return nil
	}
	slices.SortStableFunc(s.calls, func(a, b *toolCall) int { return cmp.Compare(a.index, b.index) })
	for _, call := range s.calls {
		for i, piece := range pieces(call.arguments) {
			function := map[string]any{"arguments": piece}
			delta := map[string]any{"function": function}
			if i == 0 {
				function["name"], delta["id"], delta["type"] = call.name, call.id, "function"
			}
			out = append(out, openAIDelta(map[string]any{"tool_calls": []any{delta}}))
		}
	}
	s.calls = nil
	return append(out, raw(map[string]any{"choices": []any{
		map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": s.call.Facts().Stop},
	}}))
}

func openAIDelta(delta map[string]any) []byte {
	return raw(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
}
