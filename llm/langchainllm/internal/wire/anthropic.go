package wire

import (
	"encoding/json"

	"github.com/weft-go/weft/llm"
)

// redacted marks the signature of reasoning whose text Anthropic does not show.
const redacted = "redacted_thinking:"

type anthropicUsage struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
}

// over returns v, with the numbers that are set in u.
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

// usage returns the usage, or nil if it has no numbers. It adds the cached tokens to the
// input, because Anthropic counts them separately.
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

// An anthropicReply decodes a reply of Anthropic's messages.
type anthropicReply struct {
	call  *Call
	usage anthropicUsage
	open  map[int]*block // by the provider's index
	tools int            // the number of tool calls
}

type block struct {
	kind      string
	signature string
	tool      int // the index of the tool call
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

func (m *anthropicReply) event(data []byte) bool {
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		m.call.fail(Failure{Message: "an event of the stream cannot be read", Kind: llm.ErrTransport})
		return true
	}
	switch e.Type {
	case "message_start":
		m.usage = read[anthropicUsage](e.Message["usage"]).over(m.usage)
	case "content_block_start":
		m.start(e.Index, e.ContentBlock)
	case "content_block_delta":
		if b := m.open[e.Index]; b != nil {
			m.delta(b, e.Delta)
		}
	case "content_block_stop":
		m.stop(e.Index)
	case "message_delta":
		m.usage = e.Usage.over(m.usage)
		reason := read[string](e.Delta["stop_reason"])
		m.call.note(func(f *Facts) { f.Stop, f.Usage = reason, m.usage.usage() })
	case "message_stop":
		m.call.note(func(f *Facts) { f.Complete = true })
		return true
	case "error":
		m.call.fail(failureOf(e.Error))
		return true
	}
	return false
}

// start begins a block. A block of an unknown type is skipped.
func (m *anthropicReply) start(index int, content object) {
	b := &block{kind: read[string](content["type"]), signature: read[string](content["signature"])}
	m.open[index] = b
	switch b.kind {
	case "text":
		m.call.text(read[string](content["text"]))
	case "thinking":
		m.call.reasoning(read[string](content["thinking"]))
	case "redacted_thinking":
		b.signature = redacted + read[string](content["data"])
	case "tool_use":
		b.tool = m.tools
		m.tools++
		d := llm.ToolCallDelta{Index: b.tool, ID: read[string](content["id"]), Name: read[string](content["name"])}
		if d.ID == "" {
			d.ID = newID()
		}
		if len(read[object](content["input"])) > 0 {
			d.Arguments = string(content["input"])
		}
		m.call.toolCall(d)
	}
}

func (m *anthropicReply) delta(b *block, delta object) {
	switch kind := read[string](delta["type"]); {
	case kind == "text_delta" && b.kind == "text":
		m.call.text(read[string](delta["text"]))
	case kind == "thinking_delta" && b.kind == "thinking":
		m.call.reasoning(read[string](delta["thinking"]))
	case kind == "signature_delta":
		b.signature += read[string](delta["signature"])
	case kind == "input_json_delta" && b.kind == "tool_use":
		if piece := read[string](delta["partial_json"]); piece != "" {
			m.call.toolCall(llm.ToolCallDelta{Index: b.tool, Arguments: piece})
		}
	}
}

// stop ends a block. For reasoning, it emits the signature, which ends the reasoning part.
func (m *anthropicReply) stop(index int) {
	b := m.open[index]
	if b == nil {
		return
	}
	delete(m.open, index)
	if b.kind == "thinking" || b.kind == "redacted_thinking" {
		m.call.emit(llm.Chunk{Kind: llm.ChunkReasoning, Signature: b.signature})
	}
}

func (m *anthropicReply) whole(data []byte) bool {
	body := read[object](data)
	if failed(body["error"]) {
		m.call.fail(failureOf(body["error"]))
		return true
	}
	if body["content"] == nil {
		return false
	}
	for i, content := range read[[]object](body["content"]) {
		m.start(i, content)
		m.stop(i)
	}
	m.call.note(func(f *Facts) {
		f.Complete, f.Stop = true, read[string](body["stop_reason"])
		f.Usage = read[anthropicUsage](body["usage"]).usage()
	})
	return true
}

func (m *anthropicReply) end() {}
