package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
)

// settleGemini corrects the settings of a request to Gemini.
func settleGemini(body object, r *llm.Request) {
	config := read[object](body["generationConfig"])
	if config == nil {
		config = object{}
	}
	geminiConfig(config, r)
	body["generationConfig"] = raw(config)
	if len(r.Tools) > 0 {
		body["tools"] = raw(geminiTools(r.Tools))
		if choice := geminiChoice(r.ToolChoice); choice != nil {
			body["toolConfig"] = raw(map[string]any{"functionCallingConfig": choice})
		}
	}
}

// geminiConfig removes the library's own defaults, and sets the options that the library does not send.
func geminiConfig(config object, r *llm.Request) {
	delete(config, "topK")
	set(config, "temperature", r.Temperature)
	set(config, "topP", r.TopP)
	set(config, "seed", r.Seed)
	if r.MaxTokens == 0 {
		delete(config, "maxOutputTokens")
	}
	switch r.Format.Type {
	case llm.FormatSchema:
		config["responseMimeType"] = raw("application/json")
		config["responseSchema"] = raw(SimpleSchema(r.Format.Schema))
	case llm.FormatJSON:
		config["responseMimeType"] = raw("application/json")
	case llm.FormatText:
	}
	if budget, ok := geminiBudget(r.Reasoning); ok {
		config["thinkingConfig"] = raw(map[string]any{"thinkingBudget": budget})
	}
}

// geminiBudget returns the maximum number of reasoning tokens. The numbers for efforts are
// from Google's OpenAI-compatible API.
func geminiBudget(r llm.Reasoning) (int, bool) {
	if r.Budget > 0 && r.Effort != llm.EffortNone {
		return r.Budget, true
	}
	budget, ok := map[llm.Effort]int{
		llm.EffortNone: 0, llm.EffortLow: 1024, llm.EffortMedium: 8192, llm.EffortHigh: 24576,
	}[r.Effort]
	return budget, ok
}

func set[T any](o object, key string, value *T) {
	if value == nil {
		delete(o, key)
		return
	}
	o[key] = raw(*value)
}

// geminiTools declares the tools again, because the library loses enums, alternatives and
// other parts of a schema.
func geminiTools(tools []llm.ToolSpec) any {
	declarations := make([]map[string]any, len(tools))
	for i, tool := range tools {
		declaration := map[string]any{"name": tool.Name, "description": tool.Description}
		// Gemini rejects an object without properties.
		schema := SimpleSchema(tool.Schema)
		if properties, _ := schema["properties"].(map[string]any); len(properties) > 0 {
			declaration["parameters"] = schema
		}
		declarations[i] = declaration
	}
	return []any{map[string]any{"functionDeclarations": declarations}}
}

func geminiChoice(choice llm.ToolChoice) map[string]any {
	switch {
	case choice.Name != "":
		return map[string]any{"mode": "ANY", "allowedFunctionNames": []string{choice.Name}}
	case choice.Mode == llm.ToolsRequired:
		return map[string]any{"mode": "ANY"}
	case choice.Mode == llm.ToolsNone:
		return map[string]any{"mode": "NONE"}
	}
	return nil
}

type geminiContent struct {
	Role  string   `json:"role,omitempty"`
	Parts []object `json:"parts"`
	tools bool     // the results of tools
}

func geminiBody(r *llm.Request, extra []string) (Body, error) {
	system, err := systemText(r, extra)
	if err != nil {
		return nil, err
	}
	contents, err := geminiContents(r)
	if err != nil {
		return nil, err
	}
	if n := len(contents); n > 0 && contents[n-1].Role == "model" {
		return nil, errors.New("the conversation has to end with the user or with the result of a tool")
	}
	body := Body{"contents": raw(contents)}
	if system != "" {
		body["systemInstruction"] = raw(geminiContent{Parts: []object{{"text": raw(system)}}})
	}
	return body, nil
}

func geminiContents(r *llm.Request) ([]geminiContent, error) {
	var contents []geminiContent
	names := map[string]string{} // of tools, by the ids of their calls
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == llm.RoleSystem {
			continue
		}
		for _, call := range m.ToolCalls {
			names[call.ID] = call.Name
		}
		content, err := geminiContentOf(m, names)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		// Gemini requires all results of one reply in one content.
		if n := len(contents); content.tools && n > 0 && contents[n-1].tools {
			contents[n-1].Parts = append(contents[n-1].Parts, content.Parts...)
		} else if len(content.Parts) > 0 {
			contents = append(contents, content)
		}
	}
	return contents, nil
}

func geminiContentOf(m *llm.Message, names map[string]string) (content geminiContent, err error) {
	content = geminiContent{Role: "user", tools: m.Role == llm.RoleTool}
	switch m.Role {
	case llm.RoleAssistant:
		content.Role = "model"
		content.Parts, err = geminiModelParts(m)
	case llm.RoleTool:
		content.Parts, err = geminiResult(m, names)
	case llm.RoleUser, llm.RoleSystem:
		content.Parts, err = geminiParts(m)
		if len(content.Parts) == 0 {
			content.Parts = []object{{"text": raw("")}}
		}
	}
	return content, err
}

// geminiParts returns the texts, images and files of a message.
func geminiParts(m *llm.Message) ([]object, error) {
	var parts []object
	for i, p := range m.Parts {
		switch p.Type {
		case llm.PartText:
			if p.Text != "" || p.Signature != "" {
				parts = append(parts, signed(object{"text": raw(p.Text)}, p.Signature))
			}
		case llm.PartImage, llm.PartFile:
			data, err := geminiData(p)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			parts = append(parts, signed(object{"inlineData": raw(data)}, p.Signature))
		case llm.PartReasoning:
			if signature, ok := strings.CutPrefix(p.Signature, signedByGemini); ok {
				parts = append(parts, signed(object{"text": raw(p.Text), "thought": raw(true)}, signature))
			}
		case llm.PartOther:
		}
	}
	return parts, nil
}

func signed(part object, signature string) object {
	if signature != "" {
		part["thoughtSignature"] = raw(signature)
	}
	return part
}

func geminiData(p llm.Part) (object, error) {
	m, err := mediaOf(p)
	switch {
	case err != nil:
		return nil, err
	case m.data == nil:
		return nil, fmt.Errorf("%s: the provider takes the bytes of an image or a file, and no URL; fetch it and send Data with MIMEType", m)
	}
	return object{"mimeType": raw(m.mimeType), "data": raw(m.data)}, nil
}

func geminiModelParts(m *llm.Message) ([]object, error) {
	parts, err := geminiParts(m)
	if err != nil {
		return nil, err
	}
	for _, call := range m.ToolCalls {
		function := object{"name": raw(call.Name), "args": json.RawMessage(Arguments(call))}
		parts = append(parts, signed(object{"functionCall": raw(function)}, call.Signature))
	}
	return parts, nil
}

func geminiResult(m *llm.Message, names map[string]string) ([]object, error) {
	name := m.Name
	if name == "" {
		name = names[m.ToolCallID]
	}
	key := "response"
	if m.Status == llm.StatusError {
		key = "error"
	}
	response := object{"name": raw(name), "response": raw(map[string]string{key: m.Text()})}
	var media []object
	for i, p := range m.Parts {
		if p.Type != llm.PartImage && p.Type != llm.PartFile {
			continue
		}
		data, err := geminiData(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		media = append(media, object{"inlineData": raw(data)})
	}
	if len(media) > 0 {
		response["parts"] = raw(media)
	}
	return []object{{"functionResponse": raw(response)}}, nil
}
