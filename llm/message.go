package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Role says who a message is from.
type Role string

// The roles of a message. Any other is refused by [Message.Validate].
const (
	RoleSystem    Role = "system"    // instructions to the model
	RoleUser      Role = "user"      // the person, or the program, that asks
	RoleAssistant Role = "assistant" // the model
	RoleTool      Role = "tool"      // the result of one tool call
)

// A Status says how a tool call went. It is empty where nobody said, and then
// counts as a success.
type Status string

// How a tool call can go.
const (
	StatusSuccess Status = "success"
	StatusError   Status = "error"
)

// A StopReason says why a model ended its reply. It is empty where the model
// did not say.
type StopReason string

// The reasons of a model to stop.
const (
	StopEnd       StopReason = "end"            // it had said everything
	StopToolCalls StopReason = "tool_calls"     // it waits for the results of its calls
	StopLength    StopReason = "length"         // it ran into a limit: the reply is cut off
	StopFilter    StopReason = "content_filter" // the provider held something back
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
	// ID tells the messages of a conversation apart. A graph gives one to a
	// message that has none when it is stored.
	ID string `json:"id,omitempty"`
	// Role says who the message is from.
	Role Role `json:"role"`
	// Name is that of the author, or of the tool in a tool message. Optional.
	Name string `json:"name,omitempty"`
	// Parts are what the message says, in order.
	Parts []Part `json:"parts,omitempty"`
	// ToolCalls are what an assistant asks to be called, in order.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID is the call that a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	// Status says how the call of a tool message went.
	Status Status `json:"status,omitempty"`
	// StopReason says why an assistant's reply ended.
	StopReason StopReason `json:"stop_reason,omitempty"`
	// Usage is what an assistant's reply cost. Nil means unknown.
	Usage *Usage `json:"usage,omitempty"`
	// Metadata is whatever else a provider or the caller keeps with the
	// message. Models do not see it.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// A ToolCall is an assistant's wish to have a tool called.
type ToolCall struct {
	// ID tells the calls of a message apart, and ties the answer to the call.
	ID string `json:"id"`
	// Name is that of the tool.
	Name string `json:"name"`
	// Arguments is the JSON that the model wrote, an object unless the model
	// erred. Empty counts as {}. Its stored form is compact, without space
	// between the values; json.Marshal, unlike a graph's storage, writes <, > and
	// & in it as \u003c and so on, which is the same JSON. See Invalid for what
	// is not JSON.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Invalid, when not empty, says why what the model wrote is not JSON.
	// Arguments is then that text as a JSON string, which fits no tool's
	// schema. Such a call is never run: it is answered with a [ToolError], so
	// that the model can do better. See [InvalidCall] and [ToolCall.Text].
	Invalid string `json:"invalid,omitempty"`
	// Signature is like that of a [Part]: some providers sign their calls, and
	// want the signature back.
	Signature string `json:"signature,omitempty"`
	// Metadata is whatever else a provider or another program keeps with the
	// call. Models do not see it.
	Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
}

// InvalidCall returns a tool call with arguments that are not JSON: what the
// model wrote, and why it is none.
func InvalidCall(id, name, text, why string) ToolCall {
	quoted, err := json.Marshal(strings.ToValidUTF8(text, "\ufffd"))
	if err != nil {
		panic(err) // a string is always JSON
	}
	return ToolCall{ID: id, Name: name, Arguments: quoted, Invalid: strings.ToValidUTF8(why, "\ufffd")}
}

// Text returns the arguments as the model wrote them: JSON, {} where it wrote
// none, or when the call is invalid what it wrote instead.
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

// User returns a message of the user: a text, which may be empty, and then
// further parts.
func User(text string, more ...Part) Message {
	m := newMessage(RoleUser, text)
	m.Parts = append(m.Parts, more...)
	return m
}

// Relay returns a message in the user's place that no user wrote: what one agent hands on to
// another. A model reads it as the user's; [Message.Relayed] tells it apart, so that what is in it
// does not pass for the user's own words.
func Relay(text string) Message {
	m := newMessage(RoleUser, text)
	m.Metadata = map[string]json.RawMessage{relayedKey: json.RawMessage("true")}
	return m
}

const relayedKey = "relayed"

// Relayed reports whether the message was made by [Relay].
func (m Message) Relayed() bool { return len(m.Metadata[relayedKey]) > 0 }

// Assistant returns a message of the model: a text, which may be empty, and
// the tools that it calls.
func Assistant(text string, calls ...ToolCall) Message {
	m := newMessage(RoleAssistant, text)
	m.ToolCalls = slices.Clone(calls)
	return m
}

// ToolResult returns the message that answers a call with what the tool said.
func ToolResult(call ToolCall, text string) Message {
	m := newMessage(RoleTool, text)
	m.Name, m.ToolCallID, m.Status = call.Name, call.ID, StatusSuccess
	return m
}

// ToolError returns the message that answers a call with what went wrong.
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

// Text returns the text parts of the message, one after the other. Reasoning
// is not among them.
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

// String describes the message in one line, for logs and examples: the role, the
// text, the calls.
func (m Message) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:", m.Role)
	if text := m.Text(); text != "" {
		fmt.Fprintf(&b, " %s", text)
	}
	for _, c := range m.ToolCalls {
		fmt.Fprintf(&b, " %s(%s)", c.Name, c.Text())
	}
	return b.String()
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
