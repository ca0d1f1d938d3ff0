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

// A Tool is a tool of langchaingo. It has the same methods as langchaingo's interface
// tools.Tool, so every value of one type is also a value of the other.
type Tool interface {
	Name() string
	Description() string
	Call(ctx context.Context, input string) (string, error)
}

// input has the arguments of a converted langchaingo tool.
type input struct {
	Input string `json:"input" jsonschema:"what the tool is asked"`
}

// From converts a tool of langchaingo to a tool of Weft. Characters of the name that
// providers do not accept, as in "Google Search", are replaced; the same name always gives
// the same result. The tool is annotated as destructive and open-world, because nothing is
// known about it. Use Annotate to set other annotations. tools.NewSet reports a nil tool.
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

// To converts a tool of Weft to a tool of langchaingo. The options configure its calls. The
// description of the new tool contains the schema of the arguments. Only the text of a
// result is returned. To returns an error if the tool or a rule in the options has
// mistakes.
//
// The method Call of the new tool returns an error only if tools.Set.Call returns one. If
// the tool fails, the result of Call is the text of the failure.
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

// carried is a tool of langchaingo that calls a tool of Weft.
type carried struct {
	set     *tools.Set
	spec    llm.ToolSpec
	only    string // the name of the argument that takes a plain text, or empty
	options tools.Options
}

func (c *carried) Name() string { return c.spec.Name }

// Description returns the description with the schema of the arguments, because an agent of
// langchaingo gives the model nothing else.
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

// arguments returns the arguments for an input: the input itself, or an object with the
// input as the only argument.
func (c *carried) arguments(text string) json.RawMessage {
	trimmed := []byte(strings.TrimSpace(text))
	if c.only == "" || bytes.HasPrefix(trimmed, []byte("{")) && json.Valid(trimmed) {
		return trimmed
	}
	arguments, err := json.Marshal(map[string]string{c.only: text})
	if err != nil {
		return trimmed // not reached: a map of strings can be encoded
	}
	return arguments
}

// onlyText returns the name of the argument that plain text sets: the only required
// argument, or the only argument if none is required. It returns "" if there is no such
// argument or if it is not a string.
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
