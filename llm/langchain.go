package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// ToLangChain returns messages in the form in which LangChain stores them: a
// JSON array of {"type", "data"}. Python's messages_from_dict and JavaScript's
// mapStoredMessagesToChatMessages read it.
//
// A message that [FromLangChain] has read is written as it was: its unknown
// keys, its nulls and its own way to write content come back, except where the
// message has been changed since. LangChain has two lists for the tool calls of
// a message, so calls that are invalid come after the others.
//
// A message that is not valid is an error wrapping [ErrInvalid].
func ToLangChain(messages []Message) (json.RawMessage, error) {
	entries := make([]object, len(messages))
	for i, m := range messages {
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("llm: to langchain: message %d: %w: %w", i, err, ErrInvalid)
		}
		entries[i] = m.langChain()
	}
	return encode(entries), nil
}

// FromLangChain returns the messages that LangChain stored: what Python's
// messages_to_dict and JavaScript's mapChatMessagesToStoredMessages write, of
// any version. Null stands for no messages.
//
//   - A human message is of role user, an ai message of role assistant. A
//     function message answers the function_call before it as a tool message
//     does; a chat (or generic) message has the role that it names, or else
//     that of the user. A chunk is read as the message of its kind.
//   - Content is text, or a list of blocks: texts, images, files and reasoning
//     become parts of their types, anything else a [PartOther].
//   - Tool calls without an id are given one; what is in invalid_tool_calls has
//     [ToolCall.Invalid] set.
//   - response_metadata becomes Metadata, and says the StopReason.
//   - A remove message takes the message of its id out of those before it, or
//     all of them, and is gone.
//
// Whatever else a message, a block or a call holds is kept in its Metadata, most
// of it under the key "langchain", for [ToLangChain] to write again. Data that
// can not be read, or would make a message that is not valid, is an error
// wrapping [ErrInvalid].
func FromLangChain(data []byte) ([]Message, error) {
	messages, err := readLangChain(data)
	if err != nil {
		return nil, fmt.Errorf("llm: from langchain: %w: %w", err, ErrInvalid)
	}
	return messages, nil
}

func readLangChain(data []byte) ([]Message, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	var entries []object
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, err
	}
	var messages []Message
	r := langChainReader{functions: map[string]string{}}
	for i, entry := range entries {
		if entry.text("type") == "remove" {
			var err error
			if messages, err = removed(messages, entry); err != nil {
				return nil, fmt.Errorf("message %d: %w", i, err)
			}
			continue
		}
		m, err := r.read(entry)
		if err == nil {
			err = m.check()
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// removeAll is the id by which a remove message means every message.
const removeAll = "__remove_all__"

func removed(messages []Message, entry object) ([]Message, error) {
	id := entry.object("data").text("id")
	if id == removeAll {
		return nil, nil
	}
	i := slices.IndexFunc(messages, func(m Message) bool { return m.ID != "" && m.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("removes %q, which is not before it", id)
	}
	return slices.Delete(messages, i, i+1), nil
}

// langChainTypes are the types of messages by role, the role's own first.
var langChainTypes = map[Role][]string{
	RoleSystem:    {"system", "SystemMessageChunk", "developer"},
	RoleUser:      {"human", "HumanMessageChunk", "user"},
	RoleAssistant: {"ai", "AIMessageChunk", "assistant", "model"},
	RoleTool:      {"tool", "ToolMessageChunk", "function", "FunctionMessageChunk"},
}

func roleOfType(name string) (Role, bool) {
	for role, names := range langChainTypes {
		if slices.Contains(names, name) {
			return role, true
		}
	}
	return "", false
}

// langChainRole returns the role of a type of message. That of a chat message
// is in its data.
func langChainRole(typ, named string) (Role, error) {
	switch typ {
	case "chat", "generic", "ChatMessageChunk":
		if role, ok := roleOfType(named); ok && role != RoleTool {
			return role, nil
		}
		return RoleUser, nil
	}
	role, ok := roleOfType(typ)
	if !ok {
		return "", fmt.Errorf("unknown type %q", typ)
	}
	return role, nil
}

// langChain returns the message as an entry of LangChain's.
func (m Message) langChain() object {
	kept, rest := takeRest(m.Metadata)
	m.Metadata = kept
	// When its calls were taken out, the provider's own form of them goes too.
	stripped := rest.Calls && len(m.ToolCalls) == 0
	if stripped {
		m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), Part.isLangChainCall)
	}
	data := m.langChainData(rest.Form)
	rest.restore(data)
	if extra := data.object("additional_kwargs"); stripped && len(extra) > 0 {
		delete(extra, "tool_calls")
		delete(extra, "function_call")
		data["additional_kwargs"] = encode(extra)
	}
	typ := langChainTypes[m.Role][0]
	if role, err := langChainRole(rest.Type, data.text("role")); err == nil && role == m.Role {
		typ = rest.Type
	}
	entry := object{}
	maps.Copy(entry, rest.Outer)
	entry["type"], entry["data"] = encode(typ), encode(data)
	return entry
}

// langChainData returns what the fields of the message say. Its Metadata is
// without the rest.
func (m Message) langChainData(form string) object {
	data := object{
		"content":           langChainContent(m.Parts, form),
		"additional_kwargs": json.RawMessage("{}"),
	}
	data.set("id", m.ID)
	data.set("name", m.Name)
	data.set("tool_call_id", m.ToolCallID)
	data.set("status", string(m.Status))
	metadata := object{}
	maps.Copy(metadata, m.Metadata)
	if m.StopReason != "" && metadata.firstText(stopKeys...) == "" {
		metadata["finish_reason"] = encode(finishReason(m.StopReason))
	}
	data["response_metadata"] = encode(metadata)
	if m.Role == RoleAssistant {
		data["tool_calls"], data["invalid_tool_calls"] = langChainCalls(m.ToolCalls)
		if m.Usage != nil {
			data["usage_metadata"] = encode(langChainUsage(*m.Usage))
		}
	}
	return data
}
