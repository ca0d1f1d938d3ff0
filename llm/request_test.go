package llm_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
)

func request() llm.Request {
	temperature, topP, seed := 0.5, 0.9, int64(7)
	return llm.Request{
		TopP:      &topP,
		Seed:      &seed,
		Format:    llm.Format{Type: llm.FormatSchema, Name: "verdict", Schema: json.RawMessage(`{}`)},
		Reasoning: llm.Reasoning{Effort: llm.EffortLow, Budget: 1000},
		Messages:  []llm.Message{llm.User("hi")},
		Tools: []llm.ToolSpec{
			{Name: "add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object"}`)},
			{Name: "sub", Schema: json.RawMessage(`{}`)},
		},
		Temperature: &temperature,
		MaxTokens:   10,
		Stop:        []string{"END"},
	}
}

func TestRequestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*llm.Request)
		want   string
	}{
		{"as it is", func(*llm.Request) {}, ""},
		{"no messages", func(r *llm.Request) { r.Messages = nil }, "no messages"},
		{"bad message", func(r *llm.Request) { r.Messages[0].Role = "boss" }, `message 0: unknown role "boss"`},
		{"no tool name", func(r *llm.Request) { r.Tools[0].Name = "" }, `tool ""`},
		{"bad tool name", func(r *llm.Request) { r.Tools[0].Name = "add two" }, `tool "add two": a name is`},
		{"long tool name", func(r *llm.Request) { r.Tools[0].Name = strings.Repeat("a", 65) }, "a name is"},
		{"two of a name", func(r *llm.Request) { r.Tools[1].Name = "add" }, `two tools named "add"`},
		{"no schema", func(r *llm.Request) { r.Tools[1].Schema = nil }, "not a JSON object"},
		{"schema null", func(r *llm.Request) { r.Tools[1].Schema = json.RawMessage("null") }, "not a JSON object"},
		{"temperature zero", func(r *llm.Request) { *r.Temperature = 0 }, ""},
		{"temperature negative", func(r *llm.Request) { *r.Temperature = -1 }, "temperature -1"},
		{"temperature NaN", func(r *llm.Request) { *r.Temperature = math.NaN() }, "temperature NaN"},
		{"negative limit", func(r *llm.Request) { r.MaxTokens = -1 }, "at most -1 tokens"},
		{"top p of zero", func(r *llm.Request) { *r.TopP = 0 }, "top p 0"},
		{"top p over one", func(r *llm.Request) { *r.TopP = 1.1 }, "top p 1.1"},
		{"unknown format", func(r *llm.Request) { r.Format = llm.Format{Type: "xml"} }, `unknown format "xml"`},
		{"format without its schema", func(r *llm.Request) { r.Format.Schema = nil }, "the schema of the format"},
		{"schema without its format", func(r *llm.Request) { r.Format.Type = llm.FormatJSON }, "cannot have a schema"},
		{"bad format name", func(r *llm.Request) { r.Format.Name = "a b" }, `format "a b"`},
		{"unknown effort", func(r *llm.Request) { r.Reasoning.Effort = "huge" }, `unknown reasoning effort "huge"`},
		{"negative budget", func(r *llm.Request) { r.Reasoning.Budget = -1 }, "reasoning in at most -1 tokens"},
		{"one tool", func(r *llm.Request) { r.ToolChoice.Name = "sub" }, ""},
		{"one tool, required", func(r *llm.Request) { r.ToolChoice = llm.ToolChoice{Mode: llm.ToolsRequired, Name: "sub"} }, ""},
		{"another tool", func(r *llm.Request) { r.ToolChoice.Name = "mul" }, `"mul" is not among the tools`},
		{"one tool and none", func(r *llm.Request) { r.ToolChoice = llm.ToolChoice{Mode: llm.ToolsNone, Name: "sub"} }, "with mode none"},
		{"unknown mode", func(r *llm.Request) { r.ToolChoice.Mode = "auto" }, `unknown tool choice "auto"`},
		{"required of none", func(r *llm.Request) { r.Tools, r.ToolChoice.Mode = nil, llm.ToolsRequired }, "there are no tools"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := request()
			test.change(&r)
			checkInvalid(t, r.Validate(), test.want)
		})
	}
}

func TestToolSpecValidate(t *testing.T) {
	t.Parallel()
	checkInvalid(t, llm.ToolSpec{Name: "add", Schema: json.RawMessage(`{}`)}.Validate(), "")
	checkInvalid(t, llm.ToolSpec{Name: "add.two", Schema: json.RawMessage(`{}`)}.Validate(), "a name is")
	checkInvalid(t, llm.ToolSpec{Name: "add", Schema: json.RawMessage(`[]`)}.Validate(), "not a JSON object")
}

func TestRequestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	r := request()
	c := r.Clone()
	require.Equal(t, r, c)
	c.Messages[0].Parts[0].Text = "changed"
	c.Tools[0].Schema[0] = 'x'
	*c.Temperature, *c.TopP, *c.Seed = 1, 1, 1
	c.Format.Schema[0] = 'x'
	c.Stop[0] = "changed"
	assert.Equal(t, request(), r, "changed with its clone")
}
