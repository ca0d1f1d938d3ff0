package langchainllm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
)

// A question is a request in the form that a provider's library takes.
type question struct {
	messages []llms.MessageContent
	options  []llms.CallOption
	thoughts map[int][]llm.Part // see wire.Call
	calls    bool               // tools are offered
}

// question translates a request. What the provider can not be told is an error.
func (m *Model) question(r llm.Request) (question, error) {
	if m.inner == nil {
		return question{}, errors.New("New was given no model")
	}
	t := translation{profile: m.profile, wired: m.wired, names: map[string]string{}}
	tools, err := t.tools(r)
	if err != nil {
		return question{}, err
	}
	if err := t.conversation(r); err != nil {
		return question{}, err
	}
	if err := t.complete(r); err != nil {
		return question{}, err
	}
	q := question{messages: t.out, thoughts: t.thoughts, calls: len(tools) > 0}
	if system := strings.Join(t.system, "\n\n"); system != "" {
		q.messages = append([]llms.MessageContent{message(llms.ChatMessageTypeSystem, llms.TextContent{Text: system})}, q.messages...)
	}
	q.options = m.options(r, tools)
	return q, nil
}

// A translation is a conversation on its way to a provider's library.
type translation struct {
	profile  profile
	wired    bool
	system   []string
	out      []llms.MessageContent
	thoughts map[int][]llm.Part
	names    map[string]string // of the tools, by the ids of their calls
}

func message(role llms.ChatMessageType, parts ...llms.ContentPart) llms.MessageContent {
	return llms.MessageContent{Role: role, Parts: parts}
}

func (t *translation) conversation(r llm.Request) error {
	for i := range r.Messages {
		m := &r.Messages[i]
		var err error
		switch m.Role {
		case llm.RoleSystem:
			if text := m.Text(); text != "" {
				t.system = append(t.system, text)
			}
		case llm.RoleUser:
			err = t.user(m)
		case llm.RoleAssistant:
			err = t.assistant(m)
		case llm.RoleTool:
			err = t.result(m)
		}
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// complete checks what only the whole conversation shows.
func (t *translation) complete(r llm.Request) error {
	if len(t.out) == 0 && (t.profile.userNeeded || len(t.system) == 0) {
		return errors.New("it needs a message of the user")
	}
	if t.profile.userLast && t.out[len(t.out)-1].Role == llms.ChatMessageTypeAI {
		return errors.New("the conversation has to end with the user or with the result of a tool")
	}
	t.system = append(t.system, t.instructions(r)...)
	return nil
}

// instructions says in words what the library has no option for.
func (t *translation) instructions(r llm.Request) []string {
	var all []string
	nativeSchema := t.wired && t.profile.json
	switch {
	case r.Format.Type == llm.FormatSchema && !nativeSchema:
		all = append(all, "Answer with JSON that fits this JSON Schema, and with nothing else:\n"+string(r.Format.Schema))
	case r.Format.Type == llm.FormatJSON:
		// OpenAI refuses JSON mode where the word does not occur.
		all = append(all, "Answer with a JSON object, and with nothing else.")
	}
	choice := r.ToolChoice
	switch {
	case t.profile.choice:
	case choice.Name != "":
		all = append(all, fmt.Sprintf("Answer by calling the tool %q.", choice.Name))
	case choice.Mode == llm.ToolsRequired:
		all = append(all, "Answer by calling a tool.")
	}
	return all
}

func (t *translation) user(m *llm.Message) error {
	var parts []llms.ContentPart
	for i := range m.Parts {
		part := m.Parts[i]
		switch part.Type {
		case llm.PartText:
			if part.Text != "" || len(m.Parts) == 1 {
				parts = append(parts, llms.TextContent{Text: part.Text})
			}
		case llm.PartImage, llm.PartFile:
			picture, err := t.profile.picture(part)
			if err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
			parts = append(parts, picture)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, llms.TextContent{})
	}
	if t.profile.splitAI || t.profile.images != imageBytes {
		t.out = append(t.out, message(llms.ChatMessageTypeHuman, parts...))
		return nil
	}
	t.out = append(t.out, message(llms.ChatMessageTypeHuman, joinTexts(parts)...))
	return nil
}

// joinTexts makes one text of those that follow each other: some libraries
// refuse a second one.
func joinTexts(parts []llms.ContentPart) []llms.ContentPart {
	var out []llms.ContentPart
	for _, part := range parts {
		text, ok := part.(llms.TextContent)
		if n := len(out); ok && n > 0 {
			if before, ok := out[n-1].(llms.TextContent); ok {
				out[n-1] = llms.TextContent{Text: before.Text + "\n" + text.Text}
				continue
			}
		}
		out = append(out, part)
	}
	return out
}

func (t *translation) assistant(m *llm.Message) error {
	var parts []llms.ContentPart
	if text := m.Text(); text != "" {
		parts = append(parts, llms.TextContent{Text: text})
	}
	for _, call := range m.ToolCalls {
		if !t.profile.tools {
			return errors.New(noTools)
		}
		t.names[call.ID] = call.Name
		parts = append(parts, llms.ToolCall{
			ID: t.profile.ids.of(call.ID), Type: "function",
			FunctionCall: &llms.FunctionCall{Name: call.Name, Arguments: arguments(call)},
		})
	}
	if len(parts) == 0 {
		return nil // some libraries panic at a message without parts
	}
	t.remember(m)
	if !t.profile.splitAI {
		t.out = append(t.out, message(llms.ChatMessageTypeAI, parts...))
		return nil
	}
	for _, part := range parts {
		t.out = append(t.out, message(llms.ChatMessageTypeAI, part))
	}
	return nil
}

// remember keeps the reasoning that the provider wants back.
func (t *translation) remember(m *llm.Message) {
	for _, part := range m.Parts {
		if part.Type == llm.PartReasoning && part.Signature != "" {
			if t.thoughts == nil {
				t.thoughts = map[int][]llm.Part{}
			}
			t.thoughts[len(t.out)] = append(t.thoughts[len(t.out)], part)
		}
	}
}

// arguments are always a JSON object: some libraries fail at anything else, and
// what the model wrote once is no reason for the whole conversation to fail.
func arguments(call llm.ToolCall) string {
	text := call.Text()
	var object map[string]json.RawMessage
	if call.Invalid == "" && json.Unmarshal([]byte(text), &object) == nil && object != nil {
		return text
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": text})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}

func (t *translation) result(m *llm.Message) error {
	if !t.profile.tools {
		return errors.New(noTools)
	}
	for _, part := range m.Parts {
		if part.Type == llm.PartImage || part.Type == llm.PartFile {
			return errors.New("the result of a tool can be text only; put the image into a message of the user")
		}
	}
	name := m.Name
	if name == "" {
		name = t.names[m.ToolCallID]
	}
	part := llms.ToolCallResponse{ToolCallID: t.profile.ids.of(m.ToolCallID), Name: name, Content: m.Text()}
	if n := len(t.out); t.profile.groupResults && n > 0 && t.out[n-1].Role == llms.ChatMessageTypeTool {
		t.out[n-1].Parts = append(t.out[n-1].Parts, part)
		return nil
	}
	t.out = append(t.out, message(llms.ChatMessageTypeTool, part))
	return nil
}
