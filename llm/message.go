package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Role is the kind of author of a message.
type Role string

// The roles of a message. Any other is invalid; see [Message.Validate].
const (
	RoleSystem    Role = "system"    // instructions to the model
	RoleUser      Role = "user"      // the person or the program that asks
	RoleAssistant Role = "assistant" // the model
	RoleTool      Role = "tool"      // the result of one tool call
)

// A Status is the result of a tool call. Empty means success.
type Status string

// The results of a tool call.
const (
	StatusSuccess Status = "success"
	StatusError   Status = "error"
)

// A StopReason is the reason why a model ended its reply. Empty means unknown.
type StopReason string

// The stop reasons.
const (
	StopEnd       StopReason = "end"            // the reply is complete
	StopToolCalls StopReason = "tool_calls"     // the model waits for the results of its calls
	StopLength    StopReason = "length"         // the reply reached a limit and is cut off
	StopFilter    StopReason = "content_filter" // the provider withheld a part of the reply
)

// A Message is one entry of a conversation. The zero value is not valid; make
// one with [System], [User], [Assistant], [ToolResult] or [ToolError], or as a
// literal that [Message.Validate] accepts.
//
// Its JSON form is an object with a key for each field, named below, where
// empty fields are left out:
//
//	{"id":"m2","role":"assistant","parts":[{"type":"text","text":"Let me look."}],
//	 "tool_calls":[{"id":"call_1","name":"weather","arguments":{"city":"Athens"}}]}
type Message struct {
	// ID identifies the message in its conversation. If it is empty, a graph sets
	// it before the message is stored.
	ID string `json:"id,omitempty"`
	// Role is the kind of author.
	Role Role `json:"role"`
	// Name is the name of the author, or of the tool in a tool message. Optional.
	Name string `json:"name,omitempty"`
	// Parts is the content, in order.
	Parts []Part `json:"parts,omitempty"`
	// ToolCalls are the calls that an assistant asks for, in order.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID is the id of the call that a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Status is the result of the call of a tool message.
	Status Status `json:"status,omitempty"`
	// StopReason is the reason why an assistant's reply ended.
	StopReason StopReason `json:"stop_reason,omitempty"`
	// Usage counts the tokens of an assistant's reply. Nil means unknown.
	Usage *Usage `json:"usage,omitempty"`
	// Metadata is anything else that a provider or the caller keeps with the
	// message. Models do not see it.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// A ToolCall is a request of an assistant to call a tool.
type ToolCall struct {
	// ID identifies the call in its message. The tool message that answers the call has
	// the same id.
	ID string `json:"id"`
	// Name is the name of the tool.
	Name string `json:"name"`
	// Arguments is the JSON that the model wrote. It is an object unless the model
	// made an error. Empty means {}. The stored form is compact. json.Marshal,
	// unlike a graph's storage, escapes <, > and & in it, which does not change the
	// value. If the model did not write JSON, see Invalid.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Invalid, if not empty, says why the text of the model is not JSON. Arguments is
	// then the text as a JSON string, which fits no schema of a tool. Such a call is
	// never executed. It is answered with a [ToolError], so that the model can correct
	// it. See [InvalidCall] and [ToolCall.Text].
	Invalid string `json:"invalid,omitempty"`
	// Signature is the provider's signature of the call. Some providers sign calls and
	// require the signature in the next request; see [Part].
	Signature string `json:"signature,omitempty"`
	// Metadata is anything else that a provider or another program keeps with the
	// call. Models do not see it.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// InvalidCall returns a tool call whose arguments are not JSON: the text that the model
// wrote, and the reason why it is invalid.
func InvalidCall(id, name, text, reason string) ToolCall {
	quoted, err := json.Marshal(strings.ToValidUTF8(text, "\ufffd"))
	if err != nil {
		panic(err) // every string can be encoded
	}
	return ToolCall{ID: id, Name: name, Arguments: quoted, Invalid: strings.ToValidUTF8(reason, "\ufffd")}
}

// String returns the name and the arguments, for logs and examples.
func (c ToolCall) String() string { return c.Name + "(" + c.Text() + ")" }

// Text returns the arguments as the model wrote them, or {} if there are none. If
// the call is invalid, they are not JSON.
func (c ToolCall) Text() string {
	if c.Invalid != "" {
		var text string
		if err := json.Unmarshal(c.Arguments, &text); err == nil {
			return text
		}
	}
	if len(c.Arguments) == 0 {
		return "{}"
	}
	return string(c.Arguments)
}

// System returns a message with instructions to the model.
func System(text string) Message { return newMessage(RoleSystem, text) }

// User returns a message of the user with a text, which can be empty, and other
// parts after it.
func User(text string, more ...Part) Message {
	m := newMessage(RoleUser, text)
	m.Parts = append(m.Parts, more...)
	return m
}

// Relay returns a message that one agent passes to another. Its role is user, although no
// user wrote it. A model reads it like a message of the user. With [Message.Relayed], a
// program can distinguish it from the user's own words.
func Relay(text string) Message {
	m := newMessage(RoleUser, text)
	m.Metadata = map[string]json.RawMessage{relayedKey: json.RawMessage("true")}
	return m
}

const relayedKey = "relayed"

// Relayed reports whether the message was made by [Relay].
func (m Message) Relayed() bool { return len(m.Metadata[relayedKey]) > 0 }

// Assistant returns a message of the model with a text, which can be empty, and tool
// calls.
func Assistant(text string, calls ...ToolCall) Message {
	m := newMessage(RoleAssistant, text)
	m.ToolCalls = slices.Clone(calls)
	return m
}

// ToolResult returns the message that answers a call with the result of the tool.
func ToolResult(call ToolCall, text string) Message {
	m := newMessage(RoleTool, text)
	m.Name, m.ToolCallID, m.Status = call.Name, call.ID, StatusSuccess
	return m
}

// ToolError returns the message that answers a call with an error.
func ToolError(call ToolCall, text string) Message {
	m := ToolResult(call, text)
	m.Status = StatusError
	return m
}

func newMessage(role Role, text string) Message {
	m := Message{Role: role}
	if text != "" {
		m.Parts = []Part{Text(text)}
	}
	return m
}

// Text returns the text parts of the message, joined. Reasoning is not included.
func (m Message) Text() string {
	if len(m.Parts) == 1 && m.Parts[0].Type == PartText {
		return m.Parts[0].Text
	}
	var b strings.Builder
	for i := range m.Parts {
		if m.Parts[i].Type == PartText {
			b.WriteString(m.Parts[i].Text)
		}
	}
	return b.String()
}

// String returns the role, the text and the calls, for logs and examples.
func (m Message) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", m.Role)
	if text := m.Text(); text != "" {
		fmt.Fprintf(&b, " %s", text)
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, " %s", c)
	}
	return b.String()
}

// Cache returns a copy of m whose last part has a mark for the provider's cache; see
// [Part.Cache]. A message without parts is returned unchanged.
func (m Message) Cache(ttl time.Duration) Message {
	m.Parts = slices.Clone(m.Parts)
	if n := len(m.Parts); n > 0 {
		m.Parts[n-1] = m.Parts[n-1].Cache(ttl)
	}
	return m
}

// Clone returns a copy that shares nothing with m.
func (m Message) Clone() Message {
	m.Parts = slices.Clone(m.Parts)
	for i := range m.Parts {
		m.Parts[i] = m.Parts[i].Clone()
	}
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i := range m.ToolCalls {
		m.ToolCalls[i] = m.ToolCalls[i].Clone()
	}
	m.Usage = cloneValue(m.Usage)
	m.Metadata = cloneMetadata(m.Metadata)
	return m
}

// Clone returns a copy that shares nothing with c.
func (c ToolCall) Clone() ToolCall {
	c.Arguments = bytes.Clone(c.Arguments)
	c.Metadata = cloneMetadata(c.Metadata)
	return c
}

func cloneMetadata(metadata map[string]json.RawMessage) map[string]json.RawMessage {
	metadata = maps.Clone(metadata)
	for key, value := range metadata {
		metadata[key] = bytes.Clone(value)
	}
	return metadata
}
