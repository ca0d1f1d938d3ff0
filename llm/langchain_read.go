package llm

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A langChainReader reads the messages of one conversation, in order.
type langChainReader struct {
	// functions has the ids that were created for function calls, by name, because
	// LangChain has no ids for them.
	functions map[string]string
	count     int
}

func (r *langChainReader) read(entry object) (Message, error) {
	data := entry.object("data")
	if len(data) == 0 {
		return Message{}, errors.New("no data")
	}
	typ := entry.text("type")
	role, err := langChainRole(typ, data.text("role"))
	if err != nil {
		return Message{}, err
	}
	m := Message{Role: role, ID: data.text("id"), Name: data.text("name")}
	var rest rest
	if m.Parts, rest.Form, err = readAnyContent(data); err != nil {
		return Message{}, err
	}
	m.Metadata = maps.Clone(data.object("response_metadata"))
	delete(m.Metadata, restKey)
	compactAll(m.Metadata)
	switch role {
	case RoleAssistant:
		rest.Calls = r.readReply(&m, data)
	case RoleTool:
		r.readResult(&m, typ, data)
	}
	if typ != langChainTypes[role][0] {
		rest.Type = typ
	}
	delete(entry, "type")
	delete(entry, "data")
	if len(entry) > 0 {
		rest.Outer = entry
	}
	rest.compare(m.langChainData(rest.Form), data, anyKey)
	m.Metadata = rest.put(m.Metadata)
	return m, nil
}

func compactAll(values map[string]json.RawMessage) {
	for key, value := range values {
		values[key] = compact(value)
	}
}

// readReply reads the fields of an assistant's message. It reports whether data also has
// the calls in the provider's form.
func (r *langChainReader) readReply(m *Message, data object) bool {
	m.readStop()
	m.Usage = readUsage(data)
	var calls callList
	for _, call := range data.objects("tool_calls") {
		calls.add(readCall(call), call)
	}
	for _, call := range data.objects("invalid_tool_calls") {
		calls.add(readInvalidCall(call), call)
	}
	extra := data.object("additional_kwargs")
	if len(calls.calls) == 0 {
		for _, call := range extra.objects("tool_calls") {
			calls.add(readProviderCall(call.text("id"), call.object("function")), nil)
		}
	}
	if len(calls.calls) == 0 {
		for _, p := range m.Parts {
			if block := object(p.Metadata); p.Type == PartOther && block.text("type") == "tool_call" {
				calls.add(readCall(block), nil)
			}
		}
	}
	if function := extra.object("function_call"); len(calls.calls) == 0 && function.text("name") != "" {
		r.count++
		id := fmt.Sprintf("function_%d", r.count)
		r.functions[function.text("name")] = id
		calls.add(readProviderCall(id, function), nil)
	}
	m.ToolCalls = calls.calls
	return len(calls.calls) > 0 &&
		(len(extra["tool_calls"]) > 0 || len(extra["function_call"]) > 0 || slices.ContainsFunc(m.Parts, Part.isLangChainCall))
}

// isLangChainCall reports whether the part is a tool call in a provider's form.
func (p Part) isLangChainCall() bool {
	switch object(p.Metadata).text("type") {
	case "tool_use", "tool_call", "function_call":
		return p.Type == PartOther
	}
	return false
}

func (r *langChainReader) readResult(m *Message, typ string, data object) {
	m.ToolCallID = data.text("tool_call_id")
	if status := Status(data.text("status")); status == StatusSuccess || status == StatusError {
		m.Status = status
	}
	if m.ToolCallID == "" && strings.HasPrefix(strings.ToLower(typ), "function") {
		if m.ToolCallID = r.functions[m.Name]; m.ToolCallID == "" {
			r.count++
			m.ToolCallID = fmt.Sprintf("function_%d", r.count)
		}
	}
}

// A callList collects the calls of a message and makes their ids unique.
type callList struct {
	calls []ToolCall
	ids   map[string]bool
}

// add adds a call. It sets an id if the call has none or a used one, and a name if it has
// none. theirs is the call in LangChain's form, or nil. add stores in the metadata of the
// call the data of theirs that the fields of the call do not hold.
func (l *callList) add(call ToolCall, theirs object) {
	if call.ID == "" || l.ids[call.ID] {
		call.ID = "call_" + rand.Text()
	}
	if call.Name == "" {
		call.Name = "unknown"
	}
	if l.ids == nil {
		l.ids = map[string]bool{}
	}
	l.ids[call.ID] = true
	if theirs != nil {
		own := call.langChain()
		known := func(key string) bool { _, ok := own[key]; return ok || key == restKey }
		metadata := object{}
		for key, value := range theirs {
			if !known(key) {
				metadata[key] = compact(value)
			}
		}
		var rest rest
		rest.compare(own, theirs, known)
		call.Metadata = rest.put(metadata)
	}
	l.calls = append(l.calls, call)
}

func readCall(theirs object) ToolCall {
	call := ToolCall{ID: theirs.text("id"), Name: theirs.text("name")}
	if args := theirs["args"]; len(args) > 0 {
		call.Arguments = compact(args)
	}
	call.Signature = theirs.object("extras").text("signature")
	return call
}

func readInvalidCall(theirs object) ToolCall {
	why := theirs.text("error")
	if why == "" {
		why = "the arguments are not JSON"
	}
	return InvalidCall(theirs.text("id"), theirs.text("name"), theirs.text("args"), why)
}

// readProviderCall reads a call in OpenAI's form, in which the arguments are text.
func readProviderCall(id string, function object) ToolCall {
	d := draft{id: id, name: function.text("name")}
	d.arguments.WriteString(function.text("arguments"))
	call, err := d.finish(true)
	if err != nil { // it has no name
		call = ToolCall{ID: id}
	}
	return call
}

// langChainCalls returns the list of valid calls and the list of invalid calls.
func langChainCalls(calls []ToolCall) (valid, invalid json.RawMessage) {
	lists := [2][]object{{}, {}}
	for _, call := range calls {
		metadata, rest := takeRest(call.Metadata)
		theirs := call.langChain()
		rest.restore(theirs)
		for key, value := range metadata {
			if _, ok := theirs[key]; !ok {
				theirs[key] = value
			}
		}
		i := 0
		if call.Invalid != "" {
			i = 1
		}
		lists[i] = append(lists[i], theirs)
	}
	return encode(lists[0]), encode(lists[1])
}

// langChain returns the fields of the call in LangChain's form.
func (c ToolCall) langChain() object {
	theirs := object{"id": encode(c.ID), "name": encode(c.Name)}
	if c.Invalid != "" {
		theirs["type"] = encode("invalid_tool_call")
		theirs["args"] = encode(c.Text())
		theirs["error"] = encode(c.Invalid)
		return theirs
	}
	theirs["type"] = encode("tool_call")
	theirs["args"] = json.RawMessage(c.Text())
	if c.Signature != "" {
		theirs["extras"] = encode(object{"signature": encode(c.Signature)})
	}
	return theirs
}
