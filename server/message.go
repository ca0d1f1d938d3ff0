package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
)

// Clients read and write messages as flat objects: {"type": "human", "id": …, "content": …}.
// The stored form of LangChain has the same fields in "data", beside the type.

// flatMessages returns messages as a JSON array of flat objects.
func flatMessages(messages []llm.Message) (json.RawMessage, error) {
	data, err := llm.ToLangChain(messages)
	if err != nil {
		return nil, err
	}
	var stored []struct {
		Type json.RawMessage            `json:"type"`
		Data map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, err
	}
	out := make([]map[string]json.RawMessage, len(stored))
	for i, m := range stored {
		m.Data["type"] = m.Type
		out[i] = m.Data
	}
	return json.Marshal(out) // encode once, since a message may be large
}

// encoded returns the JSON of a value whose encoding cannot fail.
func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("server: encoding a %T: %v", v, err))
	}
	return data
}

// A messageInput is the update of a client for a channel of messages: messages to add and to replace, and the ids of
// messages to remove.
type messageInput struct {
	messages []llm.Message
	remove   []string
	all      bool // remove all messages first
}

// removeAll is the id with which clients remove all messages.
const removeAll = "__remove_all__"

// readMessages reads one message or an array of messages. A message is a flat object, an
// object with "role" and "content", a text, or an array of a role and a text.
func readMessages(data json.RawMessage) (in messageInput, err error) {
	list := elements(data)
	if isTuple(list) {
		list = []json.RawMessage{data}
	}
	for i, item := range list {
		if err := in.add(item); err != nil {
			return in, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return in, nil
}

// isTuple reports whether a list is one message, written as a role and a text.
func isTuple(list []json.RawMessage) bool {
	var role, text string
	return len(list) == 2 && json.Unmarshal(list[0], &role) == nil && json.Unmarshal(list[1], &text) == nil && messageTypes[role] != ""
}

// messageTypes maps the roles and types that clients send to the types of stored messages.
var messageTypes = map[string]string{
	"human": "human", "user": "human", "ai": "ai", "assistant": "ai", "AIMessageChunk": "ai", "system": "system", "developer": "system",
	"tool": "tool", "function": "function", "remove": "remove", "HumanMessageChunk": "human", "ToolMessageChunk": "tool", "SystemMessageChunk": "system",
}

func (in *messageInput) add(item json.RawMessage) error {
	fields, kind, err := readMessage(item)
	if err == nil {
		err = checkContent(fields, kind)
	}
	if err != nil {
		return err
	}
	var id string
	if v, ok := fields["id"]; ok && string(v) != "null" {
		if err := json.Unmarshal(v, &id); err != nil {
			return fmt.Errorf("its id is not a text: %s", v)
		}
	}
	setDefaults(fields, kind)
	switch {
	case kind == "remove" && id == "":
		return fmt.Errorf("it removes a message and has no id")
	case kind == "remove" && id == removeAll:
		*in = messageInput{all: true}
		return nil
	case kind == "remove":
		in.remove = append(in.remove, id)
		return nil
	case id == "":
		fields["id"] = encoded(uuid.New())
	}
	stored := encoded([]any{map[string]any{"type": kind, "data": fields}})
	messages, err := llm.FromLangChain(stored)
	if err != nil {
		return err
	}
	in.messages = append(in.messages, messages...)
	return nil
}

// readMessage returns the fields of a message and its type.
func readMessage(item json.RawMessage) (fields map[string]json.RawMessage, kind string, err error) {
	var text string
	var tuple []string
	fields = map[string]json.RawMessage{}
	switch {
	case !isObject(item) && json.Unmarshal(item, &text) == nil: // null becomes an empty text
		kind, fields["content"] = "human", item
	case isArray(item) && json.Unmarshal(item, &tuple) == nil && len(tuple) == 2:
		kind, fields["content"] = tuple[0], encoded(tuple[1])
	case json.Unmarshal(item, &fields) != nil:
		return nil, "", fmt.Errorf("it is not an object: %s", shortened(string(item)))
	}
	for _, key := range []string{"role", "type"} {
		if v, ok := fields[key]; ok && kind == "" {
			if err := json.Unmarshal(v, &kind); err != nil {
				return nil, "", fmt.Errorf("its %s is not a text: %s", key, shortened(string(v)))
			}
		}
	}
	delete(fields, "role")
	delete(fields, "type")
	stored := messageTypes[kind]
	if stored == "" {
		return nil, "", fmt.Errorf("it has no known role or type, such as human or ai: %q", kind)
	}
	return fields, stored, nil
}

// checkContent refuses a message without content, except a removal or a reply with tool calls.
func checkContent(fields map[string]json.RawMessage, kind string) error {
	if _, ok := fields["content"]; ok || kind == "remove" || len(fields["tool_calls"]) > 0 {
		return nil
	}
	return errors.New(`it has no content; a message is {"role": "user", "content": "…"}`)
}

// messageDefaults has the fields that every stored message of a type has.
var messageDefaults = map[string]map[string]string{
	"human":  {"content": `""`, "additional_kwargs": "{}", "response_metadata": "{}"},
	"system": {"content": `""`, "additional_kwargs": "{}", "response_metadata": "{}"},
	"tool":   {"content": `""`, "additional_kwargs": "{}", "response_metadata": "{}"},
	"ai":     {"content": `""`, "additional_kwargs": "{}", "response_metadata": "{}", "tool_calls": "[]", "invalid_tool_calls": "[]"},
}

// setDefaults adds the fields that every stored message of a type has.
func setDefaults(fields map[string]json.RawMessage, kind string) {
	for key, v := range messageDefaults[kind] {
		if have, ok := fields[key]; !ok || string(have) == "null" {
			fields[key] = json.RawMessage(v)
		}
	}
}

// A chunkMessage is a chunk of a streamed reply in the form of clients.
type chunkMessage struct {
	Type           string            `json:"type"`
	ID             string            `json:"id"`
	Content        any               `json:"content"`
	ToolCallChunks []toolCallChunk   `json:"tool_call_chunks,omitempty"`
	Usage          *usageMetadata    `json:"usage_metadata,omitempty"`
	Response       map[string]any    `json:"response_metadata"`
	Kwargs         map[string]any    `json:"additional_kwargs"`
	ToolCalls      []json.RawMessage `json:"tool_calls,omitempty"`
	Position       string            `json:"chunk_position,omitempty"`
}

type toolCallChunk struct {
	Name  *string `json:"name"`
	Args  string  `json:"args"`
	ID    *string `json:"id"`
	Index int     `json:"index"`
	Type  string  `json:"type"`
}

type usageMetadata struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`
	Total  int64 `json:"total_tokens"`
	// Read and Wrote count parts of Input and Output.
	Read  *inputTokens  `json:"input_token_details,omitempty"`
	Wrote *outputTokens `json:"output_token_details,omitempty"`
}

type inputTokens struct {
	Cached     int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_creation"`
}

type outputTokens struct {
	Reasoning int64 `json:"reasoning"`
}

// usage converts the token counts to the form of package llm.
func (u *usageMetadata) usage() llm.Usage {
	out := llm.Usage{Input: u.Input, Output: u.Output, Total: u.Total}
	if u.Read != nil {
		out.Cached, out.CacheWrite = u.Read.Cached, u.Read.CacheWrite
	}
	if u.Wrote != nil {
		out.Reasoning = u.Wrote.Reasoning
	}
	return out
}

// newChunkMessage converts a chunk of a model's reply.
func newChunkMessage(c llm.Chunk) chunkMessage {
	m := chunkMessage{Type: "AIMessageChunk", ID: c.MessageID, Content: "", Response: map[string]any{}, Kwargs: map[string]any{}}
	switch c.Kind {
	case llm.ChunkText:
		m.Content = c.Text
	case llm.ChunkReasoning:
		m.Content = []map[string]any{{"type": "reasoning", "reasoning": c.Text, "index": 0}}
	case llm.ChunkToolCall:
		d := c.ToolCall
		m.ToolCallChunks = []toolCallChunk{{Name: optional(d.Name), ID: optional(d.ID), Args: d.Arguments, Index: d.Index, Type: "tool_call_chunk"}}
	case llm.ChunkEnd:
		m.Position = "last"
		if c.Usage != nil {
			m.Usage = newUsage(*c.Usage)
		}
		if c.StopReason != "" {
			m.Response["finish_reason"] = storedReason(c.StopReason)
		}
	}
	return m
}

// storedReason returns the name of a stop reason in stored messages.
func storedReason(r llm.StopReason) string {
	if r == llm.StopEnd {
		return "stop"
	}
	return string(r)
}

func newUsage(u llm.Usage) *usageMetadata {
	m := &usageMetadata{Input: u.Input, Output: u.Output, Total: u.Total}
	if u.Cached > 0 || u.CacheWrite > 0 {
		m.Read = &inputTokens{u.Cached, u.CacheWrite}
	}
	if u.Reasoning > 0 {
		m.Wrote = &outputTokens{u.Reasoning}
	}
	return m
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

const maxShown = 100 // bytes of a value that an error shows

func shortened(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "…"
}

// storedMessages decodes a JSON array of messages in the form of package llm.
func storedMessages(data json.RawMessage) ([]llm.Message, error) {
	var messages []llm.Message
	err := json.Unmarshal(data, &messages)
	return messages, err
}
