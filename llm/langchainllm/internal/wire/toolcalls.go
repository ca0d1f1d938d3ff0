package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weft-go/weft/llm"
)

// toolCalls assembles the tool calls of a stream in OpenAI's form. Servers differ: some
// send no index, no id, one index for all calls, another id with each piece, a name in
// pieces, or the name with each piece.
type toolCalls struct {
	calls []*toolCall
	last  *toolCall
}

type toolCall struct {
	index     int  // its place among the calls
	theirs    *int // the server's index
	id, name  string
	arguments []byte
	sent      bool // its id and name were passed on
	delivered int  // the number of bytes of arguments that were passed on
}

// add reads the pieces of one event, and returns the parts of the calls that are now known.
func (t *toolCalls) add(pieces []object, tools []llm.ToolSpec) []llm.ToolCallDelta {
	var out []llm.ToolCallDelta
	touched := map[*toolCall]bool{}
	for _, data := range pieces {
		if data == nil {
			continue
		}
		function := read[object](data["function"])
		p := piece{
			index: read[*int](data["index"]), id: word(data["id"]),
			name: read[string](function["name"]), arguments: argumentsText(function["arguments"]),
		}
		call := t.find(p)
		if call == nil || touched[call] && p.name != "" || call.endsBefore(p, tools) {
			call = &toolCall{index: len(t.calls), theirs: p.index}
			t.calls = append(t.calls, call)
		}
		touched[call], t.last = true, call
		call.add(p, tools)
		if call.sent || len(call.arguments) > 0 || finalName(call.name, tools) {
			out = t.deliver(out, call)
		}
	}
	return out
}

// A piece is one element of a delta's tool_calls.
type piece struct {
	index               *int
	id, name, arguments string
}

// find returns the last call to which a piece can belong, or nil.
func (t *toolCalls) find(p piece) *toolCall {
	for i := len(t.calls) - 1; i >= 0; i-- {
		call := t.calls[i]
		if p.index != nil && call.theirs != nil && *p.index == *call.theirs || p.index == nil && p.id != "" && p.id == call.id {
			return call
		}
	}
	if p.index == nil && (p.id == "" || p.name == "") {
		return t.last
	}
	return nil
}

// endsBefore reports whether a piece that find assigned to the call begins another call.
func (c *toolCall) endsBefore(p piece, tools []llm.ToolSpec) bool {
	switch {
	case p.id != "" && c.id != "" && p.id != c.id:
		return p.name != "" || c.complete()
	case p.name == "" || c.name == "" || p.id != "" && p.id == c.id:
		return false
	case len(c.arguments) == 0 && p.name != c.name:
		// The rest of a name, or another call without arguments.
		return isTool(c.name, tools) && isTool(p.name, tools) && !beginsName(c.name+p.name, tools)
	case p.name == c.name:
		return c.complete() && p.arguments != ""
	}
	return true
}

func (c *toolCall) add(p piece, tools []llm.ToolSpec) {
	if c.id == "" {
		c.id = p.id
	}
	repeated := p.name == c.name && !beginsName(c.name+p.name, tools)
	if !c.sent && !repeated {
		c.name += p.name
	}
	c.arguments = append(c.arguments, p.arguments...)
}

// complete reports whether the arguments are whole.
func (c *toolCall) complete() bool {
	return bytes.HasSuffix(bytes.TrimSpace(c.arguments), []byte("}")) && json.Valid(c.arguments)
}

// deliver appends to out the part of a call that has not been passed on.
func (t *toolCalls) deliver(out []llm.ToolCallDelta, c *toolCall) []llm.ToolCallDelta {
	d := llm.ToolCallDelta{Index: c.index, Arguments: string(c.arguments[c.delivered:])}
	if !c.sent {
		if t.idTaken(c) || c.id == "" {
			c.id = newID()
		}
		d.ID, d.Name, c.sent = c.id, c.name, true
	} else if d.Arguments == "" {
		return out
	}
	c.delivered = len(c.arguments)
	return append(out, d)
}

// idTaken reports whether an earlier call has the id of c.
func (t *toolCalls) idTaken(c *toolCall) bool {
	for _, other := range t.calls[:c.index] {
		if other.id == c.id {
			return true
		}
	}
	return false
}

// end returns the calls that were held back because their name could have continued.
func (t *toolCalls) end() []llm.ToolCallDelta {
	var out []llm.ToolCallDelta
	for _, call := range t.calls {
		if !call.sent {
			out = t.deliver(out, call)
		}
	}
	return out
}

func isTool(name string, tools []llm.ToolSpec) bool {
	for _, tool := range tools {
		if tool.Name == name {
			return true
		}
	}
	return false
}

// beginsName reports whether the name of a tool begins with text.
func beginsName(text string, tools []llm.ToolSpec) bool {
	for _, tool := range tools {
		if strings.HasPrefix(tool.Name, text) {
			return true
		}
	}
	return false
}

// finalName reports whether name is the name of a tool, and not the beginning of another
// tool's name.
func finalName(name string, tools []llm.ToolSpec) bool {
	for _, tool := range tools {
		if tool.Name != name && strings.HasPrefix(tool.Name, name) {
			return false
		}
	}
	return isTool(name, tools)
}

// word reads a string, or a number as its text.
func word(data json.RawMessage) string {
	if n := read[json.Number](data); n != "" {
		return n.String()
	}
	return read[string](data)
}

// argumentsText reads arguments, which some servers send as an object and not as text.
func argumentsText(data json.RawMessage) string {
	if len(data) > 0 && data[0] == '{' {
		return string(data)
	}
	return read[string](data)
}
