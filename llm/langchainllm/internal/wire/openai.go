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
	if failed(body["error"]) {
		c.fail(failureOf(body["error"]))
		return data
	}
	choices := read[[]object](body["choices"])
	if len(choices) == 0 {
		return nil
	}
	c.note(func(f *Facts) { f.Complete, f.Stop = true, read[string](choices[0]["finish_reason"]) })
	message := read[object](choices[0]["message"])
	if message["reasoning_content"] != nil || message["reasoning"] == nil {
		return data
	}
	// Some servers have another word for it.
	message["reasoning_content"] = message["reasoning"]
	choices[0]["message"] = raw(message)
	body["choices"] = raw(choices)
	return raw(body)
}

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

// failed says whether an error field holds an error.
func failed(data json.RawMessage) bool {
	return len(data) > 0 && string(data) != "null"
}

func (openAI) stream(body io.ReadCloser, c *Call) io.ReadCloser {
	return newEvents(body, &completion{call: c, calls: map[int]*toolCall{}}, c)
}

// A completion mends a stream of chunks. The library puts the arguments of tool
// calls together without regard to whose they are, forgets the reason to stop,
// and does not know an error or a stream that broke off. So the calls are held
// back and passed on whole, and why the reply ended is noted.
type completion struct {
	call  *Call
	calls map[int]*toolCall
	last  int // index of the call that a nameless piece belongs to
}

type toolCall struct{ id, name, arguments string }

type chunk struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int             `json:"index"`
		Delta        json.RawMessage `json:"delta"`
		FinishReason *string         `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
}

type chunkDelta struct {
	Content          json.RawMessage `json:"content"`
	ReasoningContent string          `json:"reasoning_content"`
	Reasoning        string          `json:"reasoning"`
	ToolCalls        []*struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (s *completion) event(data []byte) ([][]byte, bool) {
	if string(data) == "[DONE]" {
		s.call.note(func(f *Facts) { f.Complete = true })
		return s.flush(), true
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		s.call.fail(Failure{Message: "an event of the stream can not be read", Malformed: true})
		return nil, true
	}
	if failed(c.Error) {
		s.call.fail(failureOf(c.Error))
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
		if r := choice.FinishReason; r != nil && *r != "" {
			s.call.note(func(f *Facts) { f.Stop, f.Complete = *r, true })
		}
		out = append(out, s.delta(read[chunkDelta](choice.Delta))...)
	}
	return out, false
}

func (s *completion) delta(d chunkDelta) [][]byte {
	var out [][]byte
	if text := cmp.Or(d.ReasoningContent, d.Reasoning); text != "" {
		for _, piece := range pieces(text) {
			out = append(out, openAIDelta(map[string]any{"reasoning_content": piece}))
		}
	}
	if text := contentText(d.Content); text != "" {
		for _, piece := range pieces(text) {
			out = append(out, openAIDelta(map[string]any{"content": piece}))
		}
	}
	for _, t := range d.ToolCalls {
		if t == nil {
			continue
		}
		index := s.index(t.Index, t.ID)
		call := s.calls[index]
		if call == nil {
			call = &toolCall{}
			s.calls[index] = call
		}
		call.id, call.name = cmp.Or(call.id, t.ID), cmp.Or(call.name, t.Function.Name)
		call.arguments += argumentsText(t.Function.Arguments)
		s.last = index
	}
	return out
}

// index tells which call a piece is of. Where no index says so, a new id begins
// a new call.
func (s *completion) index(index *int, id string) int {
	switch {
	case index != nil:
		return *index
	case len(s.calls) == 0:
		return 0
	case id == "" || s.calls[s.last].id == id:
		return s.last
	}
	return s.last + 1
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
	for _, index := range slices.Sorted(maps.Keys(s.calls)) {
		call := s.calls[index]
		for i, piece := range pieces(call.arguments) {
			function := map[string]any{"arguments": piece}
			delta := map[string]any{"function": function}
			if i == 0 {
				function["name"], delta["id"], delta["type"] = call.name, call.id, "function"
			}
			out = append(out, openAIDelta(map[string]any{"tool_calls": []any{delta}}))
		}
	}
	clear(s.calls)
	return append(out, raw(map[string]any{"choices": []any{
		map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": s.call.Facts().Stop},
	}}))
}

func openAIDelta(delta map[string]any) []byte {
	return raw(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta}}})
}
