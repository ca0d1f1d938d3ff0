package llm

import (
	"encoding/json"
	"fmt"
	"iter"
)

// A ChunkKind is the kind of a [Chunk].
type ChunkKind string

// The kinds of a chunk, with the fields that each has.
const (
	ChunkText      ChunkKind = "text"      // Text: the next piece of the answer
	ChunkReasoning ChunkKind = "reasoning" // Text: the next piece of the reasoning
	ChunkPart      ChunkKind = "part"      // Part: a whole part, such as an image
	ChunkToolCall  ChunkKind = "tool_call" // ToolCall: the next piece of a tool call
	ChunkEnd       ChunkKind = "end"       // StopReason, Usage, Metadata
)

// A Chunk is a piece of a streamed reply. Its JSON form has a key for each field
// that is not empty, and "kind".
//
// A stream can mix the kinds in any order. It ends with one ChunkEnd, even if the stop
// reason and the usage are unknown. A stream without it has broken off: [Stream]
// fails with [ErrMalformed] and [io.ErrUnexpectedEOF].
type Chunk struct {
	Kind ChunkKind `json:"kind"`
	// MessageID is the id of the message. It is the same on all chunks. A model may set
	// it only to a globally unique id. If it is empty, [Stream] sets it.
	MessageID string `json:"message_id,omitempty"`
	// Text is appended to the text or the reasoning before it. It can end within
	// a character.
	Text string `json:"text,omitempty"`
	// Signature ends the current text or reasoning part. It is the whole
	// signature of that part; see [Part].
	Signature string `json:"signature,omitempty"`
	// Part is a whole part. It is never a plain text, which is of kind ChunkText.
	Part *Part `json:"part,omitempty"`
	// ToolCall is a piece of a tool call.
	ToolCall ToolCallDelta `json:"tool_call,omitzero"`
	// StopReason is the reason why the reply ended. It is empty or one of the constants;
	// [ParseStopReason] converts a provider's stop reason.
	StopReason StopReason `json:"stop_reason,omitempty"`
	// Usage counts the tokens of the whole reply. Nil means unknown. [Stream] raises
	// Total to the sum of Input and Output if it is smaller.
	Usage *Usage `json:"usage,omitempty"`
	// Metadata is the metadata of the message.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// A ToolCallDelta is a piece of a tool call. The pieces of one call have the same
// index. The pieces of several calls can be interleaved.
type ToolCallDelta struct {
	// Index is the place of the call among the calls of the reply.
	Index int `json:"index"`
	// At least one piece of a call has the whole ID and the whole Name. A model without
	// ids leaves ID empty, and [Stream] sets the id of the call.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Arguments is appended to the JSON before it.
	Arguments string `json:"arguments,omitempty"`
	// Signature is the whole signature, on one piece; see [ToolCall].
	Signature string `json:"signature,omitempty"`
}

// Reply returns a stream of the chunks of m, for a model that does not stream. It ends
// with a ChunkEnd. The stream fails with [ErrInvalid] if the message is not valid,
// is not an assistant's, or has a text or a tool call with metadata, which cannot
// be streamed.
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
		switch {
		case part.Type == PartText && len(part.Metadata) > 0:
			return nil, fmt.Errorf("llm: reply: part with metadata: %w", ErrInvalid)
		case part.Type == PartText:
		case part.Type == PartReasoning && len(part.Metadata) == 0:
			kind = ChunkReasoning
		default:
			chunks = append(chunks, Chunk{Kind: ChunkPart, MessageID: m.ID, Part: &part})
			continue
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
