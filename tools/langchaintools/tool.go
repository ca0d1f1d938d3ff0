package langchaintools

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/internal/toolname"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// A Tool is a tool of langchaingo: any value of its type tools.Tool is one, and
// the other way round.
type Tool interface {
	Name() string
	Description() string
	Call(ctx context.Context, input string) (string, error)
}

// input is what the model gives a tool of langchaingo.
type input struct {
	Input string `json:"input" jsonschema:"what the tool is asked"`
}

// From returns a tool of langchaingo as one of Weft. A name with characters that
// providers do not take, such as "Google Search", is changed, always to the same.
// Nothing is known of what the tool does, so it is annotated as destructive and
// of the open world; Annotate says better. A nil tool is reported by
// tools.NewSet.
func From(t Tool) tools.Tool {
	if t == nil {
		return tools.Tool{}
	}
	name := t.Name()
	description := strings.TrimSpace(t.Description())
	if description == "" {
		description = name
	}
	return tools.New(toolname.Of(name), description, func(ctx context.Context, in input) (string, error) {
		return t.Call(ctx, in.Input)
	}).Annotate(tools.Annotations{Title: name, Destructive: true, OpenWorld: true})
}

// To returns a tool of Weft as one of langchaingo, which is called as o says. Its
// description tells the model of its arguments. Only the text of a result comes
// through. The error says what is wrong with the tool.
//
// Call returns an error only where tools.Set.Call does; what the tool failed
// with is its answer.
func To(t tools.Tool, o tools.Options) (Tool, error) {
	set, err := tools.NewSet(t)
	if err != nil {
		return nil, err
	}
	if err := o.Check(set); err != nil {
		return nil, err
	}
	spec := t.Spec()
	return &carried{set: set, spec: spec, only: onlyText(spec.Schema), options: o}, nil
}

// carried is a tool of Weft as langchaingo has it.
type carried struct {
	set     *tools.Set
	spec    llm.ToolSpec
	only    string // the argument that a bare text is, or empty
	options tools.Options
}

func (c *carried) Name() string { return c.spec.Name }

// Description is all that a model of langchaingo is told.
func (c *carried) Description() string {
	if c.only != "" {
		return c.spec.Description + " The input is its " + c.only + ", as plain text, or a JSON object of this schema: " + string(c.spec.Schema)
	}
	return c.spec.Description + " The input is a JSON object of this schema: " + string(c.spec.Schema)
}

func (c *carried) Call(ctx context.Context, text string) (string, error) {
	call := llm.ToolCall{ID: uuid.New(), Name: c.spec.Name, Arguments: c.arguments(text)}
	answer, err := c.set.Call(ctx, call, c.options)
	if err != nil {
		return "", err
	}
	if answer.Status == llm.StatusError {
		return "error: " + answer.Text(), nil
	}
	return answer.Text(), nil
}

// arguments makes arguments of a text, which is them or the only one of them.
func (c *carried) arguments(text string) json.RawMessage {
	trimmed := []byte(strings.TrimSpace(text))
	if c.only == "" || bytes.HasPrefix(trimmed, []byte("{")) && json.Valid(trimmed) {
		return trimmed
	}
	arguments, err := json.Marshal(map[string]string{c.only: text})
	if err != nil {
		return trimmed // a map of texts can always be written
	}
	return arguments
}

// onlyText returns the argument that a bare text can only be: the one that must
// be given, or else the only one there is, if it is a text.
func onlyText(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return ""
	}
	candidates := s.Required
	if len(candidates) == 0 {
		candidates = slices.Collect(maps.Keys(s.Properties))
	}
	if len(candidates) != 1 || s.Properties[candidates[0]].Type != "string" {
		return ""
	}
	return candidates[0]
}
