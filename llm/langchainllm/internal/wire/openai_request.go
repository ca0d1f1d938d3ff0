package wire

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
)

// settleOpenAI corrects the settings of a request in OpenAI's form.
func settleOpenAI(d Dialect, body object, r *llm.Request) {
	// The library sends zero for a temperature that is not set, and drops top_p.
	if r.Temperature == nil {
		delete(body, "temperature")
	}
	if r.TopP != nil {
		body["top_p"] = raw(*r.TopP)
	}
	if r.Seed != nil {
		body["seed"] = raw(*r.Seed)
	}
	if r.Reasoning.Effort != llm.EffortDefault {
		body["reasoning_effort"] = raw(r.Reasoning.Effort)
	}
	if r.Format.Type == llm.FormatSchema {
		body["response_format"] = raw(map[string]any{
			"type": "json_schema",
			"json_schema": map[string]any{
				"name": cmp.Or(r.Format.Name, "answer"), "schema": r.Format.Schema,
			},
		})
	}
	if d == OpenAI && r.CacheKey != "" {
		body["prompt_cache_key"] = raw(r.CacheKey)
	}
	delete(body, "metadata")
	if d == Mistral {
		settleMistral(body, r)
	}
}

// settleMistral removes the fields that Mistral's API rejects.
func settleMistral(body object, r *llm.Request) {
	for _, key := range []string{"seed", "reasoning_effort", "stream_options"} {
		delete(body, key)
	}
	if r.Seed != nil {
		body["random_seed"] = raw(*r.Seed)
	}
}

func openAIBody(d Dialect, r *llm.Request, extra []string) (Body, error) {
	ids := AnyID
	if d == Mistral {
		ids = NineID
	}
	system, err := systemText(r, extra)
	if err != nil {
		return nil, err
	}
	messages := []object{}
	if system != "" {
		messages = append(messages, object{"role": raw("system"), "content": raw(system)})
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		var message object
		switch m.Role {
		case llm.RoleUser:
			message, err = openAIUser(d, m)
		case llm.RoleAssistant:
			message, err = openAIAssistant(m, ids)
		case llm.RoleTool:
			message, err = openAIResult(m, ids)
		case llm.RoleSystem:
		}
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if message != nil {
			messages = append(messages, message)
		}
	}
	return Body{"messages": raw(messages)}, nil
}

func openAIUser(d Dialect, m *llm.Message) (object, error) {
	parts := []object{}
	for i, p := range m.Parts {
		var part object
		var err error
		switch p.Type {
		case llm.PartText:
			if p.Text != "" {
				part = object{"type": raw("text"), "text": raw(p.Text)}
			}
		case llm.PartImage, llm.PartFile:
			part, err = openAIMedia(d, p)
		case llm.PartReasoning, llm.PartOther:
		}
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		if part != nil {
			parts = append(parts, part)
		}
	}
	// Some servers accept only a text as content, and no list.
	switch {
	case len(parts) == 0:
		return object{"role": raw("user"), "content": raw("")}, nil
	case len(parts) == 1 && parts[0]["text"] != nil:
		return object{"role": raw("user"), "content": parts[0]["text"]}, nil
	}
	return object{"role": raw("user"), "content": raw(parts)}, nil
}

func openAIMedia(d Dialect, p llm.Part) (object, error) {
	m, err := mediaOf(p)
	switch {
	case err != nil:
		return nil, err
	case m.image() && m.data != nil:
		m.url = m.dataURL()
		fallthrough
	case m.image():
		image := object{"url": raw(m.url)}
		if p.Detail != "" {
			image["detail"] = raw(p.Detail)
		}
		return object{"type": raw("image_url"), "image_url": raw(image)}, nil
	case m.mimeType == pdf && m.data != nil && d != Mistral:
		file := object{"filename": raw(cmp.Or(p.Name, "document.pdf")), "file_data": raw(m.dataURL())}
		return object{"type": raw("file"), "file": raw(file)}, nil
	case m.mimeType == pdf && d != Mistral:
		return nil, fmt.Errorf("%s: the provider takes the bytes of a PDF and no URL; fetch it and send Data", m)
	case d == Mistral:
		return nil, fmt.Errorf("%s: the provider takes images only; send the text of the file", m)
	}
	return nil, fmt.Errorf("%s: the provider takes images and PDFs only; send the text of the file", m)
}

func openAIAssistant(m *llm.Message, ids IDForm) (object, error) {
	if err := textOnly(m, "in an assistant's message"); err != nil {
		return nil, err
	}
	text := m.Text()
	if text == "" && len(m.ToolCalls) == 0 {
		return nil, nil
	}
	message := object{"role": raw("assistant"), "content": raw(text)}
	if len(m.ToolCalls) > 0 {
		calls := make([]any, len(m.ToolCalls))
		for i, call := range m.ToolCalls {
			function := map[string]any{"name": call.Name, "arguments": Arguments(call)}
			calls[i] = map[string]any{"id": ids.Of(call.ID), "type": "function", "function": function}
		}
		message["tool_calls"] = raw(calls)
	}
	return message, nil
}

func openAIResult(m *llm.Message, ids IDForm) (object, error) {
	if err := textOnly(m, "in the result of a tool; put it into a message of the user"); err != nil {
		return nil, err
	}
	return object{"role": raw("tool"), "tool_call_id": raw(ids.Of(m.ToolCallID)), "content": raw(m.Text())}, nil
}

// systemText returns the system messages as one text, with extra at its end.
func systemText(r *llm.Request, extra []string) (string, error) {
	var all []string
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != llm.RoleSystem {
			continue
		}
		if err := textOnly(m, "in a system message"); err != nil {
			return "", fmt.Errorf("message %d: %w", i, err)
		}
		if text := m.Text(); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(append(all, extra...), "\n\n"), nil
}

// textOnly fails if a message has an image or a file.
func textOnly(m *llm.Message, where string) error {
	for i, p := range m.Parts {
		if p.Type == llm.PartImage || p.Type == llm.PartFile {
			return fmt.Errorf("part %d: the provider takes no part of type %s %s", i, p.Type, where)
		}
	}
	return nil
}

func (m media) dataURL() string {
	return "data:" + m.mimeType + ";base64," + base64.StdEncoding.EncodeToString(m.data)
}
