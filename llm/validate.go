package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Validate returns an error that wraps [ErrInvalid] if the message is not valid: it has an
// unknown role, part or status; a field that its role cannot have; a tool call without id or
// name, or with arguments that are not JSON; two tool calls with the same id; or a text that
// is not UTF-8, which cannot be stored.
func (m Message) Validate() error {
	if err := m.check(); err != nil {
		return fmt.Errorf("llm: message: %w: %w", err, ErrInvalid)
	}
	return nil
}

func (m Message) check() error {
	if err := m.checkRole(); err != nil {
		return err
	}
	for i := range m.Parts {
		if err := m.Parts[i].check(); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	seen := make(map[string]bool, len(m.ToolCalls))
	for i, call := range m.ToolCalls {
		if err := call.check(); err != nil {
			return fmt.Errorf("tool call %d: %w", i, err)
		}
		if seen[call.ID] {
			return fmt.Errorf("tool call %d: id %q is used twice", i, call.ID)
		}
		seen[call.ID] = true
	}
	if err := checkMetadata(m.Metadata); err != nil {
		return err
	}
	return checkText("id", m.ID, "name", m.Name, "tool call id", m.ToolCallID, "stop reason", string(m.StopReason))
}

func (m Message) checkRole() error {
	switch m.Role {
	case RoleSystem, RoleUser, RoleAssistant, RoleTool:
	case "":
		return errors.New("no role")
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	switch m.Status {
	case "", StatusSuccess, StatusError:
	default:
		return fmt.Errorf("unknown status %q", m.Status)
	}
	switch {
	case m.Role == RoleTool && m.ToolCallID == "":
		return errors.New("a tool message without the id of its call")
	case m.Role != RoleTool && m.ToolCallID != "":
		return fmt.Errorf("role %s cannot answer a tool call", m.Role)
	case m.Role != RoleTool && m.Status != "":
		return fmt.Errorf("role %s cannot have a status", m.Role)
	case m.Role != RoleAssistant && len(m.ToolCalls) > 0:
		return fmt.Errorf("role %s cannot call tools", m.Role)
	}
	return nil
}

func (p Part) check() error {
	switch p.Type {
	case PartText, PartReasoning, PartOther:
		if p.Data != nil || p.URL != "" {
			return fmt.Errorf("type %s cannot have data or a URL", p.Type)
		}
		if p.Type == PartOther && p.Text != "" {
			return fmt.Errorf("type %s cannot have text", p.Type)
		}
	case PartImage, PartFile:
		switch {
		case p.Text != "":
			return fmt.Errorf("type %s cannot have text", p.Type)
		case (len(p.Data) == 0) == (p.URL == ""):
			return fmt.Errorf("type %s needs data or a URL, and not both", p.Type)
		case len(p.Data) > 0 && p.MIMEType == "":
			return fmt.Errorf("type %s has data without a MIME type", p.Type)
		}
	case "":
		return errors.New("no type")
	default:
		return fmt.Errorf("unknown type %q", p.Type)
	}
	if err := checkMetadata(p.Metadata); err != nil {
		return err
	}
	return checkText("text", p.Text, "MIME type", p.MIMEType, "URL", p.URL, "name", p.Name,
		"detail", p.Detail, "signature", p.Signature)
}

func (c ToolCall) check() error {
	switch {
	case c.ID == "":
		return errors.New("no id")
	case c.Name == "":
		return errors.New("no name")
	case len(c.Arguments) > 0 && !(json.Valid(c.Arguments) && utf8.Valid(c.Arguments)):
		return fmt.Errorf("the arguments of %q are not JSON", c.Name)
	case c.Invalid != "" && (len(c.Arguments) == 0 || c.Arguments[0] != '"'):
		return fmt.Errorf("the call of %q is invalid, and its arguments are not a JSON string", c.Name)
	}
	if err := checkMetadata(c.Metadata); err != nil {
		return err
	}
	return checkText("id", c.ID, "name", c.Name, "invalid", c.Invalid, "signature", c.Signature)
}

func checkMetadata(metadata map[string]json.RawMessage) error {
	for key, value := range metadata {
		if !json.Valid(value) || !utf8.Valid(value) || !utf8.ValidString(key) {
			return fmt.Errorf("metadata %q is not JSON", key)
		}
	}
	return nil
}

// checkText returns an error for a text that is not UTF-8. Its arguments are names, each
// followed by a text.
func checkText(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if !utf8.ValidString(pairs[i+1]) {
			return fmt.Errorf("%s is not UTF-8", pairs[i])
		}
	}
	return nil
}

// Validate returns an error that wraps [ErrInvalid] if the request is not valid: it has no
// messages, an invalid message or tool, two tools with the same name, a choice of a tool that
// it does not have, or a setting out of its range.
func (r Request) Validate() error {
	if err := r.check(); err != nil {
		return fmt.Errorf("llm: request: %w: %w", err, ErrInvalid)
	}
	return nil
}

func (r Request) check() error {
	if len(r.Messages) == 0 {
		return errors.New("no messages")
	}
	for i := range r.Messages {
		if err := r.Messages[i].check(); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	seen := make(map[string]bool, len(r.Tools))
	for _, tool := range r.Tools {
		if err := tool.check(); err != nil {
			return err
		}
		if seen[tool.Name] {
			return fmt.Errorf("two tools named %q", tool.Name)
		}
		seen[tool.Name] = true
	}
	if err := r.checkSettings(); err != nil {
		return err
	}
	if err := r.Format.check(); err != nil {
		return err
	}
	return r.ToolChoice.check(r.Tools)
}

func (r Request) checkSettings() error {
	if t := r.Temperature; t != nil && (math.IsNaN(*t) || math.IsInf(*t, 0) || *t < 0) {
		return fmt.Errorf("temperature %v", *t)
	}
	if p := r.TopP; p != nil && !(*p > 0 && *p <= 1) {
		return fmt.Errorf("top p %v", *p)
	}
	if r.MaxTokens < 0 {
		return fmt.Errorf("at most %d tokens", r.MaxTokens)
	}
	if r.Reasoning.Budget < 0 {
		return fmt.Errorf("reasoning in at most %d tokens", r.Reasoning.Budget)
	}
	switch r.Reasoning.Effort {
	case EffortDefault, EffortNone, EffortLow, EffortMedium, EffortHigh:
		return nil
	default:
		return fmt.Errorf("unknown reasoning effort %q", r.Reasoning.Effort)
	}
}

func (f Format) check() error {
	switch f.Type {
	case FormatText, FormatJSON:
		if f.Schema != nil {
			return fmt.Errorf("format %q cannot have a schema", f.Type)
		}
	case FormatSchema:
		if !isObject(f.Schema) {
			return errors.New("the schema of the format is not a JSON object")
		}
	default:
		return fmt.Errorf("unknown format %q", f.Type)
	}
	if f.Name != "" && !toolName.MatchString(f.Name) {
		return fmt.Errorf("format %q: a name is 1 to 64 letters, digits, underscores or dashes", f.Name)
	}
	return nil
}

func isObject(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object != nil
}

func (c ToolChoice) check(tools []ToolSpec) error {
	switch c.Mode {
	case ToolsAuto, ToolsNone, ToolsRequired:
	default:
		return fmt.Errorf("unknown tool choice %q", c.Mode)
	}
	named := func(t ToolSpec) bool { return t.Name == c.Name }
	switch {
	case c.Name != "" && c.Mode == ToolsNone:
		return fmt.Errorf("tool choice %q with mode %s", c.Name, c.Mode)
	case c.Name != "" && !slices.ContainsFunc(tools, named):
		return fmt.Errorf("tool choice %q is not among the tools", c.Name)
	case c.Mode == ToolsRequired && len(tools) == 0:
		return errors.New("a tool call is required, and there are no tools")
	}
	return nil
}

// toolName matches the names that every provider accepts.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Validate returns an error that wraps [ErrInvalid] if the name of the tool is not 1 to 64
// letters, digits, underscores or dashes, or its schema is not a JSON object.
func (t ToolSpec) Validate() error {
	if err := t.check(); err != nil {
		return fmt.Errorf("llm: %w: %w", err, ErrInvalid)
	}
	return nil
}

func (t ToolSpec) check() error {
	if !toolName.MatchString(t.Name) {
		return fmt.Errorf("tool %q: a name is 1 to 64 letters, digits, underscores or dashes", t.Name)
	}
	if !isObject(t.Schema) {
		return fmt.Errorf("tool %q: its schema is not a JSON object", t.Name)
	}
	return nil
}
