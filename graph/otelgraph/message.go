package otelgraph

import (
	"encoding/json"
	"strings"

	"github.com/weft-go/weft/llm"
)

// A message is a message in the form of gen_ai.input.messages and gen_ai.output.messages.
type message struct {
	Role         string        `json:"role"`
	Parts        []messagePart `json:"parts"`
	Name         string        `json:"name,omitempty"`
	FinishReason string        `json:"finish_reason,omitempty"`
}

type messagePart struct {
	Type      string          `json:"type"`
	Content   *string         `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Response  *string         `json:"response,omitempty"`
	MIMEType  string          `json:"mime_type,omitempty"`
	Modality  string          `json:"modality,omitempty"`
	URI       string          `json:"uri,omitempty"`
}

// finishReasons maps stop reasons to the names of the semantic conventions.
var finishReasons = map[llm.StopReason]string{
	llm.StopEnd: "stop", llm.StopToolCalls: "tool_call", llm.StopLength: "length", llm.StopFilter: "content_filter",
}

func finishReason(s llm.StopReason) string {
	if name, ok := finishReasons[s]; ok {
		return name
	}
	return string(s)
}

// messagesJSON returns messages as an attribute.
func messagesJSON(messages []llm.Message) string {
	out := make([]message, len(messages))
	for i, m := range messages {
		out[i] = newMessage(m)
	}
	return jsonOf(out)
}

func newMessage(m llm.Message) message {
	out := message{Role: string(m.Role), Name: m.Name, FinishReason: finishReason(m.StopReason), Parts: []messagePart{}}
	if m.Role == llm.RoleTool {
		text := m.Text()
		out.Parts = append(out.Parts, messagePart{Type: "tool_call_response", ID: m.ToolCallID, Response: &text})
		return out
	}
	for _, p := range m.Parts {
		out.Parts = append(out.Parts, newPart(p))
	}
	for _, c := range m.ToolCalls {
		out.Parts = append(out.Parts, messagePart{Type: "tool_call", ID: c.ID, Name: c.Name, Arguments: arguments(c)})
	}
	return out
}

// arguments returns the arguments of a call as JSON. Arguments that are not JSON are a string.
func arguments(c llm.ToolCall) json.RawMessage {
	if json.Valid(c.Arguments) {
		return c.Arguments
	}
	return json.RawMessage(jsonOf(string(c.Arguments)))
}

// newPart returns a part without the data of images and files, which is too large for a span.
func newPart(p llm.Part) messagePart {
	switch {
	case p.Type == llm.PartText:
		return messagePart{Type: "text", Content: &p.Text}
	case p.Type == llm.PartReasoning:
		return messagePart{Type: "reasoning", Content: &p.Text}
	case p.URL != "":
		return messagePart{Type: "uri", MIMEType: p.MIMEType, Modality: modality(p), URI: p.URL}
	case len(p.Data) > 0:
		none := ""
		return messagePart{Type: "blob", MIMEType: p.MIMEType, Modality: modality(p), Content: &none}
	}
	return messagePart{Type: string(p.Type)}
}

func modality(p llm.Part) string {
	kind, _, _ := strings.Cut(p.MIMEType, "/")
	switch {
	case p.Type == llm.PartImage:
		return "image"
	case kind == "image", kind == "audio", kind == "video":
		return kind
	}
	return "document"
}

// A definition is a tool in the form of gen_ai.tool.definitions.
type definition struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

func definitionsJSON(specs []llm.ToolSpec) string {
	out := make([]definition, len(specs))
	for i, s := range specs {
		out[i] = definition{Type: "function", Name: s.Name, Description: s.Description, Parameters: s.Schema}
	}
	return jsonOf(out)
}

// jsonOf returns a value as JSON. If the value cannot be encoded, it returns the text of the error, since a span must
// not fail a run.
func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
