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
// A message that [FromLangChain] returned is written as it was read, with its unknown
// keys, its nulls and its form of content. Fields that were changed since have their new
// values. LangChain has two lists for the tool calls of a message, so invalid calls are
// written after valid calls.
//
// If a message is not valid, the error wraps [ErrInvalid].
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

// FromLangChain reads messages that LangChain stored. It reads the output of
// Python's messages_to_dict and of JavaScript's mapChatMessagesToStoredMessages,
// of any version. Null means no messages.
//
//   - A human message has the role user, an ai message the role assistant. A
//     function message is a tool message that answers the function_call before
//     it. A chat or generic message has the role that it names, or else the role
//     user. A chunk is read as a message of its kind.
//   - The content is a text or a list of blocks. Texts, images, files and
//     reasoning, also redacted, become parts of their types; any other block
//     becomes a [PartOther]. If the content is empty, contentBlocks is read.
//   - A tool call without an id gets one. A call of invalid_tool_calls has
//     [ToolCall.Invalid] set.
//   - response_metadata becomes Metadata. Its finish reason becomes StopReason.
//   - A remove message removes the earlier message with its id, or all earlier messages.
//
// All other fields of a message, a block or a call are kept in its Metadata, most
// of them under the key "langchain", so that [ToLangChain] can write them. If data
// cannot be read, or a message is not valid, the error wraps [ErrInvalid].
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

// removeAll is the id in a remove message that removes all messages.
const removeAll = "__remove_all__"

func removed(messages []Message, entry object) ([]Message, error) {
	id := entry.object("data").text("id")
	if id == removeAll {
		return nil, nil
	}
	i := slices.IndexFunc(messages, func(m Message) bool { return m.ID != "" && m.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("removes %q, which is not among the messages before it", id)
	}
	return slices.Delete(messages, i, i+1), nil
}

// langChainTypes are the types of messages by role. [ToLangChain] writes the first one by
// default.
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

// langChainRole returns the role for a type of message. For a chat message, named is
// the role in its data.
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

// langChain returns the message as an entry of LangChain's list.
func (m Message) langChain() object {
	kept, rest := takeRest(m.Metadata)
	m.Metadata = kept
	// If the calls were removed, remove their provider's form, too.
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

// langChainData returns the fields of the message in LangChain's form. The caller has
// removed the rest from m.Metadata.
func (m Message) langChainData(form string) object {
	data := object{
		"content":           langChainContent(m.Parts, form),
		"additional_kwargs": json.RawMessage("{}"),
	}
	if form == formContentBlocks {
		data["content"], data[contentBlocksKey] = encode(""), data["content"]
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
