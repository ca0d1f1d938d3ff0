package wire

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
)

// settleAnthropic corrects the settings of a request to Anthropic.
func settleAnthropic(body object, r *llm.Request) {
	// The library sends zero for a temperature that is not set.
	if r.Temperature == nil {
		delete(body, "temperature")
	}
	if len(r.Tools) == 0 {
		return
	}
	if choice := anthropicChoice(r.ToolChoice); choice != nil {
		body["tool_choice"] = raw(choice)
	}
}

func anthropicChoice(choice llm.ToolChoice) map[string]any {
	switch {
	case choice.Name != "":
		return map[string]any{"type": "tool", "name": choice.Name}
	case choice.Mode == llm.ToolsRequired:
		return map[string]any{"type": "any"}
	case choice.Mode == llm.ToolsNone:
		return map[string]any{"type": "none"}
	}
	return nil
}

type anthropicMessage struct {
	Role    string   `json:"role"`
	Content []object `json:"content"`
}

func anthropicBody(r *llm.Request, extra []string) (Body, error) {
	system, err := anthropicSystem(r, extra)
	if err != nil {
		return nil, err
	}
	var messages []anthropicMessage
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == llm.RoleSystem {
			continue
		}
		role := "user"
		if m.Role == llm.RoleAssistant {
			role = "assistant"
		}
		blocks, err := anthropicBlocks(m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if len(blocks) == 0 {
			continue
		}
		// The results of one turn have to be in one message.
		if n := len(messages); n > 0 && messages[n-1].Role == role {
			messages[n-1].Content = append(messages[n-1].Content, blocks...)
			continue
		}
		messages = append(messages, anthropicMessage{role, blocks})
	}
	body := Body{"messages": raw(messages)}
	if system != nil {
		body["system"] = system
	}
	return body, nil
}

// anthropicSystem returns the system messages as a text, or as blocks if one of them has a
// mark for the cache.
func anthropicSystem(r *llm.Request, extra []string) (json.RawMessage, error) {
	text, err := systemText(r, extra)
	if err != nil || text == "" {
		return nil, err
	}
	var blocks []object
	marked := false
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role != llm.RoleSystem {
			continue
		}
		for _, p := range m.Parts {
			if p.Type == llm.PartText && p.Text != "" {
				block := cached(object{"type": raw("text"), "text": raw(p.Text)}, p)
				marked = marked || block[cacheControl] != nil
				blocks = append(blocks, block)
			}
		}
	}
	if !marked {
		return raw(text), nil
	}
	for _, text := range extra {
		blocks = append(blocks, object{"type": raw("text"), "text": raw(text)})
	}
	return raw(blocks), nil
}

const cacheControl = "cache_control"

// cached adds the cache control of a part to its block.
func cached(block object, p llm.Part) object {
	if control, ok := p.Metadata[cacheControl]; ok && read[object](control) != nil {
		block[cacheControl] = control
	}
	return block
}

func anthropicBlocks(m *llm.Message) ([]object, error) {
	switch m.Role {
	case llm.RoleTool:
		return anthropicResult(m)
	case llm.RoleAssistant:
		return anthropicAssistant(m)
	case llm.RoleUser, llm.RoleSystem:
	}
	blocks, err := anthropicContent(m)
	if err == nil && len(blocks) == 0 {
		blocks = []object{{"type": raw("text"), "text": raw("")}}
	}
	return blocks, err
}

// anthropicContent returns the texts, images and documents of a message.
func anthropicContent(m *llm.Message) ([]object, error) {
	var blocks []object
	for i, p := range m.Parts {
		switch p.Type {
		case llm.PartText:
			if p.Text != "" {
				blocks = append(blocks, cached(object{"type": raw("text"), "text": raw(p.Text)}, p))
			}
		case llm.PartImage, llm.PartFile:
			block, err := anthropicMedia(p)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			blocks = append(blocks, cached(block, p))
		case llm.PartReasoning, llm.PartOther:
		}
	}
	return blocks, nil
}

func anthropicMedia(p llm.Part) (object, error) {
	m, err := mediaOf(p)
	if err != nil {
		return nil, err
	}
	var source object
	switch {
	case m.url != "" && (m.image() || m.mimeType == pdf):
		source = object{"type": raw("url"), "url": raw(m.url)}
	case m.image() || m.mimeType == pdf:
		source = object{"type": raw("base64"), "media_type": raw(m.mimeType), "data": raw(m.data)}
	case m.data != nil && strings.HasPrefix(m.mimeType, "text/"):
		source = object{"type": raw("text"), "media_type": raw("text/plain"), "data": raw(string(m.data))}
	default:
		return nil, fmt.Errorf("%s: the provider takes images, PDFs and plain text; send the text of the file", m)
	}
	if m.image() {
		return object{"type": raw("image"), "source": raw(source)}, nil
	}
	block := object{"type": raw("document"), "source": raw(source)}
	if p.Name != "" {
		block["title"] = raw(p.Name)
	}
	return block, nil
}

func anthropicResult(m *llm.Message) ([]object, error) {
	result := object{"type": raw("tool_result"), "tool_use_id": raw(PlainID.Of(m.ToolCallID))}
	if err := textOnly(m, ""); err == nil {
		result["content"] = raw(m.Text())
	} else {
		content, err := anthropicContent(m)
		if err != nil {
			return nil, err
		}
		for _, block := range content {
			delete(block, cacheControl) // the result has it
		}
		result["content"] = raw(content)
	}
	if m.Status == llm.StatusError {
		result["is_error"] = raw(true)
	}
	for _, p := range m.Parts {
		cached(result, p)
	}
	return []object{result}, nil
}

// anthropicAssistant returns the parts of a reply in their order. Reasoning that Anthropic
// signed is unchanged, since the API rejects changed reasoning.
func anthropicAssistant(m *llm.Message) ([]object, error) {
	if err := textOnly(m, "in an assistant's message"); err != nil {
		return nil, err
	}
	var blocks []object
	for _, p := range m.Parts {
		data, isRedacted := strings.CutPrefix(p.Signature, redacted)
		switch {
		case p.Type == llm.PartText && p.Text != "":
			blocks = append(blocks, cached(object{"type": raw("text"), "text": raw(p.Text)}, p))
		case !SignedByAnthropic(p):
		case isRedacted:
			blocks = append(blocks, object{"type": raw("redacted_thinking"), "data": raw(data)})
		default:
			blocks = append(blocks, object{"type": raw("thinking"), "thinking": raw(p.Text), "signature": raw(p.Signature)})
		}
	}
	for _, call := range m.ToolCalls {
		blocks = append(blocks, object{
			"type": raw("tool_use"), "id": raw(PlainID.Of(call.ID)), "name": raw(call.Name), "input": json.RawMessage(Arguments(call)),
		})
	}
	return blocks, nil
}

// SignedByAnthropic reports whether a part is reasoning with a signature of Anthropic.
func SignedByAnthropic(p llm.Part) bool {
	return p.Type == llm.PartReasoning && p.Signature != "" && !strings.HasPrefix(p.Signature, signedByGemini)
}
