package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
)

// redacted marks the signature of reasoning that Anthropic keeps to itself.
const redacted = "redacted_thinking:"

// anthropic is the form of Anthropic's messages.
type anthropic struct{}

func (anthropic) request(body object, c *Call) error {
	r := &c.Request
	// The library sends zero for what nobody set, and drops what follows.
	if r.Temperature == nil {
		delete(body, "temperature")
	}
	if len(r.Tools) > 0 {
		if choice := anthropicChoice(r.ToolChoice); choice != nil {
			body["tool_choice"] = raw(choice)
		}
	}
	var messages []anthropicMessage
	if err := json.Unmarshal(body["messages"], &messages); err != nil {
		return err
	}
	body["messages"] = raw(mergeTurns(withThoughts(markErrors(messages, r), c.Thoughts)))
	return nil
}

func anthropicChoice(choice llm.ToolChoice) map[string]any {
	switch {
	case choice.Name != "":
		return map[string]any{"type": "tool", "name": choice.Name}
	case choice.Mode == llm.ToolsRequired:
		return map[string]any{"type": "any"}
	case choice.Mode == llm.ToolsNone:
		return map[string]any{"type": "none"}
	}
	return nil
}

type anthropicMessage struct {
	Role    string   `json:"role"`
	Content []object `json:"content"`
}

// markErrors says which results of tools are errors. They come in the order of
// the request's tool messages.
func markErrors(messages []anthropicMessage, r *llm.Request) []anthropicMessage {
	var statuses []llm.Status
	for i := range r.Messages {
		if r.Messages[i].Role == llm.RoleTool {
			statuses = append(statuses, r.Messages[i].Status)
		}
	}
	for _, m := range messages {
		for _, block := range m.Content {
			if read[string](block["type"]) != "tool_result" || len(statuses) == 0 {
				continue
			}
			if statuses[0] == llm.StatusError {
				block["is_error"] = raw(true)
			}
			statuses = statuses[1:]
		}
	}
	return messages
}

// withThoughts puts the reasoning back in front of the reply that it led to.
func withThoughts(messages []anthropicMessage, thoughts map[int][]llm.Part) []anthropicMessage {
	if len(thoughts) == 0 {
		return messages
	}
	out := make([]anthropicMessage, 0, len(messages)+len(thoughts))
	for i, m := range messages {
		var blocks []object
		for _, part := range thoughts[i] {
			if data, ok := strings.CutPrefix(part.Signature, redacted); ok {
				blocks = append(blocks, object{"type": raw("redacted_thinking"), "data": raw(data)})
			} else {
				blocks = append(blocks, object{"type": raw("thinking"), "thinking": raw(part.Text), "signature": raw(part.Signature)})
			}
		}
		if len(blocks) > 0 {
			out = append(out, anthropicMessage{Role: "assistant", Content: blocks})
		}
		out = append(out, m)
	}
	return out
}

// mergeTurns makes one message of those of one role that follow each other, as
// the library can only write one block a message.
func mergeTurns(messages []anthropicMessage) []anthropicMessage {
	var out []anthropicMessage
	for _, m := range messages {
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1].Content = append(slices.Clip(out[n-1].Content), m.Content...)
			continue
		}
		out = append(out, m)
	}
	return out
}

type anthropicUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
}

// over lays what u tells over what was told before.
func (u anthropicUsage) over(v anthropicUsage) anthropicUsage {
	for _, p := range []struct{ to, from **int64 }{
		{&v.Input, &u.Input}, {&v.Output, &u.Output}, {&v.CacheWrite, &u.CacheWrite}, {&v.CacheRead, &u.CacheRead},
	} {
		if *p.from != nil {
			*p.to = *p.from
		}
	}
	return v
}

// usage adds the cache to the input, which Anthropic counts apart.
func (u anthropicUsage) usage() *llm.Usage {
	if u.Input == nil && u.Output == nil {
		return nil
	}
	count := func(p *int64) int64 {
		if p == nil {
			return 0
		}
		return *p
	}
	read, write := count(u.CacheRead), count(u.CacheWrite)
	in, out := count(u.Input)+read+write, count(u.Output)
	return &llm.Usage{Input: in, Output: out, Total: in + out, Cached: read, CacheWrite: write}
}

func (anthropic) reply(data []byte, c *Call) []byte {
	body := read[object](data)
	if failed(body["error"]) {
		c.fail(failureOf(body["error"]))
		return data
	}
	if body["content"] == nil {
		return nil
	}
	blocks := []object{}
	for _, block := range read[[]object](body["content"]) {
		switch read[string](block["type"]) {
		case "text", "tool_use":
			blocks = append(blocks, block)
		case "thinking":
			blocks = append(blocks, block)
		case "redacted_thinking":
			seal := redacted + read[string](block["data"])
			blocks = append(blocks, object{"type": raw("thinking"), "thinking": raw(""), "signature": raw(seal)})
		}
	}
	if len(blocks) == 0 {
		// The library takes a reply without a block for an error.
		blocks = append(blocks, object{"type": raw("text"), "text": raw("")})
	}
	body["content"] = raw(blocks)
	c.note(func(f *Facts) {
		f.Complete, f.Stop = true, read[string](body["stop_reason"])
		f.Usage = read[anthropicUsage](body["usage"]).usage()
	})
	return raw(body)
}

// streamed refuses: Anthropic streams whenever it is asked to.
func (anthropic) streamed(_ []byte, c *Call) []byte {
	c.fail(Failure{Message: "the server did not stream", Kind: llm.ErrTransport})
	return nil
}

func (anthropic) stream(body io.ReadCloser, c *Call) io.ReadCloser {
	return newEvents(body, &message{call: c, open: map[int]*block{}}, c)
}

// A message mends a stream of events. The library knows three kinds of blocks
// and fails at others, writes events that it does not know to the log, takes an
// empty reply for an error, and panics at an index below zero. So it gets the
// blocks that it knows, numbered from zero, and the events that it needs.
type message struct {
	call  *Call
	usage anthropicUsage
	open  map[int]*block // by the provider's index
	count int            // blocks passed on
}

type block struct {
	index     int
	kind      string
	signature string
	tool      string // the name of the tool of a call
	arguments []byte // the arguments of the call, as far as they have arrived
}

type anthropicEvent struct {
	Type         string          `json:"type"`
	Index        int             `json:"index"`
	Message      object          `json:"message"`
	ContentBlock object          `json:"content_block"`
	Delta        object          `json:"delta"`
	Usage        anthropicUsage  `json:"usage"`
	Error        json.RawMessage `json:"error"`
}

func (m *message) event(data []byte) ([][]byte, bool) {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		m.call.fail(Failure{Message: "an event of the stream can not be read", Kind: llm.ErrTransport})
		return nil, true
	}
	switch e.Type {
	case "message_start":
		m.usage = read[anthropicUsage](e.Message["usage"]).over(m.usage)
		// The usage is ours to tell; the library fails where there is none.
		begin := map[string]any{"id": e.Message["id"], "usage": map[string]any{"input_tokens": 0}}
		return [][]byte{raw(map[string]any{"type": e.Type, "message": begin})}, false
	case "content_block_start":
		return m.start(e), false
	case "content_block_delta":
		return m.delta(e), false
	case "content_block_stop":
		return m.stop(e)
	case "message_delta":
		m.usage = e.Usage.over(m.usage)
		reason := read[string](e.Delta["stop_reason"])
		m.call.note(func(f *Facts) { f.Stop, f.Usage = reason, m.usage.usage() })
		return append(m.ensure(), raw(map[string]any{"type": e.Type, "delta": map[string]any{"stop_reason": reason}, "usage": map[string]any{}})), false
	case "message_stop":
		m.call.note(func(f *Facts) { f.Complete = true })
		return append(m.ensure(), raw(map[string]any{"type": e.Type})), true
	case "error":
		m.call.fail(failureOf(e.Error))
		return nil, true
	}
	return nil, false
}

func (m *message) start(e anthropicEvent) [][]byte {
	b := &block{kind: read[string](e.ContentBlock["type"]), signature: read[string](e.ContentBlock["signature"])}
	switch b.kind {
	case "text", "tool_use", "thinking":
		b.tool = read[string](e.ContentBlock["name"])
		b.index = m.count
		m.count++
	case "redacted_thinking":
		b.index, b.signature = -1, redacted+read[string](e.ContentBlock["data"])
	default:
		return nil
	}
	m.open[e.Index] = b
	if b.index < 0 {
		return nil
	}
	out := [][]byte{raw(map[string]any{"type": e.Type, "index": b.index, "content_block": e.ContentBlock})}
	// What a block begins with is not read by the library.
	out = append(out, m.text(b, read[string](e.ContentBlock[b.kind]))...)
	if input := e.ContentBlock["input"]; len(read[object](input)) > 0 {
		out = append(out, m.pieces(b, "input_json_delta", "partial_json", string(input))...)
	}
	return out
}

// text passes text or reasoning on.
func (m *message) text(b *block, text string) [][]byte {
	switch b.kind {
	case "text":
		return m.pieces(b, "text_delta", "text", text)
	case "thinking":
		return m.pieces(b, "thinking_delta", "thinking", text)
	}
	return nil
}

func (m *message) pieces(b *block, kind, field, text string) [][]byte {
	if text == "" {
		return nil
	}
	var out [][]byte
	for _, piece := range pieces(text) {
		out = append(out, raw(map[string]any{
			"type": "content_block_delta", "index": b.index,
			"delta": map[string]any{"type": kind, field: piece},
		}))
	}
	return out
}

func (m *message) delta(e anthropicEvent) [][]byte {
	b := m.open[e.Index]
	if b == nil || b.index < 0 {
		return nil
	}
	switch kind := read[string](e.Delta["type"]); kind {
	case "text_delta":
		return m.text(b, read[string](e.Delta["text"]))
	case "thinking_delta":
		return m.text(b, read[string](e.Delta["thinking"]))
	case "input_json_delta":
		if b.kind == "tool_use" {
			piece := read[string](e.Delta["partial_json"])
			b.arguments = append(b.arguments, piece...)
			return m.pieces(b, kind, "partial_json", piece)
		}
	case "signature_delta":
		b.signature += read[string](e.Delta["signature"])
	}
	return nil
}

func (m *message) stop(e anthropicEvent) (out [][]byte, done bool) {
	b := m.open[e.Index]
	if b == nil {
		return nil, false
	}
	delete(m.open, e.Index)
	if len(b.arguments) > 0 && !json.Valid(b.arguments) {
		m.call.fail(Failure{Kind: llm.ErrMalformed, Message: fmt.Sprintf("the arguments of tool %q are not JSON, because the reply was cut off", b.tool)})
		return nil, true
	}
	if b.kind != "text" && b.signature != "" && m.call.Signed != nil {
		m.call.Signed(b.signature)
	}
	if b.index < 0 {
		return nil, false
	}
	return [][]byte{raw(map[string]any{"type": e.Type, "index": b.index})}, false
}

// ensure gives a reply without a block an empty one.
func (m *message) ensure() [][]byte {
	if m.count > 0 {
		return nil
	}
	m.count++
	return [][]byte{raw(map[string]any{
		"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "text", "text": ""},
	})}
}

func (m *message) end() [][]byte { return nil }
