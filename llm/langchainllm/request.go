package langchainllm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// A question is a request in the library's form.
type question struct {
	messages []llms.MessageContent
	options  []llms.CallOption
	body     wire.Body // see wire.Call
	calls    bool      // tools are offered
}

// question translates a request. It fails if the provider does not support a part of it.
func (m *Model) question(r llm.Request) (question, error) {
	if m.inner == nil {
		return question{}, errors.New("New was given no model")
	}
	t := translation{profile: m.profile, names: map[string]string{}}
	tools, err := t.tools(r)
	if err != nil {
		return question{}, err
	}
	if m.profile.dialect != wire.None {
		return m.wiredQuestion(r, tools)
	}
	if err := t.conversation(r); err != nil {
		return question{}, err
	}
	if err := t.complete(r); err != nil {
		return question{}, err
	}
	q := question{messages: t.out, calls: len(tools) > 0}
	if system := strings.Join(t.system, "\n\n"); system != "" {
		q.messages = append([]llms.MessageContent{message(llms.ChatMessageTypeSystem, llms.TextContent{Text: system})}, q.messages...)
	}
	if n := len(q.messages); m.profile.firstOnly && n > 1 {
		return question{}, fmt.Errorf(firstOnly, n)
	}
	q.options = m.options(r, tools)
	return q, nil
}

// wiredQuestion translates a request for a [Transport]. The library gets a stub instead of the
// conversation.
func (m *Model) wiredQuestion(r llm.Request, tools []llms.Tool) (question, error) {
	asks := func(message llm.Message) bool { return message.Role != llm.RoleSystem }
	if m.profile.userNeeded && !slices.ContainsFunc(r.Messages, asks) {
		return question{}, errors.New(needsUser)
	}
	body, err := m.profile.dialect.Encode(r, instructions(m.profile, r))
	if err != nil {
		return question{}, err
	}
	q := question{body: body, calls: len(tools) > 0, options: m.options(r, tools)}
	q.messages = []llms.MessageContent{message(llms.ChatMessageTypeHuman, llms.TextContent{Text: stub})}
	return q, nil
}

const needsUser = "it needs a message of the user"

// A translation builds a conversation in the library's form, for a provider without a
// [Transport].
type translation struct {
	profile profile
	system  []string
	out     []llms.MessageContent
	names   map[string]string // of tools, by the ids of their calls
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
			if i := slices.IndexFunc(m.Parts, isMedia); i >= 0 {
				err = fmt.Errorf("part %d: the provider takes no part of type %s in a system message", i, m.Parts[i].Type)
			}
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

// complete checks the conversation as a whole.
func (t *translation) complete(r llm.Request) error {
	if len(t.out) == 0 && (t.profile.userNeeded || len(t.system) == 0) {
		return errors.New(needsUser)
	}
	if t.profile.userLast && t.out[len(t.out)-1].Role == llms.ChatMessageTypeAI {
		return errors.New("the conversation has to end with the user or with the result of a tool")
	}
	t.system = append(t.system, instructions(t.profile, r)...)
	return nil
}

// instructions returns, as text for the model, the settings for which the library has no option.
func instructions(p profile, r llm.Request) []string {
	var all []string
	nativeSchema := p.dialect != wire.None && p.json
	switch {
	case r.Format.Type == llm.FormatSchema && !nativeSchema:
		all = append(all, "Answer with JSON that fits this JSON Schema, and with nothing else:\n"+string(r.Format.Schema))
	case r.Format.Type == llm.FormatJSON:
		// OpenAI rejects JSON mode if the word does not occur.
		all = append(all, "Answer with a JSON object, and with nothing else.")
	}
	choice := r.ToolChoice
	switch {
	case p.choice:
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
	t.out = append(t.out, message(llms.ChatMessageTypeHuman, joinTexts(parts)...))
	return nil
}

// joinTexts joins adjacent texts, because some libraries reject a second text.
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
	if i := slices.IndexFunc(m.Parts, isMedia); i >= 0 {
		return fmt.Errorf("part %d: the provider takes no part of type %s in an assistant's message", i, m.Parts[i].Type)
	}
	if text := m.Text(); text != "" {
		parts = append(parts, llms.TextContent{Text: text})
	}
	for _, call := range m.ToolCalls {
		if !t.profile.tools {
			return errors.New(noTools)
		}
		t.names[call.ID] = call.Name
		parts = append(parts, llms.ToolCall{
			ID: t.profile.ids.Of(call.ID), Type: "function",
			FunctionCall: &llms.FunctionCall{Name: call.Name, Arguments: wire.Arguments(call)},
		})
	}
	if len(parts) == 0 {
		return nil // some libraries panic if a message has no parts
	}
	t.out = append(t.out, message(llms.ChatMessageTypeAI, parts...))
	return nil
}

func isMedia(p llm.Part) bool { return p.Type == llm.PartImage || p.Type == llm.PartFile }

func (t *translation) result(m *llm.Message) error {
	if !t.profile.tools {
		return errors.New(noTools)
	}
	if i := slices.IndexFunc(m.Parts, isMedia); i >= 0 {
		return fmt.Errorf("part %d: the provider takes no part of type %s in the result of a tool; put it into a message of the user", i, m.Parts[i].Type)
	}
	name := m.Name
	if name == "" {
		name = t.names[m.ToolCallID]
	}
	part := llms.ToolCallResponse{ToolCallID: t.profile.ids.Of(m.ToolCallID), Name: name, Content: m.Text()}
	if n := len(t.out); t.profile.groupResults && n > 0 && t.out[n-1].Role == llms.ChatMessageTypeTool {
		t.out[n-1].Parts = append(t.out[n-1].Parts, part)
		return nil
	}
	t.out = append(t.out, message(llms.ChatMessageTypeTool, part))
	return nil
}
