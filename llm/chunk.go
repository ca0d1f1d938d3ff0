package llm

import (
	"encoding/json"
	"fmt"
	"iter"
)

// A ChunkKind says what a [Chunk] carries.
type ChunkKind string

// The kinds of a chunk.
const (
	ChunkText      ChunkKind = "text"      // Text: more of the answer
	ChunkReasoning ChunkKind = "reasoning" // Text: more of the reasoning
	ChunkToolCall  ChunkKind = "tool_call" // ToolCall: more of a tool call
	ChunkEnd       ChunkKind = "end"       // StopReason, Usage, Metadata
)

// A Chunk is a piece of a reply as it is streamed. Its JSON form has a key for
// each field that is not empty, and "kind".
//
// A stream may mix the kinds in any order, but for ChunkEnd, which is the last
// and comes once. A model that has nothing to tell may leave it out; then the
// reply must hold a text or a tool call, as nothing else says that the stream
// did not break off.
type Chunk struct {
	Kind ChunkKind `json:"kind"`
	// MessageID is the id that the message will have, the same on all chunks.
	// A model leaves it empty unless it knows one that no other message of any
	// conversation has; [Stream] then makes one up.
	MessageID string `json:"message_id,omitempty"`
	// Text is appended to the text, or the reasoning, so far. It may end
	// within a character.
	Text string `json:"text,omitempty"`
	// Signature, on a chunk of reasoning or text, ends the part so far with its
	// signature, which is whole; see [Part].
	Signature string `json:"signature,omitempty"`
	// ToolCall adds to one of the tool calls.
	ToolCall ToolCallDelta `json:"tool_call,omitzero"`
	// StopReason says why the reply ended.
	StopReason StopReason `json:"stop_reason,omitempty"`
	// Usage is what the whole reply cost. Nil means unknown.
	Usage *Usage `json:"usage,omitempty"`
	// Metadata becomes that of the message.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// A ToolCallDelta is a piece of a tool call. The pieces of one call have one
// index; those of several calls may be mixed.
type ToolCallDelta struct {
	// Index tells the calls of a reply apart, and orders them.
	Index int `json:"index"`
	// ID and Name are whole, on one piece at least. A model that has no ids
	// leaves ID empty, and the call is given one.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Arguments is appended to the JSON so far.
	Arguments string `json:"arguments,omitempty"`
	// Signature is whole, on one piece; see [ToolCall].
	Signature string `json:"signature,omitempty"`
}

// Reply is the stream of a model that has its whole answer at once. It ends
// with a ChunkEnd. A message that is not an assistant's, is not valid or has
// what can not be streamed, such as an image or a part with metadata, is an error
// wrapping [ErrInvalid].
func Reply(m Message) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		chunks, err := m.chunks()
		for _, chunk := range chunks {
			if !yield(chunk, nil) {
				return
			}
		}
		if err != nil {
			yield(Chunk{}, err)
		}
	}
}

func (m Message) chunks() ([]Chunk, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if m.Role != RoleAssistant {
		return nil, fmt.Errorf("llm: reply: role %s: %w", m.Role, ErrInvalid)
	}
	m = m.Clone()
	var chunks []Chunk
	for _, part := range m.Parts {
		kind := ChunkText
		switch part.Type {
		case PartText:
		case PartReasoning:
			kind = ChunkReasoning
		default:
			return nil, fmt.Errorf("llm: reply: part of type %s: %w", part.Type, ErrInvalid)
		}
		if len(part.Metadata) > 0 {
			return nil, fmt.Errorf("llm: reply: part with metadata: %w", ErrInvalid)
		}
		chunks = append(chunks, Chunk{Kind: kind, MessageID: m.ID, Text: part.Text, Signature: part.Signature})
	}
	for i, call := range m.ToolCalls {
		if len(call.Metadata) > 0 {
			return nil, fmt.Errorf("llm: reply: tool call with metadata: %w", ErrInvalid)
		}
		chunks = append(chunks, Chunk{
			Kind: ChunkToolCall, MessageID: m.ID,
			ToolCall: ToolCallDelta{Index: i, ID: call.ID, Name: call.Name, Arguments: call.Text(), Signature: call.Signature},
		})
	}
	stop := m.StopReason
	switch {
	case stop != "":
	case len(m.ToolCalls) > 0:
		stop = StopToolCalls
	default:
		stop = StopEnd
	}
	end := Chunk{Kind: ChunkEnd, MessageID: m.ID, StopReason: stop, Usage: m.Usage, Metadata: m.Metadata}
	return append(chunks, end), nil
}
